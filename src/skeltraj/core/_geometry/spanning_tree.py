"""Exact minimum spanning trees of points."""

from __future__ import annotations

import numpy as np

from skeltraj.core._runtime.compile import compiled

from .edges import in_order
from .kdtree import DEPTH, KDTree, build, distance_to_box, distances_to, smallest


def spanning_tree(points: np.ndarray) -> np.ndarray:
    """Minimum spanning tree of the complete graph of squared Euclidean distances.

    Of equally long edges the one with the smaller first end comes first, then the one with the smaller second end. In
    this order no two edges are equal, so there is one minimum spanning tree, whatever coincides or ties, and both
    methods find it: Prim's in O(K^2 d) time, and Boruvka's on a k-d tree, faster for many points in few dimensions.
    O(K d) memory.

    Parameters
    ----------
    points
        (K, d).

    Returns
    -------
    Edges, (K - 1, 2), each with its smaller end first, in lexicographic order.
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    if not _prefers_boruvka(points):
        edges: np.ndarray = _prim(points)
        return edges
    edges = np.sort(_boruvka(build(points)), axis=1)
    return edges[in_order(edges)]


def _prefers_boruvka(points: np.ndarray) -> bool:
    """Whether Boruvka's method is the faster one (benchmarks/nodes.py)."""
    n, d = points.shape
    return d <= 7 and n >= 5000 * max(d, 2)


# The edges are put in order here too, since threads wait for the interpreter after each kernel, which counts if trees
# are small.
@compiled
def _prim(points: np.ndarray) -> np.ndarray:
    n, d = points.shape
    columns = np.empty((d, n))
    for i in range(n):
        for j in range(d):
            columns[j, i] = points[i, j]
    edges = np.empty((n - 1, 2), dtype=np.int64)
    # The points outside the tree are kept without gaps: the last takes the place of the one that joined. `columns`, the
    # coordinates of all points, is rearranged alike, so that each coordinate of the points left stays contiguous.
    waiting = np.empty(n, dtype=np.int64)
    nearest = np.empty(n, dtype=np.int64)
    best = np.empty(n)
    bits = best.view(np.int64)
    distance = np.empty(n)
    for w in range(n):
        waiting[w], nearest[w], best[w] = w, 0, np.inf
    at = new = 0
    for e in range(n - 1):
        left = n - 1 - e
        waiting[at], nearest[at], best[at] = waiting[left], nearest[left], best[left]
        for j in range(d):
            columns[j, at] = columns[j, left]
        distances_to(points[new], columns, np.int64(0), left, distance)
        for w in range(left):
            # edges that share an end are ordered by their other ends
            closer = (distance[w] < best[w]) | ((distance[w] == best[w]) & (new < nearest[w]))
            best[w] = distance[w] if closer else best[w]
            nearest[w] = new if closer else nearest[w]
        low = smallest(best, bits, left)  # overwrites best[left], which is not used any more
        at, low_i, low_j = 0, n, n
        for w in range(left):
            if best[w] == low:
                i, j = min(waiting[w], nearest[w]), max(waiting[w], nearest[w])
                if i < low_i or (i == low_i and j < low_j):
                    at, low_i, low_j = w, i, j
        new = waiting[at]
        edges[e, 0] = min(nearest[at], new)
        edges[e, 1] = max(nearest[at], new)
    # In order: by counting how many have each smaller end, then one by one among these, which are few in most trees.
    stop = np.zeros(n + 1, dtype=np.int64)
    for e in range(n - 1):
        stop[edges[e, 0] + 1] += 1
    for i in range(n):
        stop[i + 1] += stop[i]
    first = stop.copy()
    rising = np.empty_like(edges)
    for e in range(n - 1):
        low, high = edges[e, 0], edges[e, 1]
        to = stop[low]
        stop[low] += 1
        while to > first[low] and rising[to - 1, 1] > high:
            rising[to, 1] = rising[to - 1, 1]
            to -= 1
        rising[stop[low] - 1, 0], rising[to, 1] = low, high
    return rising


# In each round every component is joined to another by the first edge, in the order above, that leaves it. What is
# known of a point's first edge to another component serves the next round as well. While that edge leaves the component
# it is still the first one, since components only grow. Once it no longer does, it is a lower bound for the point's
# next one.
@compiled
def _boruvka(tree: KDTree) -> np.ndarray:
    number, start, stop = tree.order, tree.start, tree.stop
    n, n_boxes = len(number), len(start)
    edges = np.empty((n - 1, 2), dtype=np.int64)
    place = np.empty(n, dtype=np.int64)  # of each point in the tree's order
    # From here on p stands for a point's place in the tree's order; i < j, the ends of edges, are numbers of points.
    group = np.empty(n, dtype=np.int64)  # component: the place of one of its points
    parent = np.empty(n, dtype=np.int64)  # the union of a component with others
    inside = np.empty(n_boxes, dtype=np.int64)  # the component that a box lies wholly in, or -1
    length = np.empty(n)
    ends = np.empty((n, 2), dtype=np.int64)  # each point's first edge, or a bound to it
    first = np.empty(n)
    first_ends = np.empty((n, 2), dtype=np.int64)  # those of the components
    for p in range(n):
        place[number[p]] = group[p] = parent[p] = p
        length[p], ends[p, 0], ends[p, 1] = 0.0, -1, -1
    z = np.empty(tree.columns.shape[0])
    stack, bounds, distance = np.empty(DEPTH, dtype=np.int64), np.empty(DEPTH), np.empty(n + 1)
    n_edges = 0
    while n_edges < n - 1:
        for b in range(n_boxes - 1, -1, -1):
            if 2 * b + 1 < n_boxes:
                left, right = inside[2 * b + 1], inside[2 * b + 2]
                inside[b] = left if left == right else -1
            else:
                inside[b] = group[start[b]]
                for p in range(start[b] + 1, stop[b]):
                    if group[p] != inside[b]:
                        inside[b] = -1
        for p in range(n):
            first[p], first_ends[p, 0], first_ends[p, 1] = np.inf, n, n
        for p in range(n):
            if _leaves(number, place, group, ends, p):
                _take(first, first_ends, group[p], length[p], ends[p, 0], ends[p, 1])
        for p in range(n):
            g = group[p]
            if _leaves(number, place, group, ends, p) or not _before(
                length[p], ends[p, 0], ends[p, 1], first[g], first_ends[g, 0], first_ends[g, 1]
            ):
                continue
            for j in range(len(z)):
                z[j] = tree.columns[j, p]
            _search(tree, p, z, group, inside, first, first_ends, stack, bounds, distance)
            length[p], ends[p, 0], ends[p, 1] = first[g], first_ends[g, 0], first_ends[g, 1]
        before = n_edges
        for g in range(n):
            if first_ends[g, 0] < n and group[g] == g:
                a = _root(parent, group[place[first_ends[g, 0]]])
                b = _root(parent, group[place[first_ends[g, 1]]])
                if a != b:  # otherwise the other component chose the same edge
                    parent[b] = a
                    edges[n_edges, 0], edges[n_edges, 1] = first_ends[g, 0], first_ends[g, 1]
                    n_edges += 1
        if n_edges == before:
            raise ValueError("Points without distances (NaN) have no spanning tree.")
        for p in range(n):
            group[p] = _root(parent, group[p])
    return edges


@compiled
def _root(parent: np.ndarray, g: int) -> int:
    while parent[g] != g:
        parent[g] = parent[parent[g]]
        g = parent[g]
    return g


@compiled
def _before(length: float, i: int, j: int, other: float, other_i: int, other_j: int) -> bool:
    """The order of the edges."""
    return length < other or (length == other and (i < other_i or (i == other_i and j < other_j)))


@compiled
def _take(first: np.ndarray, first_ends: np.ndarray, g: int, length: float, i: int, j: int) -> None:
    """Note an edge that leaves component `g` if it comes before what was noted."""
    if _before(length, i, j, first[g], first_ends[g, 0], first_ends[g, 1]):
        first[g], first_ends[g, 0], first_ends[g, 1] = length, i, j


@compiled
def _leaves(number: np.ndarray, place: np.ndarray, group: np.ndarray, ends: np.ndarray, p: int) -> bool:
    """Whether what is known of point `p` is an edge of its own, and that leaves the component."""
    i, j = ends[p, 0], ends[p, 1]
    if number[p] == i:
        return group[place[j]] != group[p]
    return number[p] == j and group[place[i]] != group[p]


@compiled
def _search(
    tree: KDTree,
    p: int,
    z: np.ndarray,
    group: np.ndarray,
    inside: np.ndarray,
    first: np.ndarray,
    first_ends: np.ndarray,
    stack: np.ndarray,
    bounds: np.ndarray,
    distance: np.ndarray,
) -> None:
    """Note point `p`'s first edge to another component if it comes before what its component has."""
    n_boxes = len(tree.start)
    g, number = group[p], tree.order[p]
    stack[0], bounds[0] = 0, 0.0
    depth = 1
    while depth > 0:
        depth -= 1
        box, bound = stack[depth], bounds[depth]
        while inside[box] != g:
            # no edge from here into the box comes before this one
            i, j = min(number, tree.least[box]), max(number, tree.least[box])
            if not _before(bound, i, j, first[g], first_ends[g, 0], first_ends[g, 1]):
                break
            if 2 * box + 1 >= n_boxes:
                start, stop = tree.start[box], tree.stop[box]
                distances_to(z, tree.columns, start, stop, distance)
                for q in range(start, stop):
                    if distance[q - start] <= first[g] and group[q] != g:
                        i, j = min(number, tree.order[q]), max(number, tree.order[q])
                        _take(first, first_ends, g, distance[q - start], i, j)
                break
            near, far = 2 * box + 1, 2 * box + 2
            bound = distance_to_box(z, tree.lower, tree.upper, near)
            other = distance_to_box(z, tree.lower, tree.upper, far)
            if other < bound or (other == bound and tree.least[far] < tree.least[near]):
                near, far, bound, other = far, near, other, bound
            stack[depth], bounds[depth] = far, other
            depth += 1
            box = near
