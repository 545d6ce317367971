"""Views of turning objects and faces of many persons: is the turn found, and who is who (after KDD 2015, Figs 4 and 5)?

    python benchmarks/images.py [--coil20 FILE.npz] [--yaleb FILE.npz] [--objects 1 2 ...] [--out FOLDER]

Either archive may be left out. Each holds `X`, one image per row, and `y`, what it shows. COIL20 (Columbia, 32 x 32
pixels): 72 views each of 20 objects on a turntable, one every 5 degrees, in that order. Extended Yale B (32 x 32): 38
faces, 59 to 64 lightings each. Both are spread as .mat files, of which ``numpy.savez(FILE, X=..., y=...)`` makes these.
The whole takes about five minutes on two cores, one object (`--objects 1`) some seconds.

**Every object on its own.** The views form a ring, so 72 pairs of views are neighbours on the turntable. Counted are
those that are neighbours on what is learned from the pixels, at most one step apart (and at most two):

- *edges*, where node i is view i (trees and graphs of all views): steps are edges of the graph;
- *position*, for fewer nodes than views: every view is put on the nearest point of the graph (views on one point: in
  random order), and a step is to the next view along the graph;
- *angle*, for PCA, Isomap and t-SNE: the views are sorted by the angle around the mean of the first two dimensions, and
  a step is to the next view in this circular order.

A tree has 71 edges, so it can join at most 71 pairs, and a graph with more edges finds more pairs by chance: the column
of edges stands beside. The minimum spanning tree of the pixels, and the graph that joins every view with its two
nearest, need no learning. Methods:

- DRTree and DDRTree, with the kernel matrix ``exp(-||x_i - x_j||^2 / D)`` of the standardised pixels as the data, lam =
  0.1 N, components that keep 95 % of the variance and else the values of the paper (sec. 5.3.1);
- principal trees and graphs, in the leading principal components (`--components`, 10). The automatic sigma is taken
  from the third neighbour, of so few views; "near" is half the median squared distance to the second, the views on
  either side. "0.25" leaves out edges with weights below that (default: 0.1). Of 24, 36 and 48 landmarks, 36 are shown,
  one for two views; fewer are worse;
- Isomap with 3 neighbours (3, 5 and 8 were tried: more are worse), t-SNE with perplexity 5 (5, 10 and 20: likewise).

The graph of all views ("near", 0.25) is called a ring if it is in one part and of its independent shortest cycles one
holds at least three quarters of the views and no other more than a quarter. Beside it stands the size of the linear
programme that each round solves.

**All at once.** Share of the edges that join images of one object or person, and how many objects or persons hang
together, that is, lie in one part of the tree that holds nothing else. A spanning tree over N images of G groups has at
best ``(N - G) / (N - 1)`` such edges. `tol` is 1e-3, to save time. Pictures of the adjacency matrices go to the folder
`--out`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from pathlib import Path

import anndata as ad
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.manifold import TSNE, Isomap

import skeltraj as st
from skeltraj import core

FACES = 185  # components, sec. 5.3.2
LANDMARKS = 300


# The images


def standardised(X):
    """Every pixel with mean 0 and standard deviation 1; one that never changes stays 0."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def kernel(X):
    """The paper's kernel matrix."""
    return np.exp(-cdist(standardised(X), standardised(X), "sqeuclidean") / X.shape[1])


def components(X, n):
    """Leading principal components."""
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return U[:, :n] * s[:n]


def near(P):
    """A bandwidth: half the median squared distance to the second neighbour."""
    return float(np.median(np.sort(cdist(P, P, "sqeuclidean"), axis=1)[:, 2])) / 2


def nearest(X, k):
    """Edges between every image and its k nearest."""
    distance = cdist(X, X)
    np.fill_diagonal(distance, np.inf)
    of = np.argsort(distance, axis=1)[:, :k]
    return np.unique(np.sort(np.column_stack([np.repeat(np.arange(len(X)), k), of.ravel()]), axis=1), axis=0)


def spanning(X):
    """Edges of the minimum spanning tree."""
    tree = minimum_spanning_tree(cdist(X, X)).tocoo()
    return np.column_stack([tree.row, tree.col])


# How many steps apart views are; each function returns (n_views, n_views) steps and the number of edges


def by_edges(n, edges):
    links = sparse.csr_matrix((np.ones(len(edges)), edges.T), shape=(n, n))
    return dijkstra(links, directed=False, unweighted=True), len(edges)


def by_position(fit):
    """Every edge becomes a chain of its first node, the views on it and its second node; entering a view is a step."""
    graph, n = fit.graph, len(fit.embedding)
    where, K = core.locate(graph, fit.embedding), graph.n_nodes
    order = np.lexsort((np.random.default_rng(0).permutation(n), where.fraction))
    chains = [np.r_[u, K + order[where.edge[order] == e], v] for e, (u, v) in enumerate(graph.edges)]
    a, b = np.concatenate([c[:-1] for c in chains]), np.concatenate([c[1:] for c in chains])
    to = np.r_[b, a]
    links = sparse.csr_matrix((np.where(to >= K, 1.0, 1e-6), (np.r_[a, b], to)), shape=(K + n, K + n))
    return np.floor(dijkstra(links, indices=np.arange(K, K + n))[:, K:]), len(graph.edges)


def by_angle(plane):
    x, y = (plane - plane.mean(axis=0))[:, :2].T
    place = np.argsort(np.argsort(np.arctan2(y, x)))
    apart = np.abs(place[:, None] - place)
    return np.minimum(apart, len(plane) - apart), len(plane)


# Every object on its own


def paper(n):
    """Settings of sec. 5.3.1."""
    return dict(n_components=0.95, lam=0.1 * n)


def lighter(fit, least):
    """The fit without edges whose weights are below `least`."""
    kept = fit.weights >= least
    return replace(fit, edges=fit.edges[kept], weights=fit.weights[kept])


def methods(X, n_components):
    """Steps and number of edges for every method, and the graph of all views with the seconds of its fit."""
    n, P, K = len(X), components(X, n_components), kernel(X)
    half = n // 2
    began = time.perf_counter()
    whole = core.principal_graph(P, n_nodes="all", sigma=near(P))
    seconds = time.perf_counter() - began
    tree = lambda fit: by_edges(n, fit.edges)
    steps = {
        "spanning tree of pixels, edges": by_edges(n, spanning(X)),
        "2 nearest views, edges": by_edges(n, nearest(X, 2)),
        "spanning tree of kernel, edges": by_edges(n, spanning(K)),
        "drtree, edges": tree(core.drtree(K, **paper(n))),
        "ddrtree, edges": tree(core.ddrtree(K, **paper(n), preset="kdd2015")),
        "principal_tree, edges": tree(core.principal_tree(P, n_nodes="all")),
        "principal_tree, near, edges": tree(core.principal_tree(P, n_nodes="all", sigma=near(P))),
        "principal_graph, edges": tree(core.principal_graph(P, n_nodes="all")),
        "principal_graph, near, edges": tree(whole),
        "principal_graph, near, 0.25, edges": tree(lighter(whole, 0.25)),
        f"principal_tree, {half} landmarks, near, position": by_position(
            core.principal_tree(P, n_nodes=half, sigma=near(P))
        ),
        f"principal_graph, {half} landmarks, position": by_position(core.principal_graph(P, n_nodes=half)),
        f"principal_graph, {half} landmarks, near, position": by_position(
            core.principal_graph(P, n_nodes=half, sigma=near(P))
        ),
        "PCA, angle": by_angle(P),
        "Isomap, angle": by_angle(Isomap(n_neighbors=3).fit_transform(X)),
        "t-SNE, angle": by_angle(TSNE(perplexity=5, method="exact", init="pca", random_state=0).fit_transform(X)),
    }
    return steps, whole, seconds


def programme(K, D, pairs):
    """Size of the linear programme of a round, for K nodes in D dimensions and so many pairs that may be joined."""
    rows = K * (D + 1)
    return {"rows": rows, "columns": pairs + 2 * rows, "nonzeros": 2 * pairs * (D + 1) + 2 * rows}


def shape(fit):
    """Whether the graph is a ring, its parts, and its long cycles."""
    graph = nx.Graph(fit.edges.tolist())
    graph.add_nodes_from(range(len(fit.nodes)))
    parts = nx.number_connected_components(graph)
    cycles = sorted((len(c) for c in nx.minimum_cycle_basis(graph)), reverse=True)
    long = [c for c in cycles if c > len(fit.nodes) / 4]
    ring = "yes" if parts == 1 and len(long) == 1 and long[0] >= 0.75 * len(fit.nodes) else "no"
    return {"ring": ring, "parts": parts, "cycles": len(cycles), "views in long ones": " ".join(map(str, long)) or "-"}


def one_by_one(objects, n_components):
    """Tables of the neighbours found, one row per method, and of the principal graphs, one row per object."""
    counts, graphs = {}, []
    for name, X in objects.items():
        steps_of, whole, seconds = methods(X, n_components)
        i = np.arange(len(X))
        for method, (steps, edges) in steps_of.items():
            apart = steps[i, (i + 1) % len(X)]
            counts.setdefault(method, {})[name] = (edges, np.sum(apart <= 1), np.sum(apart <= 2), len(X))
        fit = lighter(whole, 0.25)
        size = programme(*fit.nodes.shape, fit.params["n_candidates"])
        cost = {"rounds": fit.n_iter, "seconds per round": f"{seconds / (fit.n_iter + 1):.3f}"}
        graphs.append({"object": name, "edges": len(fit.edges)} | shape(fit) | size | cost)
    return [neighbours(method, of) for method, of in counts.items()], graphs


def neighbours(method, of):
    """A row of the table: mean number of edges, shares of the pairs found, and pairs found for every object."""
    edges, one, two, pairs = np.array(list(of.values())).sum(axis=0)
    shares = {"1 step": f"{one / pairs:.1%}", "2 steps": f"{two / pairs:.1%}"}
    return {"method": method, "edges": round(edges / len(of), 1)} | shares | {name: of[name][1] for name in of}


# All at once


def judged(what, edges, groups, seconds=None, rounds=None):
    """A row of the table: how a tree or graph over images (or nodes) goes with their groups."""
    inside = groups[edges[:, 0]] == groups[edges[:, 1]]
    links = sparse.csr_matrix((np.ones(inside.sum()), edges[inside].T), shape=(len(groups),) * 2)
    part = connected_components(links, directed=False)[1]
    pieces = pd.Series(part).groupby(groups).nunique()
    return {
        "what": what,
        "edges": len(edges),
        "within a group": f"{inside.mean():.1%}",
        "groups that hang together": f"{(pieces == 1).sum()} of {len(pieces)}",
        "rounds": "" if rounds is None else rounds,
        "seconds": "" if seconds is None else f"{seconds:.1f}",
    }


def annotated(X, y, word):
    """The images as AnnData, and what the methods take as data."""
    adata = ad.AnnData(np.zeros((len(X), 0)), obsm={"pixels": X, "standardised": standardised(X), "kernel": kernel(X)})
    adata.obs[word] = pd.Categorical([f"{i:02d}" for i in y])
    return adata


def together(adata, word, n_components, out):
    """Table of what joins images of one group, and pictures of the trees."""
    y, rows = adata.obs[word].to_numpy(), []
    for rep in adata.obsm:
        rows.append(judged(f"5 nearest, {rep}", nearest(adata.obsm[rep], 5), y))
        rows.append(judged(f"spanning tree, {rep}", spanning(adata.obsm[rep]), y))
    for rep in ("kernel", "standardised"):
        for method, fit, preset in (("drtree", st.tl.drtree, {}), ("ddrtree", st.tl.ddrtree, {"preset": "kdd2015"})):
            key = f"{method}_{rep}"
            began = time.perf_counter()
            fit(adata, n_components, use_rep=rep, lam=0.1 * adata.n_obs, tol=1e-3, key_added=key, **preset)
            seconds, fitted = time.perf_counter() - began, adata.uns[key]
            what = f"{method}, {rep}, d = {fitted['nodes'].shape[1]}"
            rows.append(judged(what, fitted["edges"], y, seconds, fitted["n_iter"]))
            picture(adata, key, out / f"images_{word}_{key}.png", word)
            print(f"{what}: {seconds:.0f} s", flush=True)
    return rows


def landmarks(adata, word, out):
    """A principal graph of all images in 10 components: rows for two tables, and a picture."""
    adata.obsm["X_pca"] = components(adata.obsm["pixels"], 10)
    began = time.perf_counter()
    st.tl.principal_graph(adata, n_nodes=LANDMARKS, tol=1e-3)
    seconds, fitted = time.perf_counter() - began, adata.uns["principal_graph"]
    share = adata.obsm["principal_graph_assignment"].T @ pd.get_dummies(adata.obs[word]).to_numpy(dtype=float)
    groups = adata.obs[word].cat.categories.to_numpy()[share.argmax(axis=1)]  # most of a landmark's images
    picture(adata, "principal_graph", out / f"images_{word}_principal_graph.png", word)
    what = f"principal_graph, {LANDMARKS} landmarks"
    parts = int(st.get.graph(adata, "principal_graph").component.max()) + 1
    size = programme(*fitted["nodes"].shape, fitted["params"]["n_candidates"])
    cost = {"rounds": fitted["n_iter"], "seconds per round": f"{seconds / (fitted['n_iter'] + 1):.2f}"}
    row = judged(what, fitted["edges"], groups, seconds, fitted["n_iter"])
    return row, {"what": what, "edges": len(fitted["edges"]), "parts": parts} | size | cost


# Pictures and tables


def picture(adata, key, file, groupby=None):
    ax = st.pl.adjacency(adata, key, groupby=groupby)
    ax.set_title(key)
    ax.figure.savefig(file, dpi=200, bbox_inches="tight")
    plt.close(ax.figure)


def ring(name, X, n_components, out):
    """Adjacency of all views of one object, in the order of the turn."""
    adata = ad.AnnData(np.zeros((len(X), 0)), obsm={"X_pca": components(X, n_components), "kernel": kernel(X)})
    sigma = near(adata.obsm["X_pca"])
    st.tl.principal_graph(adata, n_nodes="all", sigma=sigma, min_weight=0.25)
    st.tl.ddrtree(adata, use_rep="kernel", preset="kdd2015", **paper(len(X)))
    for key in ("principal_graph", "ddrtree"):
        picture(adata, key, out / f"images_ring_{name}_{key}.png")


def show(title, rows):
    table = pd.DataFrame(rows).astype(str)
    print(f"\n{title}\n")
    for line in (map(str, table.columns), ["---"] * table.shape[1], *table.to_numpy()):
        print("|", " | ".join(line), "|")


def read(file):
    with np.load(file) as archive:
        return archive["X"].astype(np.float64), archive["y"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--coil20", type=Path, metavar="FILE")
    parser.add_argument("--yaleb", type=Path, metavar="FILE")
    parser.add_argument("--objects", type=int, nargs="+", help="of COIL20, only these; default: all, then all at once")
    parser.add_argument("--components", type=int, default=10, help="for principal trees and graphs of one object")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), metavar="FOLDER")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore", module="sklearn")  # Isomap joins views that are in several parts
    if given.coil20:
        X, y = read(given.coil20)
        objects = {int(name): X[y == name] for name in given.objects or np.unique(y)}
        neighbours, graphs = one_by_one(objects, given.components)
        first = next(iter(objects))
        ring(first, objects[first], given.components, given.out)
        show("Neighbours on the turntable that are neighbours on what is learned; by object: of 72, 1 step", neighbours)
        show('Principal graphs of all views ("near", 0.25)', graphs)
        if not given.objects:
            adata = annotated(X, y, "object")
            rows = together(adata, "object", 0.95, given.out)
            row, graph = landmarks(adata, "object", given.out)
            show("COIL20: 20 objects at once", [*rows, row])
            show("Principal graph of all objects", [graph])
    if given.yaleb:
        X, y = read(given.yaleb)
        show("Faces: 38 persons", together(annotated(X, y, "person"), "person", FACES, given.out))


if __name__ == "__main__":
    main()
