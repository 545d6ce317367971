"""Do p-values hold their level along a tree that was learned from the same counts, and what does that cost?

    python benchmarks/gene_levels_learned.py [--seeds 0 10] [--cells 800] [--splits 5] [--only NAME ...]

Counts of `gene_simulation.py`, means .05 to 10, size factors over a fivefold range, are normalised, their logarithms
reduced to 30 principal components, and `tl.ddrtree` learns a tree from these. Genes are tested along it:

- naive: `tl.association` of the same counts;
- Poisson: along a tree that was learned from half of the counts, parted as if they were Poisson (dispersion 0), the
  other half is tested;
- true: the same, parted with the true dispersions;
- split: `tl.association` with ``split=``, dispersions estimated.

Where no gene changes, the errors of the genes alone draw the tree, the worst case: "few genes" (80 of mean 3), "noise"
(200) and "more noise" (1,000, dispersions .1 to 10 unrelated to the mean). Of 1,001 genes of "fork" 301 change along a
tree with a fork; in "fork, trend" dispersions fall with the mean, as in real data.

Printed for each set: the share of flat genes with p up to .05, .01 and .001, with two standard errors of the first;
where genes change, the share of these with q up to .05 and what share of all such genes is flat, and the share of the
changing genes that is found where, by the truth, 5 % of those found are flat (means over seeds).
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import scanpy as sc
from scipy import stats

import skeltraj as st
from gene_simulation import simulate
from skeltraj.tl._fitting.learn_part import PartLearner

LEVELS = (0.05, 0.01, 0.001)
SETS = {
    "few genes": dict(n_flat=80, n_each=0, means=(2.9, 3.1), dispersion="trend"),
    "noise": dict(n_flat=200, n_each=0),
    "more noise": dict(n_flat=1000, n_each=0),
    "fork": dict(n_flat=700, n_each=43),
    "fork, trend": dict(n_flat=700, n_each=43, dispersion="trend"),
}


def learned(n_cells: int, seed: int, **options):
    """Cells with a tree learned from their counts."""
    adata = simulate("fork", n_cells, seed=seed, **options)
    del adata.uns["ddrtree"]
    adata.X = adata.layers["counts"].copy()
    sc.pp.normalize_total(adata)
    sc.pp.log1p(adata)
    sc.pp.pca(adata, n_comps=min(30, adata.n_vars - 1))
    st.tl.ddrtree(adata)
    st.tl.order(adata, root=int(st.get.graph(adata).tips[0]))
    return adata


def one_split(adata, dispersion, seed: int) -> np.ndarray:
    """p-values of one half of the counts along the tree of the other."""
    counts = adata.layers["counts"]
    part, rest = st.core.thin_counts(counts, dispersion, rng=seed)
    graph, position = PartLearner(adata, "ddrtree", "counts", None)(part)
    total = np.asarray(counts.sum(axis=1)).ravel()
    basis = st.core.tree_basis(graph, position)
    root = int(graph.tips[0])
    return st.core.association(rest, basis, position, root, size_factors=total / np.median(total)).p_value


def tested(adata, n_splits: int, seed: int) -> dict[str, np.ndarray]:
    """p-values by the way in which they came about."""
    st.tl.association(adata, layer="counts", split=n_splits, rng=seed)
    table = adata.varm["ddrtree_association"]
    return {
        "naive": table["naive_p_value"].to_numpy(),
        "Poisson": one_split(adata, 0.0, seed),
        "true": one_split(adata, adata.var["dispersion"].to_numpy(), seed),
        "split": table["p_value"].to_numpy(),
    }


def found(p: np.ndarray, changes: np.ndarray) -> tuple[float, float, float]:
    """Share of the changing genes with q up to .05; of flat genes among these; share found where 5 % are flat."""
    p = np.nan_to_num(p, nan=1.0)
    chosen = stats.false_discovery_control(p) <= 0.05
    order = np.argsort(p, kind="stable")
    flat = np.cumsum(~changes[order]) / np.arange(1, len(p) + 1)
    last = np.flatnonzero(flat <= 0.05)
    at_truth = changes[order][: last[-1] + 1].sum() if len(last) else 0
    return chosen[changes].mean(), (~changes[chosen]).mean() if chosen.any() else 0.0, at_truth / changes.sum()


def main() -> None:
    """Simulate, learn, test, and print the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 10), metavar=("FIRST", "END"))
    parser.add_argument("--cells", type=int, default=800)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=list(SETS), choices=list(SETS), metavar="NAME")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in asked.only:
        p_values: dict[str, list[np.ndarray]] = {}
        power: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(*asked.seeds):
            adata = learned(asked.cells, seed, **SETS[name])
            changes = adata.var["changes"].to_numpy(dtype=bool)
            for way, p in tested(adata, asked.splits, seed).items():
                p_values.setdefault(way, []).append(p[~changes & np.isfinite(p)])
                if changes.any():
                    power.setdefault(way, []).append(found(p, changes))
        print(f"\n{name}; {asked.cells} cells, seeds {asked.seeds[0]} to {asked.seeds[1] - 1}")
        for way, parts in p_values.items():
            p = np.concatenate(parts)
            shares = [float(np.mean(p <= level)) for level in LEVELS]
            error = 2 * np.sqrt(shares[0] * (1 - shares[0]) / len(p))
            line = f"{way:8} .05: {shares[0]:.3f} +- {error:.3f}   .01: {shares[1]:.4f}   .001: {shares[2]:.4f}"
            if way in power:
                of_q, flat, at_truth = np.mean(power[way], axis=0)
                line += f"   q<=.05: {of_q:.3f} found, {flat:.3f} of these flat; at a true 5 %: {at_truth:.3f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
