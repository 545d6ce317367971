"""Counts of genes whose course along a tree is known."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pandas as pd

from samples import by_hand
from skeltraj import core, tl

FORK = ([[0, 0], [2, 0], [3.5, 1.2], [3.5, -1.5]], [[0, 1], [1, 2], [1, 3]])  # F1 is node 1, T2 node 3, T3 node 2


def comb(n_tips):
    """Nodes and edges of a tree with `n_tips` tips, the root's included, whose forks lie along a line."""
    nodes, edges, last = [[0.0, 0.0]], [], 0
    for i in range(n_tips - 2):
        nodes += [[1.5 * (i + 1), 0.0], [1.5 * (i + 1) + 0.4, (1.5 + 0.1 * i) * (-1) ** i]]
        edges += [[last, len(nodes) - 2], [len(nodes) - 2, len(nodes) - 1]]
        last = len(nodes) - 2
    return [*nodes, [1.5 * (n_tips - 1), 0.3]], [*edges, [last, len(nodes)]]


def cells_with_genes(tree=FORK, n=400, n_more=0, root=0, seed=0):
    """Ordered cells on a tree made by hand, with counts.

    The genes: "rise" and "fall" with pseudotime; "own", high beyond the first fork on its last branch; "even", the same
    everywhere; "none", never seen; and as many more as wanted, of random course. `obs` holds the true size "factor".
    """
    rng = np.random.default_rng(seed)
    nodes, edges = tree
    graph = core.Graph(np.array(nodes, dtype=float), np.array(edges))
    edge = rng.choice(len(edges), n, p=graph.edge_length / graph.edge_length.sum())
    points = core.Position(edge, rng.random(n), np.zeros(n)).places(graph)
    adata = by_hand(nodes, edges, points + 0.03 * rng.standard_normal((n, 2)))
    tl.order(adata, root=root)
    time = adata.obs["ddrtree_pseudotime"].to_numpy()
    share = time / time.max()
    last = adata.obs["ddrtree_branch"].cat.codes.to_numpy() == len(graph.branches) - 1
    course = {"rise": 3 * share, "fall": 3 - 3 * share, "own": 0.5 + 2.0 * last * share, "even": np.full(n, 2.0)}
    for i in range(n_more):
        course[f"more{i}"] = rng.normal() + 1.5 * np.sin(3 * share + rng.uniform(0, 6))
    factor = np.exp(rng.normal(0, 0.3, n))
    mean = factor[:, None] * np.exp(np.column_stack(list(course.values())))
    counts = np.column_stack([rng.negative_binomial(4, 1 / (1 + mean / 4)), np.zeros(n)])
    names = [*course, "none"]
    order = [*range(4), len(names) - 1, *range(4, len(names) - 1)]
    obs = adata.obs.assign(stage=pd.cut(time, 3, labels=["early", "middle", "late"]), factor=factor)
    var = pd.DataFrame(index=[names[i] for i in order])
    return ad.AnnData(counts[:, order].astype(np.float32), obs=obs, var=var, obsm=adata.obsm, uns=adata.uns)
