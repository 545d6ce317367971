"""Three papers' tables of numbers, ours beside the printed ones.

    python benchmarks/papers/tables.py --data FOLDER [--table kdd mpme spl] [--sets iris glass ...]
                                       [--methods DDRTree ...] [--out results.csv]

- kdd: KDD 2015, Table 1. Accuracy and NMI of K-means on embeddings, with DRTree and DDRTree.
- mpme: Machine Learning 106 (2017), Table 2. The same, with MPME, tuned.
- spl: Wang's paper on SPL, Table 1. Leave-one-out accuracy of one nearest neighbour on embeddings, all tuned.

Every embedding has as many dimensions as keep 95 % of the variance. The file `--out` gets a row for every set, method
and setting as soon as it is there, and beside it a markdown table (.md) is written: of a method with several settings
it shows the one with the best accuracy, as the papers do. Rows that the file already holds are not computed again.
Accuracy and NMI are of K-means with seed 0; "low" and "high" in the file are the accuracy's range over seeds 0 to 4.
"""

from __future__ import annotations

import argparse
import csv
import time
from itertools import product
from pathlib import Path

import methods
import numpy as np
import printed
from protocol import accuracy, clusters, energy_dimension, nearest_neighbor_accuracy, nmi
from sets import SETS, LabelledSet, load

TABLES = {
    "kdd": (methods.KDD, printed.KDD),
    "mpme": (methods.MPME, printed.MPME),
    "spl": (methods.SPL, printed.SPL),
}
COLUMNS = ["table", "set", "method", "settings", "n_obs", "n_features", "d", "printed_accuracy", "accuracy"]
COLUMNS += ["low", "high", "printed_nmi", "nmi", "seconds"]
SEEDS = range(5)


def scores_of(table: str, points: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """What a table shows of an embedding."""
    if table == "spl":
        return dict(accuracy=nearest_neighbor_accuracy(points, y))
    labels = [clusters(points, y.max() + 1, seed) for seed in SEEDS]
    accuracies = [accuracy(y, clusters_of_seed) for clusters_of_seed in labels]
    return dict(accuracy=accuracies[0], low=min(accuracies), high=max(accuracies), nmi=nmi(y, labels[0]))


def row_of(
    table: str, name: str, held: LabelledSet, d: int, method: methods.Method, settings: dict, made: dict
) -> dict:
    """Embed and score; `made` holds the set's embeddings and their seconds, for methods that score the same one."""
    key = method.embed, words(settings)
    if key not in made:
        began = time.perf_counter()
        points = method.embed(held.X, d, **settings)
        made[key] = points, time.perf_counter() - began
    points, seconds = made[key]
    row = dict(table=table, set=name, method=method.name, settings=words(settings), d=d, seconds=round(seconds, 2))
    row |= dict(n_obs=held.X.shape[0], n_features=held.X.shape[1])
    scored = method.scored(points, int(held.y.max()) + 1)
    row |= {score: f"{value:.4f}" for score, value in scores_of(table, scored, held.y).items()}
    numbers = TABLES[table][1][name][method.printed_as or method.name]
    pairs = zip(["printed_accuracy", "printed_nmi"], numbers, strict=False)  # no NMI in Wang's table
    return row | {column: f"{value:.4f}" for column, value in pairs}


def words(settings: dict) -> str:
    """Settings in one cell."""
    return " ".join(f"{name}={value:g}" for name, value in settings.items())


def rows_in(path: Path) -> list[dict]:
    """The rows that a file holds."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, row: dict) -> None:
    """Add a row to the file, which gets a head if it is new."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerow(row)


def markdown(rows: list[dict]) -> str:
    """The best setting of every method, printed and ours."""
    lines = []
    for table in (table for table in TABLES if any(row["table"] == table for row in rows)):
        chosen = TABLES[table][0]
        lines += [f"**{table}**", ""]
        head = ["set", "method", "d", "accuracy printed", "ours", "seeds 0-4", "NMI printed", "ours", "settings", "s"]
        lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for name, method in product(SETS, chosen):
            tried = [row for row in rows if (row["table"], row["set"], row["method"]) == (table, name, method.name)]
            if not tried:
                continue
            best = max(tried, key=lambda row: float(row["accuracy"]))
            spread = f"{best['low']}-{best['high']}" if best["low"] else ""
            settings = best["settings"] + (f" (best of {len(tried)})" if len(tried) > 1 else "")
            cells = [name, method.name, best["d"], best["printed_accuracy"], best["accuracy"], spread]
            lines.append(
                "| " + " | ".join([*cells, best["printed_nmi"], best["nmi"], settings, best["seconds"]]) + " |"
            )
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Fill the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--table", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    names = sorted({method.name for chosen, _ in TABLES.values() for method in chosen})
    parser.add_argument("--methods", nargs="+", choices=names, default=names)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/papers.csv"))
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    done = {(row["table"], row["set"], row["method"], row["settings"]) for row in rows_in(given.out)}
    for table in given.table:
        chosen, numbers = TABLES[table]
        for name in (name for name in given.sets if name in numbers):
            held = load(name, given.data)
            d = energy_dimension(held.X)
            made: dict = {}
            for method in (method for method in chosen if method.name in given.methods):
                for settings in method.settings:
                    if (table, name, method.name, words(settings)) in done:
                        continue
                    row = row_of(table, name, held, d, method, settings, made)
                    append(given.out, row)
                    given.out.with_suffix(".md").write_text(markdown(rows_in(given.out)))
                    print(row, flush=True)


if __name__ == "__main__":
    main()
