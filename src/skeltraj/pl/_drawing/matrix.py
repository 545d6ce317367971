"""Square matrices with a row for each node: the order of the nodes, and the frame around the matrix."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy import sparse

from skeltraj.core import Graph

from .values import Values


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
    one_block = np.array([0, n])
    if values is None:
        return np.arange(n), one_block, np.array([], dtype=int)
    if values.categories is None:
        known = np.isfinite(values.data)
        total = np.asarray(weights[known].sum(axis=0)).ravel()
        mean = np.divide(weights[known].T @ values.data[known], total, out=np.full(n, np.inf), where=total > 0)
        order = np.argsort(mean, kind="stable")
        bounds, codes = one_block, np.array([], dtype=int)
    else:
        known = values.data >= 0
        present = np.unique(values.data[known])
        share = np.asarray(weights[known].T @ pd.get_dummies(values.data[known]).to_numpy(dtype=np.float64))
        with_cells = np.flatnonzero(share.sum(axis=1) > 0)
        group = np.empty(n, dtype=present.dtype)
        group[with_cells] = present[share[with_cells].argmax(axis=1)]
        empty = np.setdiff1d(np.arange(n), with_cells)  # nodes without cells go with the nearest that has some
        if len(empty):
            group[empty] = group[graph.nearest_node(graph.nodes[empty], with_cells)]
        along_tree = np.empty(n, dtype=np.int64)
        along_tree[graph.depth_first(int(graph.tips[0]) if len(graph.tips) else 0)] = np.arange(n)
        order = np.lexsort((along_tree, group))
        codes, counts = np.unique(group, return_counts=True)
        bounds = np.r_[0, np.cumsum(counts)]
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    return place, bounds, codes


def frame_matrix(ax: Axes, bounds: np.ndarray, blocks: list[str], *, what: str, groupby: str | None) -> None:
    """Bounds and names of the blocks, the first row on top; the label of the axis says `what` the rows are."""
    n = bounds[-1]
    for bound in bounds[1:-1]:
        ax.axhline(bound - 0.5, color="#BBBBBB", linewidth=0.7, zorder=0)
        ax.axvline(bound - 0.5, color="#BBBBBB", linewidth=0.7, zorder=0)
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
