"""A balanced k-d tree, for kernels that look for near points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skeltraj.core._runtime.compile import compiled

from .select import select

# Most points of a leaf: 8 is slower in few dimensions, 32 as fast (benchmarks/nodes.py --leaf 8 16 32).
_LEAF_SIZE = 16
# Room for the stack of a search, which holds at most one box for each level.
DEPTH = 64


class KDTree(NamedTuple):
    """Points in halves of halves, each half in its bounding box.

    Boxes are numbered as in a heap: 0 holds all points, `b` is split into ``2 b + 1`` and ``2 b + 2``, and the leaves,
    all at the same depth, come last. The points of a box stand next to each other.

    Parameters
    ----------
    order
        Numbers of the points in the order of the tree, (K,).
    columns
        Their coordinates in that order, (d, K): one coordinate of the points of a leaf is contiguous.
    start, stop
        Where the points of each box begin and end, (n_boxes,).
    lower, upper
        Corners of each box, (n_boxes, d).
    least
        Smallest number of a point in each box, (n_boxes,).
    """

    order: np.ndarray
    columns: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    least: np.ndarray


def build(points: np.ndarray) -> KDTree:
    """The tree of `points`, (K, d), K >= 1; O(K d log K) time, O(K d) memory."""
    points = np.ascontiguousarray(points, dtype=np.float64)
    order, start, stop, lower, upper, least = _build(points, _LEAF_SIZE)
    return KDTree(order, np.ascontiguousarray(points[order].T), start, stop, lower, upper, least)


@compiled
def _build(
    points: np.ndarray, leaf: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    n, d = points.shape
    n_leaves = 1
    while n_leaves * leaf < n:
        n_leaves *= 2
    n_boxes = 2 * n_leaves - 1
    order = np.empty(n, dtype=np.int64)
    for i in range(n):
        order[i] = i
    along = np.empty(n)
    start = np.empty(n_boxes, dtype=np.int64)
    stop = np.empty(n_boxes, dtype=np.int64)
    lower = np.empty((n_boxes, d))
    upper = np.empty((n_boxes, d))
    least = np.empty(n_boxes, dtype=np.int64)
    start[0], stop[0] = 0, n
    for b in range(n_boxes):
        first, last = start[b], stop[b]
        least[b] = order[first]
        for j in range(d):
            lower[b, j] = upper[b, j] = points[order[first], j]
        for at in range(first + 1, last):
            i = order[at]
            least[b] = min(least[b], i)
            for j in range(d):
                lower[b, j] = min(lower[b, j], points[i, j])
                upper[b, j] = max(upper[b, j], points[i, j])
        if 2 * b + 1 >= n_boxes:
            continue
        widest = 0
        for j in range(1, d):
            if upper[b, j] - lower[b, j] > upper[b, widest] - lower[b, widest]:
                widest = j
        middle = (first + last) // 2
        if upper[b, widest] > lower[b, widest]:
            for at in range(first, last):
                along[at] = points[order[at], widest]
            select(along, order, first, last - 1, middle)
        start[2 * b + 1], stop[2 * b + 1] = first, middle
        start[2 * b + 2], stop[2 * b + 2] = middle, last
    return order, start, stop, lower, upper, least


# Rounding is monotone: with the same operations in the same order, the computed distance to a box is never above the
# computed distance to a point in it. So a search that leaves out boxes by their distance returns, to the last bit, what
# a scan of all points returns.
@compiled
def distance_to_box(z: np.ndarray, lower: np.ndarray, upper: np.ndarray, box: int) -> float:
    """Squared distance from `z`, (d,), to the nearest place in a box."""
    distance = 0.0
    for j in range(len(z)):
        gap = max(lower[box, j] - z[j], z[j] - upper[box, j], 0.0)
        distance += gap * gap
    return distance


@compiled
def distances_to(z: np.ndarray, columns: np.ndarray, start: int, stop: int, out: np.ndarray) -> None:
    """Squared distances from `z`, (d,), to points `start` to `stop` of `columns`, (d, K), into the start of `out`.

    Always the sum over the coordinates from the first to the last, so the same two points have the same distance
    wherever it is computed. Up to four coordinates at a time, which spares passes over `out`.
    """
    start = max(start, 0)  # it is; known to the compiler, which then need not ask whether indices count from the end
    d, n = len(z), stop - start
    j = d % 4
    if j == 0:
        j = 4
        z0, z1, z2, z3 = z[0], z[1], z[2], z[3]
        for k in range(n):
            s = z0 - columns[0, start + k]
            t = z1 - columns[1, start + k]
            u = z2 - columns[2, start + k]
            v = z3 - columns[3, start + k]
            out[k] = s * s + t * t + u * u + v * v
    elif j == 1:
        z0 = z[0]
        for k in range(n):
            s = z0 - columns[0, start + k]
            out[k] = s * s
    elif j == 2:
        z0, z1 = z[0], z[1]
        for k in range(n):
            s = z0 - columns[0, start + k]
            t = z1 - columns[1, start + k]
            out[k] = s * s + t * t
    else:
        z0, z1, z2 = z[0], z[1], z[2]
        for k in range(n):
            s = z0 - columns[0, start + k]
            t = z1 - columns[1, start + k]
            u = z2 - columns[2, start + k]
            out[k] = s * s + t * t + u * u
    while j < d:
        z0, z1, z2, z3 = z[j], z[j + 1], z[j + 2], z[j + 3]
        for k in range(n):
            s = z0 - columns[j, start + k]
            t = z1 - columns[j + 1, start + k]
            u = z2 - columns[j + 2, start + k]
            v = z3 - columns[j + 3, start + k]
            out[k] = out[k] + s * s + t * t + u * u + v * v
        j += 4


@compiled
def smallest(values: np.ndarray, bits: np.ndarray, n: int) -> float:
    """Smallest of the first `n` >= 1 numbers, none of which is negative; ``values[n]`` is overwritten.

    `bits` is ``values.view(np.int64)``, made once by who calls this often.
    """
    # numbers >= 0 have the order of the integers with the same bits, whose minimum the compiler vectorises
    low = bits[0]
    for k in range(n):  # from 0, as vector instructions take even numbers at a time
        low = min(low, bits[k])
    bits[n] = low
    return values[n]
