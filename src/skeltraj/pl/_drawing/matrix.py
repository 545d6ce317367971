"""Square matrices with a row for each node: the order of the nodes, and the frame around the matrix."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy import sparse

from skeltraj.core import Graph

from .panels import axes_size, in_lines
from .style import faded, ink
from .values import Values

# chosen by eye
_SIDE = 4.2  # inches, of a matrix
_NAME = 0.125  # inches for each name of a block
_LINE = 1.25  # height of a line, in that of its letters
_LETTERS = (6.0, 10.0)  # points


def node_places(
    graph: Graph, weights: sparse.csr_matrix, values: Values | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each node stands when nodes are ordered by the cells assigned to them; groups inside along the tree.

    Nodes without cells go with the nearest that has some; those none of whose cells has a group are last.

    Returns
    -------
    Place of each node, (n_nodes,); bounds of the groups' blocks, (n_groups + 1,); and the groups' codes, that of cells
    without a group being the number of categories. For numbers, and without values, there is one block.
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
        with_cells = np.asarray(weights.sum(axis=0)).ravel() > 0
        in_group = share.sum(axis=1) > 0
        group = np.full(n, len(values.categories), dtype=np.int64)
        group[in_group] = present[share[in_group].argmax(axis=1)]
        if not with_cells.all():
            group[~with_cells] = group[graph.nearest_node(graph.nodes[~with_cells], np.flatnonzero(with_cells))]
        order = np.lexsort((_along_tree(graph), group))
        bounds, codes = _blocks(group)
    return _place_of(order), bounds, codes


def cell_places(graph: Graph, node: np.ndarray, values: Values | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each cell stands when cells, each of which has a node of its own, are ordered by their values.

    As `node_places`; cells without a value are last. Cells of one group are ordered along the graph, others of the same
    value by their nodes.
    """
    n = len(node)
    if values is None or values.categories is None:
        order = np.lexsort((node,) if values is None else (node, values.data))
        return _place_of(order), np.array([0, n]), np.array([], dtype=int)
    group = np.where(values.data < 0, len(values.categories), values.data)
    order = np.lexsort((_along_tree(graph)[node], group))
    return _place_of(order), *_blocks(group)


def block_names(values: Values | None, codes: np.ndarray) -> list[str]:
    """Names of the blocks with these codes."""
    if values is None or values.categories is None:
        return []
    names = [*values.categories, values.na_name]
    return [names[i] for i in codes]


def _along_tree(graph: Graph) -> np.ndarray:
    """Place of each node along the tree, (n_nodes,)."""
    return _place_of(graph.depth_first(int(graph.tips[0]) if len(graph.tips) else 0))


def _place_of(order: np.ndarray) -> np.ndarray:
    """Where each item stands in an order, (n,)."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place


def _blocks(group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the blocks of sorted groups, and their codes."""
    codes, counts = np.unique(group, return_counts=True)
    return np.r_[0, np.cumsum(counts)], codes


def matrix_side(blocks: list[str]) -> float:
    """Width and height in inches of a matrix, beside which the names of its blocks have room."""
    return max(_SIDE, _NAME * len(blocks))


def frame_matrix(ax: Axes, bounds: np.ndarray, blocks: list[str], *, items: str, groupby: str | None) -> None:
    """Bounds and names of the blocks, the first row on top; the label of the axis says `items` the rows are.

    Names that would touch are moved apart, with lines to their blocks; those of the smallest blocks are left out if the
    Axes have no room for all.
    """
    n = bounds[-1]
    ax.grid(False)  # of scanpy's style
    for bound in bounds[1:-1]:
        ax.axhline(bound - 0.5, color=faded(ax, 0.4), linewidth=0.7, zorder=0)
        ax.axvline(bound - 0.5, color=faded(ax, 0.4), linewidth=0.7, zorder=0)
    ax.set_xlim(-0.5, n - 0.5)
    ax.set_ylim(n - 0.5, -0.5)
    label = items if groupby is None else f"{items} by {groupby}"
    ax.set_xlabel(in_lines(label, axes_size(ax)[0], plt.rcParams["axes.labelsize"]))
    if not blocks:
        ax.set_ylabel(items)
        return
    ax.set_xticks([])
    ax.tick_params(length=0)
    middles = (bounds[:-1] + bounds[1:]) / 2 - 0.5
    high = min(axes_size(ax))
    size = float(np.clip(72 * high / (_LINE * len(blocks)), *_LETTERS))
    gap = _LINE * size / 72 / high * n  # between two names, in rows
    kept = np.sort(np.argsort(-np.diff(bounds), kind="stable")[: max(int(n / gap), 1)])
    if len(kept) == len(blocks) and (np.diff(middles) >= gap).all():
        ax.set_yticks(middles, blocks, fontsize=size)
        return
    ax.set_yticks([])
    for at, place, i in zip(middles[kept], apart_by(middles[kept], gap, -0.5, n - 0.5), kept, strict=True):
        x = (-0.5, at)
        away = dict(xytext=(-0.14 / high, place), textcoords=ax.get_yaxis_transform())
        line = dict(arrowstyle="-", color=ink(), linewidth=0.5, shrinkA=0, shrinkB=0, relpos=(1, 0.5))
        ax.annotate(
            blocks[i], x, **away, fontsize=size, ha="right", va="center", annotation_clip=False, arrowprops=line
        )


def apart_by(wanted: np.ndarray, gap: float, low: float, high: float) -> np.ndarray:
    """Places at least `gap` from one another, in the order of the sorted places wanted and near them in least squares.

    What is `gap` less for each place before it must not fall: places that would are pooled at their mean (isotonic
    regression, Barlow et al. 1972). All lie between `low` and `high`, half a `gap` within, if they fit.
    """
    steps = gap * np.arange(len(wanted))
    sums: list[float] = []
    counts: list[int] = []
    for value in wanted - steps:
        sums.append(float(value))
        counts.append(1)
        while len(sums) > 1 and sums[-2] / counts[-2] >= sums[-1] / counts[-1]:
            total, count = sums.pop(), counts.pop()
            sums[-1] += total
            counts[-1] += count
    level = np.repeat(np.divide(sums, counts), counts)
    first, last = low + gap / 2, high - gap / 2 - steps[-1]
    return np.clip(level, min(first, last), max(first, last)) + steps
