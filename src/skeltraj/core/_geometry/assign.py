"""Soft and hard assignment of points to nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skeltraj.core._runtime import check
from skeltraj.core._runtime.compile import compiled

from .kdtree import DEPTH, KDTree, build, distance_to_box, distances_to, smallest

# Weights below exp(-37), 9e-17 of their row's largest, are left out: they change no sum of double precision numbers.
_MAX_EXPONENT = 37.0
# The search for the nodes within reach gives up where a scan of all nodes is faster. The costs of a leaf of the k-d
# tree and of a node within reach are in nodes that could be scanned in that time (benchmarks/nodes.py). After a search
# that was given up, the next rows are scanned without one: 2, 4, ... up to so many.
_LEAF_COST = 120
_REACHED_COST = 40
_MAX_SKIPPED = 64
_MIN_INDEXED = 1500  # nodes from which on a k-d tree pays (benchmarks/nodes.py)
_ROWS_AT_ONCE = 4096  # that are filled in; chosen by eye

NodeIndex = KDTree


class Assignment(NamedTuple):
    """Assignment of points to nodes and what it costs."""

    weights: sparse.csr_matrix  # (n, K); rows sum to 1
    cost: float  # sum over points of  sum_k R_ik ||z_i - c_k||^2 + sigma * sum_k R_ik log R_ik


def node_index(nodes: np.ndarray) -> NodeIndex | None:
    """What makes `assign` faster for many `nodes`, (K, d); None where they are too few.

    The dimensions do not matter here: a search that comes to cost more than a scan of all nodes is given up.
    """
    return build(nodes) if len(nodes) >= _MIN_INDEXED else None


def assign(points: np.ndarray, nodes: np.ndarray, sigma: float, index: NodeIndex | None = None) -> Assignment:
    """Assignment that minimises the quantisation error with entropy weight `sigma`.

    Soft: ``R_ik = exp(-||z_i - c_k||^2 / sigma)``, normalised by row (KDD 2015, eq. 12), shifted by the row's
    smallest distance so that no row underflows. ``sigma = 0`` is the limit: 1 at the nearest node (the first of
    equally near ones), 0 elsewhere. At this optimum the cost of a row is ``-sigma log sum_k exp(-||z_i - c_k||^2 /
    sigma)``.

    Parameters
    ----------
    points
        (n, d).
    nodes
        (K, d).
    sigma
        In squared units of the data, >= 0.
    index
        ``node_index(nodes)``. Changes the time that it takes, not a bit of the result. May be used by several threads
        at once.
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    columns = np.ascontiguousarray(nodes.T, dtype=np.float64)  # one coordinate of all nodes in a row: vectorises
    indptr, indices, weights, cost = _assign(points, columns, float(sigma), _MAX_EXPONENT * float(sigma), index)
    shape = (len(points), len(nodes))
    used = indptr[-1]
    return Assignment(sparse.csr_matrix((weights[:used], indices[:used], indptr), shape=shape), cost)


def assign_rows(
    X: Any, nodes: np.ndarray, sigma: float, seen: Callable[[Any], np.ndarray] | None = None
) -> sparse.csr_matrix:
    """Assignment of the rows of a matrix, dense, sparse or dask, (n, d), to nodes, as `assign` finds it.

    `seen` makes of some rows what the nodes were fitted to.

    Raises
    ------
    TypeError, ValueError
        If rows are not finite numbers, or have not as many columns as the nodes.
    """
    index = node_index(nodes)
    parts = []
    for i in range(0, X.shape[0], _ROWS_AT_ONCE):
        block = X[i : i + _ROWS_AT_ONCE]
        block = block.compute() if hasattr(block, "compute") else block
        if seen is not None:
            block = seen(block)
        elif sparse.issparse(block):
            block = block.toarray()
        block = check.finite(check.coordinates(block, "rows to be assigned", nodes.shape[1]), "rows to be assigned")
        parts.append(assign(block, nodes, sigma, index).weights)
    return sparse.csr_matrix(sparse.vstack(parts))


# Compiled twice: without a tree (None), the branches that need one are left out.
@compiled
def _assign(
    points: np.ndarray, columns: np.ndarray, sigma: float, reach: float, tree: KDTree | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    n = len(points)
    n_nodes = columns.shape[1]
    distance = np.empty(n_nodes + 1)
    reached = np.empty(n_nodes + 1, dtype=np.int32)
    above = np.empty(n_nodes + 1)
    stack, bounds = np.empty(DEPTH, dtype=np.int64), np.empty(DEPTH)
    indptr = np.empty(n + 1, dtype=np.int32)
    indptr[0] = 0
    room = 4 * n if sigma > 0 else n
    indices = np.empty(room, dtype=np.int32)
    weights = np.empty(room)
    used = 0
    cost = 0.0
    skip, wait = 1, 0
    for i in range(n):
        z = points[i]
        n_reached = -1
        low = 0.0
        if tree is not None:
            if wait > 0:
                wait -= 1
            else:
                n_reached, low = _within(z, tree, reach, stack, bounds, distance, reached, above)
                skip = min(2 * skip, _MAX_SKIPPED) if n_reached < 0 else 1
                wait = skip if n_reached < 0 else 0
        if n_reached < 0:
            distances_to(z, columns, 0, n_nodes, distance)
            low = smallest(distance, n_nodes)
            n_reached = 0
            if sigma == 0.0:
                while distance[n_reached] > low:
                    n_reached += 1
                reached[0] = n_reached
            else:
                # written always and kept by counting, so that there is no branch to mispredict
                for k in range(n_nodes):
                    reached[n_reached] = k
                    above[n_reached] = distance[k] - low
                    n_reached += above[n_reached] <= reach
        if sigma == 0.0:
            indices[used] = reached[0]
            weights[used] = 1.0
            used += 1
            cost += low
        else:
            if used + n_reached > room:  # grow to the size that the rows so far suggest
                room = max(used + n_reached, min(n * n_nodes, int(1.1 * n / (i + 1) * (used + n_reached)) + n_nodes))
                more_indices, more_weights = np.empty(room, dtype=np.int32), np.empty(room)
                for at in range(used):
                    more_indices[at], more_weights[at] = indices[at], weights[at]
                indices, weights = more_indices, more_weights
            total = 0.0
            for at in range(n_reached):
                weight = np.exp(-above[at] / sigma)
                indices[used + at] = reached[at]
                weights[used + at] = weight
                total += weight
            for at in range(used, used + n_reached):
                weights[at] /= total
            used += n_reached
            cost += low - sigma * np.log(total)
        indptr[i + 1] = used
    return indptr, indices, weights, cost


@compiled
def _within(
    z: np.ndarray,
    tree: KDTree,
    reach: float,
    stack: np.ndarray,
    bounds: np.ndarray,
    distance: np.ndarray,
    reached: np.ndarray,
    above: np.ndarray,
) -> tuple[int, float]:
    """Nodes at most `reach` farther than the nearest, by number, and how much farther they are.

    Returns how many and the nearest one's distance; or -1 for how many where a scan of all nodes is faster or needed.
    """
    n_boxes = len(tree.start)
    low = np.inf
    n_reached = n_leaves = 0
    stack[0], bounds[0] = 0, 0.0
    depth = 1
    while depth > 0:
        depth -= 1
        box, bound = stack[depth], bounds[depth]
        if bound - low > reach:
            continue
        while 2 * box + 1 < n_boxes:  # down to the nearest leaf in the box
            near, far = 2 * box + 1, 2 * box + 2
            bound = distance_to_box(z, tree.lower, tree.upper, near)
            other = distance_to_box(z, tree.lower, tree.upper, far)
            if other < bound:
                near, far, bound, other = far, near, other, bound
            if not other - low > reach:
                stack[depth], bounds[depth] = far, other
                depth += 1
            box = near
            if bound - low > reach:
                break
        if bound - low > reach:
            continue
        if _LEAF_COST * n_leaves + _REACHED_COST * n_reached > len(tree.order):
            return -1, low
        n_leaves += 1
        start = tree.start[box]
        n = tree.stop[box] - start
        distances_to(z, tree.columns, start, start + n, distance)
        nearest = distance[0]
        for k in range(1, n):
            nearest = min(nearest, distance[k])
        low = min(low, nearest)
        if nearest - low > reach:
            continue
        for k in range(n):
            reached[n_reached] = tree.order[start + k]
            above[n_reached] = distance[k]
            n_reached += distance[k] - low <= reach
    kept = 0
    for at in range(n_reached):  # some were within reach of a `low` that has fallen since
        reached[kept] = reached[at]
        above[kept] = above[at] - low
        kept += above[kept] <= reach
    _sort(reached, above, kept)
    return (kept if kept > 0 else -1), low  # none where distances overflow


@compiled
def _sort(keys: np.ndarray, values: np.ndarray, n: int) -> None:
    """Sort the first `n` pairs by key: Shell's method, which for a few is insertion."""
    gap = 1
    while 3 * gap < n:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            key, value = keys[i], values[i]
            j = i
            while j >= gap and keys[j - gap] > key:
                keys[j], values[j] = keys[j - gap], values[j - gap]
                j -= gap
            keys[j], values[j] = key, value
        gap //= 3
