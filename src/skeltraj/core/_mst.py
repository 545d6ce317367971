"""Exact minimum spanning trees of points."""

from __future__ import annotations

import numpy as np
from numba import njit


def spanning_tree(points: np.ndarray) -> np.ndarray:
    """Minimum spanning tree of the complete graph of squared Euclidean distances.

    Prim's algorithm without a distance matrix: O(K^2 d) time, O(K) memory. Coincident points are joined by edges of
    length zero, so the answer is a tree whatever the ties; among equal edges the choice depends on the order of the
    points alone.

    Parameters
    ----------
    points
        (K, d).

    Returns
    -------
    Edges, (K - 1, 2), each with its smaller end first, in lexicographic order.
    """
    edges = np.sort(_prim(np.ascontiguousarray(points, dtype=np.float64)), axis=1)
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]


@njit(cache=True, nogil=True)
def _prim(points: np.ndarray) -> np.ndarray:
    n, d = points.shape
    edges = np.empty((n - 1, 2), dtype=np.int64)
    waiting = np.arange(1, n)  # the points outside the tree, kept without holes
    nearest = np.zeros(n, dtype=np.int64)
    best = np.full(n, np.inf)
    new = 0
    for e in range(n - 1):
        left = n - 1 - e
        at, low = 0, np.inf
        for w in range(left):
            v = waiting[w]
            distance = 0.0
            for j in range(d):
                difference = points[v, j] - points[new, j]
                distance += difference * difference
            if distance < best[v]:
                best[v] = distance
                nearest[v] = new
            if best[v] < low or (best[v] == low and v < waiting[at]):
                low = best[v]
                at = w
        new = waiting[at]
        edges[e, 0] = nearest[new]
        edges[e, 1] = new
        waiting[at] = waiting[left - 1]
    return edges
