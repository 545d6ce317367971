"""Where nodes and cells stand when a tree is unfolded; arrays only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skeltraj.core import Graph

_N_BINS = 60  # along the tree, in each of which the cells are spread by their number; chosen by eye


@dataclass(frozen=True)
class Unfolded:
    """A rooted tree laid flat: every stretch between forks is horizontal, none crosses another.

    Parameters
    ----------
    height
        Of each node; NaN for nodes that the root does not reach.
    edge_height
        Of the stretch that each edge lies on.
    stretches
        Horizontal lines as (from length, to length, height), one per stretch.
    risers
        Vertical lines as (length, from height, to height), one per fork.
    """

    height: np.ndarray
    edge_height: np.ndarray
    stretches: np.ndarray
    risers: np.ndarray


def unfold(graph: Graph, root: int, length: np.ndarray) -> Unfolded:
    """Lay a tree flat: tips at whole heights in depth-first order, forks midway between their stretches.

    Parameters
    ----------
    graph
        The tree.
    root
        A node.
    length
        Path length from the root to each node, (n_nodes,).
    """
    order, parent = graph.breadth_first(root)
    children: dict[int, list[int]] = {int(v): [] for v in order}
    for v in order[1:]:
        children[int(parent[v])].append(int(v))
    farthest = length.copy()
    for v in order[:0:-1]:
        farthest[parent[v]] = max(farthest[parent[v]], farthest[v])
    for below in children.values():
        below.sort(key=lambda v: (farthest[v], v))  # the long way last, so that it runs along the top

    height = np.full(graph.n_nodes, np.nan)
    next_tip = 0
    stack = [(root, False)]
    while stack:
        v, done = stack.pop()
        below = children[v]
        if not below:
            height[v] = next_tip
            next_tip += 1
        elif done:
            height[v] = height[below[0]] if len(below) == 1 else (height[below[0]] + height[below[-1]]) / 2
        else:
            stack.append((v, True))
            stack.extend((c, False) for c in reversed(below))

    a, b = graph.edges[:, 0], graph.edges[:, 1]
    lower = np.where(parent[b] == a, b, a)  # the end away from the root carries the stretch's height
    stretches, risers = [], []
    for v, below in children.items():
        if len(below) > 1:
            risers.append((length[v], height[below[0]], height[below[-1]]))
        if v == root or len(below) != 1:
            for first in below:
                last = first
                while len(children[last]) == 1:
                    last = children[last][0]
                stretches.append((length[v], length[last], height[first]))
    return Unfolded(height, height[lower], np.array(stretches).reshape(-1, 3), np.array(risers).reshape(-1, 3))


def spread(at: np.ndarray, lane: np.ndarray, width: float) -> np.ndarray:
    """Offsets across each lane, wider where points are dense, evenly filled and the same every time.

    Parameters
    ----------
    at
        Place along the lane, (n,).
    lane
        Lane of each point, (n,).
    width
        Largest offset.
    """
    offset = np.zeros(len(at))
    if not len(at):
        return offset
    span = np.ptp(at) or 1.0
    bins = np.clip(((at - at.min()) / span * _N_BINS).astype(np.int64), 0, _N_BINS - 1)
    lanes, lane_code = np.unique(lane, return_inverse=True)
    cell = lane_code * _N_BINS + bins
    count = np.bincount(cell, minlength=len(lanes) * _N_BINS)
    most = max(np.quantile(count[count > 0], 0.95), 1.0)
    filling = _van_der_corput(count.max()) - 0.5
    order = np.lexsort((at, cell))
    first = np.cumsum(count) - count  # of each cell, in that order
    inside = cell[order]
    rank = np.arange(len(at)) - first[inside]
    offset[order] = 2 * width * filling[rank] * np.minimum(1.0, np.sqrt(count / most))[inside]
    return offset


def _van_der_corput(n: int) -> np.ndarray:
    """1/2, 1/4, 3/4, 1/8, ...: successive values are far apart, and any number of them fills [0, 1] evenly."""
    from scipy.stats.qmc import Halton  # slow to import

    return Halton(1, scramble=False).fast_forward(1).random(n).ravel()
