"""Soft and hard assignment of points to nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skeltraj.core._runtime import check
from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.lazy import loaded

from .exponential import exponentials
from .kdtree import DEPTH, KDTree, build, distance_to_box, distances_to, smallest
from .near_nodes import NO_LISTS, NearNodes, reach_of
from .select import sort

# The search for the nodes within reach gives up where a scan of all nodes is faster. The costs of a leaf of the k-d
# tree and of a node within reach are in nodes that could be scanned in that time (benchmarks/nodes.py). After a search
# that was given up, the next rows are scanned without one: 2, 4, ... up to this many.
_LEAF_COST = 240
_REACHED_COST = 80
_MAX_SKIPPED = 64
_MIN_INDEXED = 3000  # nodes from which on a k-d tree pays (benchmarks/nodes.py)
_ROWS_AT_ONCE = 4096  # that are filled in; chosen by eye
_LANES = 16  # numbers that vector instructions take at a time, some of them side by side
_SIZES = (10, 5)  # nodes of a run, see `_least_of_ten` and `_least_of_five`; chosen by eye

_TOTALS_AT_ONCE = 16  # whose product has one logarithm: of up to 10^19 nodes it is finite

NodeIndex = KDTree
_NO_HINTS = np.empty(0, dtype=np.int64)


class Entries(NamedTuple):
    """Some rows of an assignment, as in CSR.

    Parameters
    ----------
    indptr
        Where each row begins, (n + 1,).
    indices
        Numbers of nodes, ascending within a row.
    data
        Their weights, which sum to 1 in each row.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray

    def as_matrix(self, n_nodes: int) -> sparse.csr_matrix:
        """(n, K)."""
        indptr, indices, weights = self
        shape = len(indptr) - 1, n_nodes
        if indptr[-1] <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        return sparse.csr_matrix((weights, indices.astype(np.int32, copy=False), indptr), shape=shape)


class Assignment(NamedTuple):
    """Assignment of points to nodes and what it costs."""

    entries: Entries
    n_nodes: int
    cost: float  # sum over points of  sum_k R_ik ||z_i - c_k||^2 + sigma * sum_k R_ik log R_ik

    @property
    def weights(self) -> sparse.csr_matrix:
        """(n, K); rows sum to 1."""
        return self.entries.as_matrix(self.n_nodes)


def node_index(nodes: np.ndarray) -> NodeIndex | None:
    """What makes `assign` faster for many `nodes`, (K, d); None where they are too few.

    The dimensions do not matter here: a search that comes to cost more than a scan of all nodes is given up.
    """
    return build(nodes) if len(nodes) >= _MIN_INDEXED else None


def assign(
    points: np.ndarray, nodes: np.ndarray, sigma: float, index: NodeIndex | None = None, least_weight: float = 0.0
) -> Assignment:
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
    least_weight
        Weights below that share of their row's largest are left out. 0: those that change no digit.
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    *entries, cost = assigned(points, places_of(nodes, sigma, least_weight), index, NO_LISTS, _NO_HINTS)
    return Assignment(Entries(*entries), len(nodes), float(cost))


def nearest_nodes(
    points: np.ndarray,
    nodes: np.ndarray,
    index: NodeIndex | None = None,
    near: NearNodes | None = None,
    hints: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Number of the node nearest to each point, (n,), where `assign` puts it if `sigma` is 0, and its squared distance.

    `near` and `hints` as in `assigned`; None: there are none.
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    near = NO_LISTS if near is None else near
    hints = _NO_HINTS if hints is None else np.asarray(hints, dtype=np.int64)
    _, numbers, _, squared = _nodes_in_reach(points, places_of(nodes, 0.0), index, near, hints)
    return numbers[: len(points)], squared


class Places(NamedTuple):
    """Nodes as a scan of all of them finds those within reach.

    Parameters
    ----------
    columns
        Coordinates of the nodes, (d, n_places). Place ``s * n_runs + j`` holds the node number s of run j, so that
        vector instructions find the nearest of each run; those after the last node are infinitely far.
    n_runs
        The number of runs of nodes, which follow one another, among which they are parted.
    n_nodes
        K.
    sigma
        Of the assignment.
    reach
        How much farther than the nearest, squared, a node with a weight is at most.
    """

    columns: np.ndarray
    n_runs: int
    n_nodes: int
    sigma: float
    reach: float


def places_of(nodes: np.ndarray, sigma: float, least_weight: float = 0.0) -> Places:
    """What `assigned` takes for nodes, (K, d)."""
    n_nodes = len(nodes)
    # the longer runs, unless they leave more places empty
    n_runs, size = min(((_LANES * -(-n_nodes // (_LANES * size)), size) for size in _SIZES), key=math.prod)
    columns = _placed(np.asarray(nodes, dtype=np.float64), n_runs, size)
    return Places(columns, n_runs, n_nodes, float(sigma), reach_of(sigma, least_weight))


@compiled
def _placed(nodes: np.ndarray, n_runs: int, size: int) -> np.ndarray:
    """The columns of `Places`."""
    columns = np.full((nodes.shape[1], n_runs * size), np.inf)
    for k in range(len(nodes)):
        for a in range(nodes.shape[1]):
            columns[a, k % size * n_runs + k // size] = nodes[k, a]
    return columns


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
        block = loaded(block)
        if seen is not None:
            block = seen(block)
        elif sparse.issparse(block):
            block = block.toarray()
        block = check.finite(check.coordinates(block, "rows to be assigned", nodes.shape[1]), "rows to be assigned")
        parts.append(assign(block, nodes, sigma, index).weights)
    return sparse.csr_matrix(sparse.vstack(parts))


@compiled
def assigned(
    points: np.ndarray, places: Places, tree: KDTree | None, near: NearNodes, hints: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Assignment of points, (n, d), to nodes: the arrays of `Entries`, and what it costs.

    Parameters
    ----------
    points, places
        Points and nodes.
    tree, near
        What may make the search faster; they change no bit of the result. Of lists there may be `NO_LISTS`.
    hints
        For `near`: a node that may be near each point, (n,).
    """
    indptr, indices, weights, lows = _nodes_in_reach(points, places, tree, near, hints)
    used = indptr[-1]
    indices, weights = indices[:used], weights[:used]
    cost = lows.sum()
    if places.sigma > 0.0:
        exponentials(weights, places.sigma)
        cost -= places.sigma * _normalise(indptr, weights)
    return indptr, indices, weights, cost


# Compiled with a tree and without (None), where the branches that need it are left out.
@compiled
def _nodes_in_reach(
    points: np.ndarray, places: Places, tree: KDTree | None, near: NearNodes, hints: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Nodes at most `reach` farther than the nearest, by number, and how much farther they are, as in CSR.

    The last array is the nearest one's distance, (n,). Where `sigma` is 0 there is one node for each point, and 1.
    """
    n = len(points)
    columns, n_runs, n_nodes, sigma, reach = places
    n_places = columns.shape[1]
    size = n_places // n_runs
    distance = np.empty(n_places + 1)
    least, close = np.empty(n_runs + 1), np.empty(n_runs + 1, dtype=np.int64)
    bits, least_bits = distance.view(np.int64), least.view(np.int64)
    stack, bounds = np.empty(DEPTH, dtype=np.int64), np.empty(DEPTH)
    lows = np.empty(n)
    indptr = np.empty(n + 1, dtype=np.int64)
    indptr[0] = 0
    needed = n_places + 1  # room for one more point
    room = (4 * n if sigma > 0 else n) + needed
    indices, above = np.empty(room, dtype=np.int32), np.empty(room)
    used = 0
    skip, wait = 1, 0
    for i in range(n):
        z = points[i]
        if used + needed > room:  # grow to the size that the rows so far suggest
            room = max(used + needed, min(n * n_nodes, int(1.1 * n / (i + 1) * used)) + needed)
            more_indices, more_above = np.empty(room, dtype=np.int32), np.empty(room)
            for at in range(used):
                more_indices[at], more_above[at] = indices[at], above[at]
            indices, above = more_indices, more_above
        n_reached = -1
        low = 0.0
        if len(near.start) > 0:
            start = near.start[hints[i]]
            n_listed = near.start[hints[i] + 1] - start
            distances_to(z, near.columns, start, start + n_listed, distance)
            if distance[near.own[hints[i]]] <= near.most:
                low = smallest(distance, bits, n_listed)
                if sigma == 0.0:
                    s = 0
                    while distance[s] > low:
                        s += 1
                    indices[used] = near.numbers[start + s]
                    n_reached = 1
                else:
                    to = np.uint64(used)
                    for s in range(n_listed):
                        indices[to] = near.numbers[start + s]
                        above[to] = distance[s] - low
                        to += np.uint64(above[to] <= reach)
                    n_reached = int(to) - used
        if tree is not None:
            if wait > 0:
                wait -= 1
            else:
                n_reached, low = _nodes_in_reach_by_tree(
                    z, tree, reach, stack, bounds, distance, indices[used:], above[used:]
                )
                skip = min(2 * skip, _MAX_SKIPPED) if n_reached < 0 else 1
                wait = skip if n_reached < 0 else 0
        if n_reached < 0:
            distances_to(z, columns, np.int64(0), n_places, distance)
            if size == 10:
                _least_of_ten(bits, n_runs, least_bits)
            else:
                _least_of_five(bits, n_runs, least_bits)
            low = smallest(least, least_bits, n_runs)
            if sigma == 0.0:
                j = 0
                while least[j] > low:
                    j += 1
                s = 0
                while distance[s * n_runs + j] > low:
                    s += 1
                indices[used] = j * size + s
            else:
                # written always and kept by counting, so that there is no branch to mispredict
                n_close = 0
                for j in range(n_runs):
                    close[n_close] = j
                    n_close += least[j] - low <= reach
                to = np.uint64(used)
                for m in range(n_close):
                    j = close[m]
                    for s in range(size):
                        indices[to] = j * size + s
                        above[to] = distance[np.uint64(s * n_runs + j)] - low
                        to += np.uint64(above[to] <= reach)
                n_reached = int(to) - used
        if sigma == 0.0:  # of equally near ones the first
            above[used] = 1.0
            n_reached = 1
        used += n_reached
        lows[i] = low
        indptr[i + 1] = used
    return indptr, indices, above, lows


# Of runs of ten or five numbers, in every n-th place, the smallest. Numbers >= 0 have the order of the integers with
# the same bits, whose minimum the compiler vectorises.
@compiled
def _least_of_ten(bits: np.ndarray, n: int, least: np.ndarray) -> None:
    for j in range(n):
        a = min(min(bits[j], bits[n + j]), min(bits[2 * n + j], bits[3 * n + j]))
        b = min(min(bits[4 * n + j], bits[5 * n + j]), min(bits[6 * n + j], bits[7 * n + j]))
        least[j] = min(min(a, b), min(bits[8 * n + j], bits[9 * n + j]))


@compiled
def _least_of_five(bits: np.ndarray, n: int, least: np.ndarray) -> None:
    for j in range(n):
        a = min(min(bits[j], bits[n + j]), min(bits[2 * n + j], bits[3 * n + j]))
        least[j] = min(a, bits[4 * n + j])


@compiled
def _normalise(indptr: np.ndarray, weights: np.ndarray) -> float:
    """Bring the sum of each row to 1; returns the sum of the logarithms of what it was."""
    logarithms, product = 0.0, 1.0
    for i in range(len(indptr) - 1):
        total = 0.0
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        for at in range(first, last):
            total += weights[at]
        share = 1.0 / total if total > 0.0 else 0.0  # a row without nodes, where distances overflow
        for at in range(first, last):
            weights[at] *= share
        product *= total
        if i % _TOTALS_AT_ONCE == _TOTALS_AT_ONCE - 1:
            logarithms, product = logarithms + _logarithm(product), 1.0
    return logarithms + _logarithm(product)


@compiled
def _logarithm(x: float) -> float:
    return math.log(x) if x > 0.0 else -np.inf


@compiled
def _nodes_in_reach_by_tree(
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
    sort(reached, above, kept)
    return (kept if kept > 0 else -1), low  # none where distances overflow
