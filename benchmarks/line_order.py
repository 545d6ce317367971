"""Lines, clouds and rings: does the order of the cells in other trees tell which trees are no lines?

A tree of a cloud, or of a cycle, is often a line, and lines agree on their one branch whatever they are lines of. A fit
therefore stores how alike the other lines have the cells in order (`ddrtree["starts"]["order"]`).

  python benchmarks/line_order.py [--seeds 0 10] [--method principal_tree] [--out FILE.csv]
  python benchmarks/line_order.py --out FILE.csv --report

Counts of 800 cells and 1,000 genes, as logarithms after normalisation, 50 principal components, trees by defaults:

  line    walks and paths without forks, of the simulators of preparations.py
  cloud   all cells have the same means, or six independent normal factors change them
  ring    half of the genes follow a phase that is uniform on the circle, strongly or weakly

Trees that have forks are counted, but have no such number.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import scanpy as sc
from scipy.stats import spearmanr

import skeltraj as st
from simulators.paths import paths
from simulators.walks import walks

CELLS, GENES, DEPTH = 800, 1000, 3000


def drawn(change: np.ndarray, rng: np.random.Generator) -> ad.AnnData:
    """Negative binomial counts, the log means of which differ from those of the genes by `change`."""
    mean = np.exp(rng.normal(-0.3, 1.2, GENES) + change)
    mean *= DEPTH / mean.sum(axis=1, keepdims=True) * np.exp(rng.normal(0, 0.35, (CELLS, 1)))
    return ad.AnnData(rng.poisson(mean * rng.gamma(10, 0.1, mean.shape)).astype(np.float32))


def factors(rng: np.random.Generator) -> np.ndarray:
    """Six independent normal factors, each of which moves two fifths of the genes."""
    return rng.normal(size=(CELLS, 6)) @ (rng.normal(0, 0.25, (6, GENES)) * (rng.random((6, GENES)) < 0.4))


def cycling(strength: float, rng: np.random.Generator) -> np.ndarray:
    """A phase, uniform on the circle, that half of the genes follow."""
    phase, peak = rng.uniform(0, 2 * np.pi, (CELLS, 1)), rng.uniform(0, 2 * np.pi, GENES)
    return strength * (rng.random(GENES) < 0.5) * np.cos(phase - peak)


KINDS = {
    ("line", "walks"): lambda rng: walks(0, n_cells=CELLS, seed=int(rng.integers(10**6))),
    ("line", "paths"): lambda rng: paths(0, n_cells=CELLS, seed=int(rng.integers(10**6))),
    ("cloud", "the same means"): lambda rng: drawn(np.zeros((CELLS, GENES)), rng),
    ("cloud", "six factors"): lambda rng: drawn(factors(rng), rng),
    ("ring", "strong"): lambda rng: drawn(cycling(0.6, rng), rng),
    ("ring", "weak"): lambda rng: drawn(cycling(0.25, rng), rng),
}


def judged(cells: ad.AnnData, method: str) -> dict[str, float]:
    """Tips of the tree, agreement, how similarly lines order the cells, how far apart its ends are.

    For lines also the rank correlation of pseudotime with the true position of the cells.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sc.pp.normalize_total(cells)
        sc.pp.log1p(cells)
        sc.pp.pca(cells, n_comps=50)
        getattr(st.tl, method)(cells)
        st.tl.order(cells, key=method)
    summary = st.get.summary(cells, method)
    true = cells.obs.get("true_pseudotime")
    tree, warned = summary.graph, " ".join(summary.doubts)
    ends = np.nan
    if len(tree.tips) == 2:
        ends = float(np.linalg.norm(np.diff(tree.nodes[tree.tips], axis=0)) / tree.edge_length.sum())
    return {
        "tips": len(tree.tips),
        "agreement": summary.agreement,
        "order": summary.order,
        "ends": ends,
        "truth": np.nan if true is None else abs(spearmanr(true, cells.obs[f"{method}_pseudotime"]).statistic),
        "by order": "order the cells differently" in warned,
        "by ends": "ends are near each other" in warned,
    }


def report(table: pd.DataFrame) -> str:
    """By kind: trees, lines, least, median and largest order, median distance of ends, lines that are warned of."""
    rows = {}
    for kind, part in table.groupby(["kind", "how"], sort=False):
        order = part["order"].dropna()
        quantiles = dict(zip(("least", "median", "largest"), order.quantile([0, 0.5, 1]), strict=True))
        rows[kind] = {"trees": len(part), "lines": len(order), **quantiles, "ends": part["ends"].median()}
        rows[kind] |= {name: int(part[name].sum()) for name in ("by order", "by ends")}
    return pd.DataFrame(rows).T.round(2).to_string()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 10), help="from, to")
    parser.add_argument("--method", default="ddrtree", choices=["ddrtree", "principal_tree"])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--report", action="store_true", help="only print what --out holds")
    given = parser.parse_args()
    rows = []
    if given.report:
        print(report(pd.read_csv(given.out)))
        return
    for seed in range(*given.seeds):
        for number, ((kind, how), make) in enumerate(KINDS.items()):
            cells = make(np.random.default_rng([seed, number]))
            rows.append({"kind": kind, "how": how, "seed": seed, **judged(cells, given.method)})
            if given.out is not None:
                pd.DataFrame(rows).to_csv(given.out, index=False)
    print(report(pd.DataFrame(rows)))


if __name__ == "__main__":
    main()
