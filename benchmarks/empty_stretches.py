"""How often a long stretch without cells is reported, in trees of cells of one process and with cells of another type.

  python benchmarks/empty_stretches.py --quality FOLDER --out FILE.csv [--seeds 98000] [--set-seeds 9800]
  python benchmarks/empty_stretches.py --quality FOLDER --out FILE.csv --report

FOLDER is the developers' trajectory benchmark (`simulate.py`), which is not part of the package. Cells of
its tree-shaped sets (easy and medium noise) and of `simulators/sets.py`, with totals normalised and logarithms, under
the defaults: as they are; with 6 % of doublets (sums of two cells), 6 % of dying cells (15 % of a cell's counts), and
with 2 % of cells of a type of their own, whose genes differ from the mean of all by a factor with a standard deviation
of 1.2 in logarithms. Each row has the longest empty stretch: its share of the tree, its length in median edges, the
cells beyond it, and whether `core.empty_stretches` tells of it.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
from scipy import sparse

from simulators.sets import SETS, drawn
from skeltraj import core
from skeltraj.core._graph.along_branches import along_branches

KINDS = ["as they are", "doublets", "dying", "another type"]
MORE = {"doublets": 0.06, "dying": 0.06, "another type": 0.02}


def with_more(cells: ad.AnnData, kind: str, rng: np.random.Generator) -> ad.AnnData:
    """Cells with others behind them."""
    counts = np.asarray(cells.layers["counts"].todense())
    n = round(MORE.get(kind, 0.0) * len(counts))
    a, b = rng.integers(len(counts), size=(2, n))
    more = np.empty((0, counts.shape[1]))
    if kind == "doublets":
        more = np.round((counts[a] + counts[b]) * rng.uniform(0.5, 1.0, (n, 1)))
    elif kind == "dying":
        more = rng.binomial(counts[a].astype(int), 0.15)
    elif kind == "another type":
        mean = counts.mean(axis=0) * np.exp(rng.normal(0, 1.2, counts.shape[1]))
        more = rng.poisson(mean * rng.lognormal(0, 0.3, (n, 1)))
    both = sparse.csr_matrix(np.vstack([counts, more]).astype(np.float32))
    obs = pd.DataFrame(index=[f"cell{i}" for i in range(both.shape[0])])
    new = ad.AnnData(both.copy(), obs=obs, var=cells.var[[]].copy())
    new.layers["counts"] = both
    return new


def longest(graph: core.Graph, points: np.ndarray) -> dict:
    """The longest empty stretch of a tree: its share of that, its length in median edges, and how many are reported."""
    position = core.locate(graph, np.asarray(points, dtype=np.float64))
    stretches = core.empty_stretches(graph, position)
    branch, along = along_branches(graph, position)
    lengths = np.bincount(graph.branch_of_edge, graph.edge_length)
    most = max(np.diff(np.sort(np.r_[0.0, along[branch == b], length])).max() for b, length in enumerate(lengths))
    row = dict(share=most / lengths.sum(), edges=most / np.median(graph.edge_length), reported=len(stretches))
    return row | (dict(beyond=stretches[0].n_beyond) if stretches else {})


def sets(simulate, seeds: list[int], set_seeds: list[int]):
    """Names and cells."""
    for seed in seeds:
        for i, shape in enumerate(simulate._TREES):
            for j, level in enumerate(["easy", "medium"]):
                n = simulate._SIZES[shape]
                cells = simulate.simulate(shape, n, 1000, level, seed + 10 * i + j, preprocess=False)
                yield f"{shape}, {level}", seed, cells
    for seed in set_seeds:
        for name in SETS:
            yield name, seed, drawn(name, seed)


def measured(simulate, asked) -> pd.DataFrame:
    """The table; saved after each set."""
    rows = []
    for name, seed, cells in sets(simulate, asked.seeds, asked.set_seeds):
        for kind in KINDS:
            prepared = simulate.standard_preprocess(with_more(cells, kind, np.random.default_rng(seed)))
            learned = core.learn_tree(prepared.obsm["X_pca"])
            rows.append(dict(set=name, seed=seed, kind=kind) | longest(learned.graph, learned.embedding))
        pd.DataFrame(rows).to_csv(asked.out, index=False, float_format="%.4g")
        print(name, seed, flush=True)
    return pd.DataFrame(rows)


def report(rows: pd.DataFrame) -> str:
    """By kind: how many sets, in how many a stretch is reported, and how long the longest is."""
    rows = rows.assign(
        reported=rows["reported"] > 0, suite=rows["set"].isin(list(SETS)).map({True: "sets", False: "shapes"})
    )
    by = rows.groupby(["suite", "kind"], sort=False)
    table = by.agg(
        cases=("reported", "size"),
        reported=("reported", "sum"),
        median_share=("share", "median"),
        largest_share=("share", "max"),
    )
    return table.round(3).to_string()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quality", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="*", default=[98000])
    parser.add_argument("--set-seeds", type=int, nargs="*", default=[9800])
    parser.add_argument("--report", action="store_true")
    asked = parser.parse_args()
    if asked.report:
        print(report(pd.read_csv(asked.out)))
        return
    sys.path.insert(0, str(asked.quality.resolve()))
    import simulate

    warnings.simplefilter("ignore")
    print(report(measured(simulate, asked)))


if __name__ == "__main__":
    main()
