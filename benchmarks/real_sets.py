"""Six real data sets with labels, skeltraj's defaults beside other programs.

  python benchmarks/real_sets.py --quality FOLDER --data FOLDER --out real.csv [--methods skeltraj,paga_tree]
  python benchmarks/real_sets.py --quality FOLDER --data FOLDER --out parts.csv --resample 12 [--input scaled]
  python benchmarks/real_sets.py --quality FOLDER --data FOLDER --reference

FOLDER are the developers' trajectory benchmark (its `run.py`, `real.py`, `peers.py`) and data sets; neither is part of
the package. Added to the sets that the benchmark knows: Guo et al. 2010, Olsson et al. 2016 and HSMM (Trapnell et al.
2014). Other options are those of the benchmark's `run.py`. Scores: see its `real.py`; `time_cor` and `label_cor` say
how well the order of the labels comes out, `label_ami` (0 for a line, also where a line is right) how branches match
labels. With `--reference`, what the labels' own tree has: its nodes at the means of their cells, every cell put on it
where it is nearest.

With `--input`, the cells are prepared in another of the benchmark's ways (its `inputs.py`: scaled, cpm, pearson ...),
from their counts; guo2010 has cycles of PCR in their place.

With `--resample`, each set is run on that many random nine tenths of its cells (the start cell always among them,
principal components anew), each with a seed of its own: a program's one run on one set can be lucky. `time_cor`
compares all cells at once, also those of different lineages, with one step for each label: a lineage whose cells were
sorted into more groups has to be longer. So the file and the last tables also have `lineage_cor`, the same along each
path of the labels' tree from its root to a tip, averaged over the tips, which needs no such scale, and `even_cor`, with
every lineage as long as the others (negative: the order is reversed). For labels in a line all three are the same.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import spearmanr


def add_sets(real) -> None:
    """Teach the benchmark three more sets: expression on a log scale, labels, and how these follow one another."""

    def guo2010(folder: Path):
        table = pd.read_csv(folder / "guo2010/guo2010Data.csv.gz")
        # cycles until the limit of detection: a high number means much of it
        X = np.clip(28 - table[table.columns[2:]].to_numpy(float), 0, None)
        stages = [str(stage) for stage in sorted(table["stage"].unique())]
        return real._make(X, table["stage"], X), list(itertools.pairwise(stages)), stages[0]

    def olsson2016(folder: Path):
        table = pd.read_csv(folder / "olsson2016/Olsson.csv.gz")
        X = table[table.columns[:-1]].to_numpy(float)
        chain = [("HSPC-1", "HSPC-2"), ("HSPC-2", "Multi-Lin"), ("Multi-Lin", "MDP"), ("MDP", "Mono")]
        tree = [*chain, ("Multi-Lin", "Gran"), ("Gran", "Myelocyte"), ("HSPC-1", "Meg"), ("HSPC-1", "Eryth")]
        return real._make(X, table["labels"], np.clip(X, 0, None)), tree, "HSPC-1"

    def hsmm2014(folder: Path):
        table = pd.read_csv(folder / "hsmm2014/hsmm2014.csv.gz")
        X = table[table.columns[5:]].to_numpy(float)
        tree = [("0", "24"), ("24", "48"), ("48", "72")]
        return real._make(X, table["hours"].astype(str), np.round(2**X - 1)), tree, "0"

    real.SETS |= {"guo2010": guo2010, "olsson2016": olsson2016, "hsmm2014": hsmm2014}


def add_order(real) -> None:
    """Let the benchmark's `score` also say how well cells come in order, however far apart the lineages' labels are."""
    import metrics

    whole = real.score

    def score(pred, tree, root, lab, start, seed=0) -> dict:
        more = {"lineage_cor": 0.0, "even_cor": 0.0}
        if pred is not None:
            distance = metrics.geodesic_distances(metrics.simplify(pred), np.array([start]))[:, 0]
            distance[~np.isfinite(distance)] = distance[np.isfinite(distance)].max() * 2 + 1
            more = order(distance, tree, root, lab)
        return whole(pred, tree, root, lab, start, seed) | more

    real.score = score


def order(distance: np.ndarray, tree: list[tuple[str, str]], root: str, labels: np.ndarray) -> dict[str, float]:
    """Rank correlations of distance from the start with the labels: along each lineage, and of all cells at once."""
    parent = {b: a for a, b in tree}
    paths = []
    for tip in parent.keys() - set(parent.values()):
        path = [tip]
        while path[-1] != root:
            path.append(parent[path[-1]])
        paths.append(path[::-1])

    def correlation(on: np.ndarray, depth: dict[str, float]) -> float:
        rho = spearmanr(distance[on], [depth[label] for label in labels[on]])[0]
        return 0.0 if np.isnan(rho) else float(rho)  # all at one place: no order

    along = [correlation(np.isin(labels, path), {label: path.index(label) for label in path}) for path in paths]
    # the longest lineage through a label says how far along it is
    even = {label: i / (len(path) - 1) for path in sorted(paths, key=len) for i, label in enumerate(path)}
    return {"lineage_cor": float(np.mean(along)), "even_cor": correlation(np.full(len(labels), True), even)}


def add_resampling(real, n_times: int) -> None:
    """Replace each set by that many random nine tenths of it, called by its name and a number."""
    import scanpy as sc

    whole, makers = real.load, real.SETS

    def load(name: str, folders):
        real.SETS = makers  # the benchmark has its list of names by now
        name, number = name.rsplit("-", 1)
        loaded = whole(name, folders)
        if loaded is None:
            return None
        cells, tree, root, labels, start = loaded
        others = np.delete(np.arange(cells.n_obs), start)
        kept = np.random.default_rng(1000 + int(number)).choice(others, round(0.9 * cells.n_obs) - 1, replace=False)
        kept = np.sort(np.append(kept, start))
        part = cells[kept].copy()
        n_comps = min(cells.obsm["X_pca"].shape[1], *(n - 1 for n in part.shape))
        sc.pp.pca(part, n_comps=n_comps, mask_var="highly_variable", random_state=0)
        return part, tree, root, labels[kept], int(np.searchsorted(kept, start))

    real.load = load
    real.SETS = {f"{name}-{i}": None for name in makers for i in range(n_times)}


def add_preparation(real, name: str) -> None:
    """Let `load` prepare the cells in another usual way, from their counts."""
    import inputs

    whole = real.load

    def load(of: str, folders):
        loaded = whole(of, folders)
        if loaded is not None:
            inputs.prepare(loaded[0], name)
        return loaded

    real.load = load


def report(real, table: Path) -> str:
    """Means over the runs of each set, with either correlation, and what each program lacks to the best."""
    rows = pd.read_csv(table)
    rows["set"] = rows["dataset"].str.rsplit("-", n=1).str[0]
    out = []
    orders = ["time_cor", "lineage_cor", "even_cor"]
    for time in orders[:2]:
        rows["mean"] = rows[[time, *(name for name in real.METRICS if name != "time_cor")]].mean(axis=1)
        means = rows.pivot_table(index="method", columns="set", values="mean")
        means = means.assign(mean=means.mean(axis=1)).sort_values("mean", ascending=False)
        sets = means.columns.drop("mean")
        behind = (means[sets].max() - means[sets]).max(axis=1)
        out.append(f"with {time}\n{means.assign(furthest_behind=behind).round(3).to_string()}")
    for name in orders:
        out.append(f"{name}\n{rows.pivot_table(index='method', columns='set', values=name).round(3).to_string()}")
    return "\n\n".join(out)


def reference(real, peers, folder: Path) -> pd.DataFrame:
    """Scores of the labels' own tree, drawn through the means of their cells."""
    rows = {}
    for name in real.SETS:
        cells, tree, root, labels, start = real.load(name, [folder])
        X = np.asarray(cells.obsm["X_pca"], dtype=float)
        names = sorted({label for edge in tree for label in edge})
        nodes = np.array([X[labels == label].mean(axis=0) for label in names])
        edges = np.array([[names.index(a), names.index(b)] for a, b in tree])
        rows[name] = real.score(peers.from_principal_graph(X, nodes, edges), tree, root, labels, start)
    scores = pd.DataFrame(rows).T
    return scores.assign(mean=scores[real.METRICS].mean(axis=1))


def _taken(option: str) -> str | None:
    """What follows an option on the command line, which it leaves; None: it is not there."""
    if option not in sys.argv:
        return None
    at = sys.argv.index(option)
    if at + 1 == len(sys.argv):
        sys.exit(f"{option} wants a value.")
    value = sys.argv[at + 1]
    del sys.argv[at : at + 2]
    return value


def main() -> None:
    """Run the benchmark with the sets added."""
    quality = _taken("--quality")
    if quality is None:
        sys.exit(__doc__)
    sys.path.insert(0, str(Path(quality).resolve()))
    import real
    import run

    add_sets(real)
    add_order(real)
    n_times, prepared = _taken("--resample"), _taken("--input")
    if n_times:
        add_resampling(real, int(n_times))
    if prepared:
        add_preparation(real, prepared)
    if "--reference" in sys.argv:
        import peers

        print(reference(real, peers, Path(sys.argv[sys.argv.index("--data") + 1])).round(3))
        return
    run.main()
    if n_times:
        print("\n" + report(real, Path(sys.argv[sys.argv.index("--out") + 1])))


if __name__ == "__main__":
    main()
