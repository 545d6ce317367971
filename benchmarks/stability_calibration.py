"""How often branches and forks of some support are true: simulated trees of known truth, and real sets with labels.

    python benchmarks/stability_calibration.py [--seeds 0 12] [--replicates 12] [--out FOLDER]
    python benchmarks/stability_calibration.py --quality FOLDER --data FOLDER    # also counts, real sets
    python benchmarks/stability_calibration.py --quality FOLDER --data FOLDER --seeds 0 40 --replicates 50 --parts 3

Learned by `tl.ddrtree` (or what `--method` names) with its defaults, and again with a third of the smallest gain of a
branch, so that more is learned that is not there. Then two kinds of support: that of `tl.stability` (bootstrap
samples), and that of the tree from one start among those of four others (`core.support`).

*Simulated* ("curves"): each seed gives a random binary tree with 2 to 6 leaves beside its root, curved branches in 30
dimensions, unequal numbers of cells on them (300 to 600 in all) and one of several levels of noise, so that some
branches that are learned are right and some are not; "counts" are from the simulator of `--quality`. *Real*: random
nine tenths of six sets, as logarithms and scaled; the truth is the tree of their labels (for guo2010 cell
types by markers), which does not know all that is there.

What is true: a *branch* whose cells and those of some true branch are alike (Jaccard index above 1/2); a branch that
ends in a tip also *wherever it begins*, if its cells are like those beyond some place of the true tree ("with a tip");
a *fork* of which three sides, or the far halves of three sides ("far"), lie on three sides of a true one: three cells
drawn from them do so more often than not. Printed, for each: number, share true, mean support of the true and the
others, area under the ROC curve, Brier score (mean squared difference between support and truth), expected calibration
error (mean over branches of |support - share true| of their bin); and for bins of support the share of branches that
is true. With `--out`, all as tables and a picture.
"""

from __future__ import annotations

import argparse
import itertools
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
    """Cells as AnnData, and the true tree."""
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
    return ad.AnnData(X, obs=pd.DataFrame(index=index)), Truth(edges, branch, place), noise


def _unit(rng):
    direction = rng.standard_normal(DIMENSIONS)
    return direction / np.linalg.norm(direction)


class Truth:
    """A tree with cells on it.

    Parameters
    ----------
    edges
        Pairs of vertices.
    edge, fraction
        Of each cell: its edge, and how far along that it lies.
    """

    def __init__(self, edges, edge, fraction):
        self.edges, self.edge, self.fraction = [tuple(pair) for pair in edges], np.asarray(edge), np.asarray(fraction)
        self.branch = joined(self.edges, self.edge)
        places = itertools.product(range(len(self.edges)), (0.0, 0.25, 0.5, 0.75))
        beyond = np.array([self.beyond(*place) for place in places])
        self.parts = np.concatenate([beyond, ~beyond])
        vertices = [v for pair in self.edges for v in pair]
        self.forks = [self.sides(v) for v in sorted(set(vertices)) if vertices.count(v) > 2]

    def reached(self, vertex, without):
        """Edges that can be reached from a vertex without an edge."""
        reached, todo = set(), [vertex]
        while todo:
            at = todo.pop()
            for i, pair in enumerate(self.edges):
                if at in pair and i != without and i not in reached:
                    reached.add(i)
                    todo.append(pair[1] if at == pair[0] else pair[0])
        return list(reached)

    def beyond(self, edge, fraction):
        """The cells beyond a place on an edge."""
        further = np.isin(self.edge, self.reached(self.edges[edge][1], edge))
        return further | ((self.edge == edge) & (self.fraction > fraction))

    def sides(self, vertex):
        """The side of a fork on which each cell lies, -1 at the fork itself."""
        side = np.full(len(self.edge), -1)
        around = [i for i, pair in enumerate(self.edges) if vertex in pair]
        for number, i in enumerate(around):
            other = self.edges[i][0] if self.edges[i][1] == vertex else self.edges[i][1]
            side[np.isin(self.edge, [i, *self.reached(other, i)])] = number
        ends = np.array(self.edges)[self.edge]
        at = ((ends[:, 0] == vertex) & (self.fraction == 0)) | ((ends[:, 1] == vertex) & (self.fraction == 1))
        side[at] = -1
        return side


def of_labels(tree, root, labels):
    """Cells at the vertices of the tree of their labels."""
    into = {b: i for i, (_, b) in enumerate(tree)}
    first = next(i for i, (a, _) in enumerate(tree) if a == root)
    return Truth(tree, [into.get(label, first) for label in labels], [float(label in into) for label in labels])


def from_folder(seed):
    """Cells by the simulator of another folder, and their true tree."""
    import simulate as simulator

    shapes = ["linear", "bifurcation", "trifurcation", "double_bifurcation", "binary_tree_4", "binary_tree_6"]
    levels = ["easy", "medium", "hard"]
    level = levels[(seed // 6 + seed) % 3]
    adata = simulator.simulate(shapes[seed % 6], 400 + 50 * (seed % 5), 600, level, 20_000 + seed)
    truth = adata.uns["truth"]
    edges = list(zip(truth["from"], truth["to"], strict=True))
    return adata, Truth(edges, truth["edge"], truth["fraction"]), level


def real_parts(data, n_parts):
    """Random parts of the real sets, with the tree of their labels: name, kind of input, cells, truth."""
    import real
    import scanpy as sc

    import real_sets

    real_sets.add_sets(real)
    for name in list(real.SETS):
        loaded = real.load(name, [data])
        if loaded is None:
            continue
        cells, tree, root, labels, _ = loaded
        if name == "guo2010":
            tree, labels = embryo_types(data, labels)
        cells.X = cells.X.toarray()
        for i in range(n_parts):
            n = cells.n_obs
            kept = np.sort(np.random.default_rng(5000 + i).choice(n, round(0.9 * n), replace=False))
            for kind in ("log", "scaled"):
                part = cells[kept].copy()
                if kind == "scaled":
                    sc.pp.scale(part, max_value=10)
                n_comps = min(cells.obsm["X_pca"].shape[1], *(m - 1 for m in part.shape))
                sc.pp.pca(part, n_comps=n_comps, mask_var="highly_variable", random_state=0)
                yield f"{name}-{i}", kind, part, of_labels(tree, root, labels[kept])


def embryo_types(data, stages):
    """The tree and labels of Guo et al. 2010, cells from the 32-cell stage on by what their markers say they are."""
    table = pd.read_csv(data / "guo2010/guo2010Data.csv.gz")
    late = table["stage"].to_numpy() >= 6
    X = np.clip(28 - table[table.columns[2:]], 0, None)  # cycles until the limit of detection
    Z = (X - X[late].mean()) / X[late].std()
    markers = {
        "trophectoderm": ["Cdx2", "Gata3", "Krt8", "Dppa1", "Id2"],
        "epiblast": ["Fgf4", "Sox2", "Nanog", "Klf2"],
        "primitive endoderm": ["Gata4", "Sox17", "Pdgfra", "Gata6"],
    }
    types = np.array(list(markers))[np.argmax([Z[genes].mean(axis=1) for genes in markers.values()], axis=0)]
    tree = [("1", "2"), ("2", "3"), ("3", "4"), ("4", "5"), *(("5", name) for name in markers)]
    return tree, np.where(late, types, stages)


def joined(edges, of):
    """Branch of each cell, where edges that meet at a vertex of two edges are one branch."""
    ends = [v for edge in edges for v in edge]
    group = list(range(len(edges)))
    for vertex in set(ends):
        if ends.count(vertex) == 2:
            one, two = (i for i, edge in enumerate(edges) if vertex in edge)
            group = [group[one] if g == group[two] else g for g in group]
    return np.unique(np.array(group)[of], return_inverse=True)[1]


def judge(adata, truth, *, replicates, vary, method, n_starts=5):
    """Rows for branches and forks of learned trees: support of two kinds, and whether they are true."""
    cells = ad.AnnData(np.asarray(adata.obsm["X_pca"] if "X_pca" in adata.obsm else adata.X, dtype=float))
    trees, found = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start in range(n_starts):
            key = f"start{start}"
            getattr(st.tl, method)(cells, n_starts=1, rng=start, key_added=key)
            limit = cells.uns[key]["pruned"]["min_gain"] / 3
            for kind in ("pruned", "less pruned"):
                if kind == "less pruned":
                    st.tl.prune(cells, key=key, min_gain=limit)
                trees[kind, start] = st.get.graph(cells, key)
                if start == 0:
                    st.tl.order(cells, key=key)
                    st.tl.stability(cells, key=key, n_replicates=replicates, vary=vary)
                    found[kind] = st.get.stability(cells, key)
    places = [np.asarray(cells.obsm[f"X_start{start}"], dtype=float) for start in range(n_starts)]
    branches, forks = [], []
    for kind in ("pruned", "less pruned"):
        tree, tables = trees[kind, 0], found[kind]
        starts = st.core.support(tree, places[0], [(trees[kind, i], places[i]) for i in range(1, n_starts)])
        position = st.core.locate(tree, places[0])
        names = dict(starts=starts.branch_support, starts_overlap=starts.branch_overlap)
        mine = tables.branches.reset_index(drop=True).assign(**names, **true_branches(tree, position, truth))
        branches.append(mine.assign(kind=kind))
        names = dict(starts=starts.fork_support, starts_triplets=starts.fork_triplets)
        mine = tables.forks.reset_index(drop=True).assign(**names, **true_forks(tree, position, truth))
        forks.append(mine.assign(kind=kind))
    return pd.concat(branches), pd.concat(forks)


def alike(cells, sets):
    """Whether some cells have a Jaccard index above 1/2 with one of several sets, (n_sets, n)."""
    return bool(((sets & cells).sum(axis=1) / np.maximum((sets | cells).sum(axis=1), 1)).max() > 0.5)


def true_branches(tree, position, truth):
    """Columns for the branches of a tree: whether each ends in a tip, is true, is true wherever it begins."""
    on = tree.branch_of_edge[position.edge]
    true = truth.branch == np.unique(truth.branch)[:, None]
    ends = [sorted(tree.degree[path[[0, -1]]]) for path in tree.branches]
    return {
        "tip": [low == 1 and high > 2 for low, high in ends],
        "true": [alike(on == i, true) for i in range(len(ends))],
        "true_anywhere": [alike(on == i, truth.parts) for i in range(len(ends))],
    }


def true_forks(tree, position, truth):
    """Columns for the forks of a tree: whether three sides, or three far halves of sides, are on three true sides."""
    columns = {"true": [], "true_far": []}
    for fork in tree.forks:
        kept = ~(tree.edges == fork).any(axis=1)
        part = st.core.Graph(tree.nodes, tree.edges[kept]).component
        ends = tree.edges[position.edge]
        side = part[np.where(ends[:, 0] == fork, ends[:, 1], ends[:, 0])]
        distance = position.distances_from(tree, int(fork))
        sides = [np.flatnonzero(side == part[node]) for node in tree.neighbors(int(fork))]
        far = [on[distance[on] >= np.median(distance[on])] if len(on) else on for on in sides]
        for name, groups in (("true", sides), ("true_far", far)):
            shares = [[parted(three, true) for three in itertools.combinations(groups, 3)] for true in truth.forks]
            columns[name].append(max(map(max, shares), default=0.0) > 0.5)
    return columns


def parted(groups, side):
    """How often three cells, one from each group, are on three sides."""
    a, b, c = (np.bincount(side[on] + 1, minlength=side.max() + 2)[1:] / max(len(on), 1) for on in groups)
    apart = np.ones((len(a),) * 3)
    for i, j in itertools.combinations(range(3), 2):
        at = np.indices(apart.shape)
        apart[at[i] == at[j]] = 0
    return float(np.einsum("i,j,k,ijk->", a, b, c, apart))


def reliability(table, column="support", truth="true"):
    """By bins of support: branches, mean support, share that is true."""
    bins = np.digitize(table[column], BINS) - 1
    rows = table.groupby(bins).agg(n=(truth, "size"), mean=(column, "mean"), true=(truth, "mean"))
    rows.index = [f"{BINS[i]:.2f} to {min(BINS[i + 1], 1):.2f}" for i in rows.index]
    return rows


def scores(table, column, truth):
    """Mean support of the true and the others, area under the ROC curve, Brier score, expected calibration error."""
    p, true = table[column].to_numpy(dtype=float), table[truth].to_numpy(dtype=bool)
    rows = reliability(table, column, truth)
    higher = p[true][:, None] - p[~true]
    return {
        "n": len(p),
        "share_true": true.mean(),
        "of_true": p[true].mean() if true.any() else np.nan,
        "of_others": p[~true].mean() if (~true).any() else np.nan,
        "auc": np.nan if not higher.size else float((higher > 0).mean() + 0.5 * (higher == 0).mean()),
        "brier": np.mean((p - true) ** 2),
        "ece": float((rows["n"] * (rows["mean"] - rows["true"]).abs()).sum() / rows["n"].sum()),
    }


def summary(branches, forks):
    """One row for each source, what is judged, by which truth, and measure."""
    tips = branches[branches["tip"]]
    of_branches = ("support", "overlap", "found_again", "starts", "starts_overlap")
    asked = [
        ("branches", branches, "true", of_branches),
        ("with a tip", tips, "true_anywhere", of_branches),
        ("forks", forks, "true", ("support", "triplets", "starts", "starts_triplets")),
        ("forks, far", forks, "true_far", ("support", "triplets", "starts", "starts_triplets")),
    ]
    rows = {}
    for what, table, truth, columns in asked:
        for source, part in table.groupby("source"):
            for column in columns:
                rows[source, what, column] = scores(part, column, truth)
    out = pd.DataFrame(rows).T
    return out.rename_axis(["source", "of", "measure"]).sort_index(level=0, sort_remaining=False)


def picture(table, path):
    """Share true over support, for each source of data and kind of support."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(4.8, 4.4), layout="constrained")
    ax.plot([0, 1], [0, 1], color="#C8C8C8", zorder=0)
    for source, part in table.groupby("source"):
        for column, said in (("support", "bootstrap samples"), ("starts", "other starts")):
            rows = reliability(part, column)
            rows = rows[rows["n"] >= 5]
            ax.plot(rows["mean"], rows["true"], marker="o", label=f"{source}, {said} ({len(part)} branches)")
    ax.set_xlabel("support")
    ax.set_ylabel("share of branches that are true")
    ax.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 12), help="from, to")
    parser.add_argument("--replicates", type=int, default=12)
    parser.add_argument("--vary", nargs="+", default=["cells"])
    parser.add_argument("--method", default="ddrtree", choices=["ddrtree", "principal_tree"])
    parser.add_argument("--quality", type=Path, help="a folder with modules simulate and real")
    parser.add_argument("--data", type=Path, help="a folder with the real sets")
    parser.add_argument("--parts", type=int, default=1, help="random parts of each real set")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.quality is not None:
        sys.path[:0] = [str(given.quality.resolve()), str(Path(__file__).resolve().parent)]
    branches, forks = [], []

    def add(source, name, adata, truth):
        for rows, table in zip((branches, forks), judge(adata, truth, **options), strict=True):
            rows.append(table.assign(source=source, set=name))
        print(source, name, file=sys.stderr, flush=True)

    options = dict(replicates=given.replicates, vary=given.vary, method=given.method)
    for seed in range(*given.seeds):
        adata, truth, noise = simulate(seed)
        add("curves", f"{seed} {noise}", adata, truth)
        if given.quality is not None and seed % 2 == 0:
            adata, truth, level = from_folder(seed)
            add("counts", f"{seed} {level}", adata, truth)
    if given.quality is not None and given.data is not None:
        for name, kind, adata, truth in real_parts(given.data, given.parts):
            if name.startswith("paul15") and kind == "scaled" and given.parts == 1:
                continue  # by far the largest
            add("real", f"{name} {kind}", adata, truth)
    branches, forks = (pd.concat(rows, ignore_index=True) for rows in (branches, forks))
    print(summary(branches, forks).round(3).to_string())
    print("\nbranches by their support, pruned as by default")
    default = branches[branches["kind"] == "pruned"]
    for column in ("support", "starts"):
        bins = {source: reliability(part, column) for source, part in default.groupby("source")}
        print(f"\n{column}\n{pd.concat(bins, axis=1).round(2).to_string()}")
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        for name, table in (("branches", branches), ("forks", forks)):
            table.round(6).to_csv(given.out / f"stability_calibration_{name}.csv", index=False)
        picture(default, given.out / "stability_calibration.png")


if __name__ == "__main__":
    main()
