from __future__ import annotations

import numpy as np
import pandas as pd
from anndata import AnnData
from matplotlib.axes import Axes
from scipy import sparse
from scipy.spatial import cKDTree

from skeltraj import get
from skeltraj.core import Graph

from . import _draw
from ._values import Values, values_of


def adjacency(adata: AnnData, key: str = "ddrtree", *, groupby: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the adjacency of the tree's nodes as a matrix (KDD 2015, Figs 4b and 5b).

    Parameters
    ----------
    adata
        Annotated data with a fitted skeleton.
    key
        `key_added` of the fit.
    groupby
        Column of `obs` by which to order the nodes. Groups: each node goes to the group with the largest share of the
        cells assigned to it, groups in order, blocks marked. Numbers: by the weighted mean of its cells. None: as
        stored (by cell, with one node per cell).
    ax
        Axes to draw on.

    Returns
    -------
    The Axes.
    """
    tree = get.graph(adata, key)
    if groupby is not None and groupby in adata.obs and adata.obs[groupby].isna().all():
        raise ValueError(f"adata.obs[{groupby!r}] is missing for all {adata.n_obs} cells; wanted values.")
    weights = get.assignment(adata, key)
    values = None if groupby is None else values_of(adata, groupby, argument="groupby")
    place, bounds, codes = node_places(tree, weights, values)
    blocks = [values.categories[i] for i in codes] if values is not None and values.categories is not None else []
    [ax] = _draw.panels(1, ax=ax, three=False, ncols=1, width=5.0, height=4.6)
    a, b = place[tree.edges].T
    side = 280 / tree.n_nodes  # points per entry, about, at this size
    ax.scatter(np.r_[a, b], np.r_[b, a], marker="s", s=max(side, 1.6) ** 2, color=_draw.TREE, linewidths=0)
    frame_matrix(ax, bounds, blocks, what="nodes", groupby=groupby)
    return ax


def frame_matrix(ax: Axes, bounds: np.ndarray, blocks: list[str], *, what: str, groupby: str | None) -> None:
    """Bounds and names of the blocks of a square matrix, its first row on top; `what` its rows are, and by what sorted."""
    n = bounds[-1]
    for edge in bounds[1:-1]:
        ax.axhline(edge - 0.5, color="#BBBBBB", linewidth=0.7, zorder=0)
        ax.axvline(edge - 0.5, color="#BBBBBB", linewidth=0.7, zorder=0)
    ax.set_xlim(-0.5, n - 0.5)
    ax.set_ylim(n - 0.5, -0.5)
    ax.set_aspect("equal")
    ax.set_xlabel(what if groupby is None else f"{what} by {groupby}")
    if blocks:
        ax.set_yticks((bounds[:-1] + bounds[1:]) / 2 - 0.5, blocks)
        ax.set_xticks([])
        ax.tick_params(length=0, labelsize=min(10.0, 240 / len(blocks)))  # so that names of many groups fit
    else:
        ax.set_ylabel(what)


def node_places(
    graph: Graph, weights: sparse.csr_matrix, values: Values | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each node stands when nodes are ordered by the cells assigned to them; groups inside along the tree.

    Returns
    -------
    Place of each node, (n_nodes,); bounds of the groups' blocks, (n_groups + 1,); and the groups' codes. For numbers,
    and without values, there is one block.
    """
    n = weights.shape[1]
    whole = np.array([0, n])
    if values is None:
        return np.arange(n), whole, np.array([], dtype=int)
    if values.categories is None:
        known = np.isfinite(values.data)
        total = np.asarray(weights[known].sum(axis=0)).ravel()
        mean = np.divide(weights[known].T @ values.data[known], total, out=np.full(n, np.inf), where=total > 0)
        order = np.argsort(mean, kind="stable")
        bounds, codes = whole, np.array([], dtype=int)
    else:
        known = values.data >= 0
        share = weights[known].T @ pd.get_dummies(values.data[known]).to_numpy(dtype=np.float64)
        present = np.unique(values.data[known])
        share = np.asarray(share)
        held = np.flatnonzero(share.sum(axis=1) > 0)
        group = np.empty(n, dtype=present.dtype)
        group[held] = present[share[held].argmax(axis=1)]
        empty = np.setdiff1d(np.arange(n), held)  # nodes without cells go with the nearest that has some
        if len(empty):
            group[empty] = group[held[cKDTree(graph.nodes[held]).query(graph.nodes[empty])[1]]]
        along = np.empty(n, dtype=np.int64)
        along[graph.depth_first(int(graph.tips[0]) if len(graph.tips) else 0)] = np.arange(n)
        order = np.lexsort((along, group))
        codes, counts = np.unique(group, return_counts=True)
        bounds = np.r_[0, np.cumsum(counts)]
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    return place, bounds, codes
