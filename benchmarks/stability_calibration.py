"""How often branches of some support are true: `tl.stability` on simulated trees of known truth.

    python benchmarks/stability_calibration.py [--seeds 0 40] [--replicates 50] [--vary cells] [--out FOLDER]
    python benchmarks/stability_calibration.py --quality FOLDER    # also on the simulator of that folder

Each seed gives a random binary tree with 2 to 6 leaves beside its root, curved branches in 30 dimensions, unequal
numbers of cells on them (300 to 600 in all) and one of several levels of noise, so that some branches that are learned
are right and some are not. `tl.ddrtree` and `tl.principal_tree` with their defaults, and without pruning, learn a tree
each. A branch of it is true if its cells and those of some true branch are alike (Jaccard index above 1/2), its support
is what `tl.stability` says. Printed, for bins of support: branches, mean support, share that is true; Brier score (mean
squared difference between support and truth), expected calibration error (mean over branches of |support - share true|
of the bin), and the area under the ROC curve. With `--out`, all branches as a table and the curves as a picture.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd

import skeltraj as st

DIMENSIONS = 30
NOISE = (0.03, 0.06, 0.1, 0.15)  # in each dimension, in units of a branch of mean length
BINS = np.array([0, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.001])


def simulate(seed):
    """Cells as AnnData, and the true branch of each."""
    rng = np.random.default_rng(seed)
    leaves, noise = int(rng.integers(2, 7)), NOISE[seed % len(NOISE)]
    edges, tips = [(0, 1)], [1]
    while len(tips) < leaves:
        tip, new = tips.pop(int(rng.integers(len(tips)))), len(edges) + 1
        edges += [(tip, new), (tip, new + 1)]
        tips += [new, new + 1]
    length = np.clip(np.exp(0.35 * rng.standard_normal(len(edges))), 0.5, 2.0)
    share = length * np.exp(0.5 * rng.standard_normal(len(edges)))
    share = np.maximum(share / share.sum(), 0.03)
    n = int(rng.integers(300, 601))
    branch = rng.choice(len(edges), n, p=share / share.sum())
    place = rng.random(n)
    at, heading = {0: np.zeros(DIMENSIONS)}, {0: _unit(rng)}
    X = np.empty((n, DIMENSIONS))
    for i, (a, b) in enumerate(edges):
        # heads on as before for a bit, then in a direction of its own: two quadratic Bezier points
        bend = at[a] + length[i] * 0.2 * heading[a]
        heading[b] = _unit(rng)
        at[b] = bend + length[i] * 0.8 * heading[b]
        t = place[branch == i][:, None]
        X[branch == i] = (1 - t) ** 2 * at[a] + 2 * t * (1 - t) * bend + t**2 * at[b]
    X += noise * rng.standard_normal(X.shape) * np.linspace(1.4, 0.6, DIMENSIONS)
    index = [f"cell{i}" for i in range(n)]
    return ad.AnnData(X, obs=pd.DataFrame(index=index)), branch if leaves > 1 else np.zeros(n, dtype=int), noise


def _unit(rng):
    direction = rng.standard_normal(DIMENSIONS)
    return direction / np.linalg.norm(direction)


def from_folder(folder, seed):
    """The same from the simulator of a folder: cells with principal components, and their true branches."""
    sys.path.insert(0, str(folder))
    import simulate as simulator

    shapes = ["linear", "bifurcation", "trifurcation", "double_bifurcation", "binary_tree_4", "binary_tree_6"]
    levels = ["easy", "medium", "hard"]
    adata = simulator.simulate(shapes[seed % 6], 400 + 50 * (seed % 5), 600, levels[(seed // 6) % 3], 20_000 + seed)
    truth = adata.uns["truth"]
    return (
        adata,
        joined(list(zip(truth["from"], truth["to"], strict=True)), np.asarray(truth["edge"])),
        levels[(seed // 6) % 3],
    )


def joined(edges, of):
    """Branch of each cell, where edges that meet at a vertex of two edges are one branch."""
    ends = [v for edge in edges for v in edge]
    group = list(range(len(edges)))
    for vertex in set(ends):
        if ends.count(vertex) == 2:
            one, two = (i for i, edge in enumerate(edges) if vertex in edge)
            group = [group[one] if g == group[two] else g for g in group]
    return np.unique(np.array(group)[of], return_inverse=True)[1]


def judge(adata, truth, *, method, prune, replicates, vary):
    """One row for each branch of the learned tree: support, and whether it is true."""
    options = {} if prune else {"prune": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(st.tl, method)(adata, **options)
        st.tl.order(adata, key=method)
    st.tl.stability(adata, key=method, n_replicates=replicates, vary=vary)
    table = st.get.stability(adata, method).branches.reset_index()
    branch = adata.obs[f"{method}_branch"].cat.codes.to_numpy()
    for i in range(len(table)):
        mine = branch == i
        alike = [(mine & (truth == b)).sum() / (mine | (truth == b)).sum() for b in np.unique(truth)]
        table.loc[i, "alike"] = max(alike)
    table["true"] = table["alike"] > 0.5
    return table.assign(method=method, pruned=prune)


def reliability(table, column="support"):
    """By bins of support: branches, mean support, share that is true."""
    bins = np.digitize(table[column], BINS) - 1
    rows = table.groupby(bins).agg(n=("true", "size"), mean=(column, "mean"), true=("true", "mean"))
    rows.index = [f"{BINS[i]:.2f} to {min(BINS[i + 1], 1):.2f}" for i in rows.index]
    return rows


def scores(table, column="support"):
    """Brier score, that of the share of true branches, expected calibration error, area under the ROC curve."""
    p, true, rows = table[column].to_numpy(), table["true"].to_numpy(), reliability(table, column)
    higher = p[true][:, None] - p[~true]
    return {
        "n": len(p),
        "share_true": true.mean(),
        "mean": p.mean(),
        "brier": np.mean((p - true) ** 2),
        "brier_of_share": true.mean() * (1 - true.mean()),
        "ece": float((rows["n"] * (rows["mean"] - rows["true"]).abs()).sum() / rows["n"].sum()),
        "auc": np.nan if not higher.size else float((higher > 0).mean() + 0.5 * (higher == 0).mean()),
    }


def picture(table, path):
    """Share true over support, for each source of data and kind of tree."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
    ax.plot([0, 1], [0, 1], color="#C8C8C8", zorder=0)
    for (source, pruned), part in table.groupby(["source", "pruned"]):
        rows = reliability(part)
        rows = rows[rows["n"] >= 5]
        kind = "pruned" if pruned else "not pruned"
        ax.plot(rows["mean"], rows["true"], marker="o", label=f"{source}, {kind} ({len(part)} branches)")
    ax.set_xlabel("support")
    ax.set_ylabel("share of branches that are true")
    ax.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 40), help="from, to")
    parser.add_argument("--replicates", type=int, default=50)
    parser.add_argument("--vary", nargs="+", default=["cells"])
    parser.add_argument("--quality", type=Path, help="a folder with a module simulate")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = []
    for seed in range(*given.seeds):
        cohorts = [("curves", simulate(seed))]
        if given.quality is not None:
            cohorts.append(("counts", from_folder(given.quality, seed)))
        for source, (adata, truth, noise) in cohorts:
            for method in ("ddrtree", "principal_tree"):
                for prune in (True, False):
                    options = dict(method=method, prune=prune, replicates=given.replicates, vary=given.vary)
                    branches = judge(adata, truth, **options)
                    rows.append(branches.assign(source=source, seed=seed, noise=noise))
        print(f"seed {seed}", file=sys.stderr, flush=True)
    table = pd.concat(rows, ignore_index=True)
    for (source, method, pruned), part in table.groupby(["source", "method", "pruned"]):
        print(f"\n{source}, {method}, {'pruned' if pruned else 'not pruned'}")
        print(reliability(part).round(3).to_string())
    print("\nall\n", reliability(table).round(3).to_string())
    summary = {
        f"{s}, {'pruned' if p else 'not pruned'}": scores(part) for (s, p), part in table.groupby(["source", "pruned"])
    }
    summary |= {"all": scores(table), "all, by the share of replicates": scores(table, "found_again")}
    print("\n" + pd.DataFrame(summary).T.round(3).to_string())
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        table.round(6).to_csv(given.out / "stability_calibration.csv", index=False)
        picture(table, given.out / "stability_calibration.png")


if __name__ == "__main__":
    main()
