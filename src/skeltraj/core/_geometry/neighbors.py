"""Exact nearest neighbours.

There are two ways to find them. In few dimensions a k-d tree leaves out most of the points (`PointTree`). In many
dimensions its boxes overlap; there a product of matrices gives all distances up to rounding, and only those of the
nearest are computed exactly (`k_nearest`). `k_smallest` chooses among distances that are known already.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.threads import ordered_map

from .select import select, sort

_MAX_PRODUCTS = 1 << 19  # products of rows that `k_nearest` holds at a time, 2 MB of float32; by trial
_MAX_SINGLE = 100  # columns up to which their sums in float32 tell enough; chosen by eye
_TINY = 1e-35  # more than all that is lost where products are too small for float32
_MAX_EXPONENT = 500  # of two; the squares of larger numbers are none
# Share of a squared distance by which rounding may change it. By a wider one, as that of `k_nearest`'s callers, some
# points of a large cloud are equally near by chance.
ROUNDING = 1e-9
_STRIDES = 32  # parts of a row of products whose minimum is taken element by element, a multiple of 4; chosen by eye
_HALVINGS = 4  # of the range in which a value is looked for; by trial
_PLACES_AT_ONCE = 1024  # for which a k-d tree is asked, so that an interrupt need not wait for all; chosen by eye


class PointTree:
    """Points in few dimensions, to be asked which of them are nearest: scipy's k-d tree.

    Parameters
    ----------
    points
        (n, d).
    """

    def __init__(self, points: np.ndarray) -> None:
        self._tree = cKDTree(points)

    def nearest(self, places: np.ndarray, k: int = 1, *, within: float = np.inf) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the `k` points nearest to each place, and their distances.

        Parameters
        ----------
        places
            (m, d).
        k
            How many.
        within
            Only points nearer than this.

        Returns
        -------
        Numbers and distances, both (m,) for one, (m, k) for more; -1 and infinity where there are not that many.
        """

        def of(first: int) -> tuple[np.ndarray, np.ndarray]:
            block = places[first : first + _PLACES_AT_ONCE]
            distances, numbers = self._tree.query(block, k, distance_upper_bound=within)
            return distances, numbers

        blocks = ordered_map(of, range(0, max(len(places), 1), _PLACES_AT_ONCE))
        distances, numbers = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
        return np.where(numbers < self._tree.n, numbers, -1), distances


def pairs_of(neighbors: np.ndarray) -> np.ndarray:
    """Each pair of which one is among the neighbours, (n, k), of the other, once: (m, 2), rising."""
    n, k = neighbors.shape
    return np.unique(np.sort(np.column_stack([np.repeat(np.arange(n), k), neighbors.ravel()]), axis=1), axis=0)


class Nearest(NamedTuple):
    """The k points nearest to each of m places, and those that are as near as the last of them.

    Parameters
    ----------
    numbers
        Of the points, (m, k), the nearest first, of equally near ones the one with the smaller number first; -1 where
        there are fewer than k points.
    squared
        Their squared distances, (m, k); infinity where there are fewer.
    tied_start
        The points as near as the last to place i are ``tied[tied_start[i] : tied_start[i + 1]]``, (m + 1,): none where
        all of them are among the k.
    tied
        Their numbers, for each place rising.
    """

    numbers: np.ndarray
    squared: np.ndarray
    tied_start: np.ndarray
    tied: np.ndarray


def k_nearest(places: np.ndarray, points: np.ndarray, k: int, *, tie: float = 0.0) -> Nearest:
    """The `k` points nearest to each place, in any number of dimensions.

    The result is that of summing the squared differences of all pairs, to the last bit.

    Parameters
    ----------
    places
        (m, d).
    points
        (n, d).
    k
        How many.
    tie
        Squared distances that differ by less than this share of them are equal.
    """
    places, points = (np.ascontiguousarray(rows, dtype=np.float64) for rows in (places, points))
    d = points.shape[1]
    if len(points) == 0:
        none = np.full((len(places), k), -1), np.full((len(places), k), np.inf)
        return Nearest(*none, np.zeros(len(places) + 1, dtype=np.int64), np.empty(0, dtype=np.int64))
    dtype: type[np.floating[Any]] = np.float32 if d <= _MAX_SINGLE else np.float64
    center = points.mean(axis=0)  # far from the origin, products lose the digits in which near points differ
    # a power of two changes no digit, and keeps squares within the range of float32
    largest = max(_farthest(rows, center) for rows in (places, points))
    unit = float(2.0 ** -np.clip(np.frexp(largest)[1], -_MAX_EXPONENT, _MAX_EXPONENT))
    # With p and q the centred rows, each of the d + 2 products of `left` and `right` is rounded, its factors were
    # before, and so are the sums, those of the squares, and those of the distances that are compared with it: an error
    # of at most (2 d + 15) eps (p^2 + q^2), here taken twice. What is too small for float32 is less than `_TINY`.
    shrink = float(1 - 4 * (d + 8) * np.finfo(dtype).eps)
    step = min(max(1, _MAX_PRODUCTS // len(points)), max(len(places), 1))
    right = np.empty((len(points), d + 2), dtype)
    _factors(points, center, unit, shrink, -2.0, right)
    right[:, d:] = right[:, [d + 1, d]]
    numbers, *others = _k_nearest(places, points, right, np.int64(step), center, unit, shrink, k, tie)
    return Nearest(np.where(numbers < len(points), numbers, -1), *others)


@compiled
def _farthest(rows: np.ndarray, center: np.ndarray) -> float:
    """The largest difference of a coordinate from the centre's; 0 without rows."""
    largest = 0.0
    for i in range(len(rows)):
        for j in range(rows.shape[1]):
            largest = max(largest, abs(rows[i, j] - center[j]))
    return largest


@compiled
def _factors(rows: np.ndarray, center: np.ndarray, unit: float, shrink: float, times: float, out: np.ndarray) -> None:
    """What is multiplied: the rows, centred, in units, `times` over; then the shrunk sum of their squares, and 1."""
    d = rows.shape[1]
    for i in range(len(rows)):
        total = 0.0
        for j in range(d):
            value = unit * (rows[i, j] - center[j])
            total += value * value
            out[i, j] = times * value
        out[i, d], out[i, d + 1] = shrink * total - _TINY, 1.0


def k_smallest(values: np.ndarray, k: int) -> np.ndarray:
    """Columns of the `k` smallest values of each row, (m, n) -> (m, k), rising; of equal values the first columns."""
    columns: np.ndarray = _k_smallest(np.ascontiguousarray(values, dtype=np.float64), k)
    return columns


@compiled
def _k_smallest(values: np.ndarray, k: int) -> np.ndarray:
    m, n = values.shape
    columns, smallest = np.full((m, k), n), np.empty(k)
    for i in range(m):
        smallest[:] = np.inf
        largest = np.inf
        for j in range(n):
            if values[i, j] < largest or columns[i, k - 1] == n:
                _insert(smallest, columns[i], values[i, j], j)
                largest = smallest[-1]
    return columns


@compiled
def _k_nearest(
    places: np.ndarray,
    points: np.ndarray,
    right: np.ndarray,
    step: int,
    center: np.ndarray,
    unit: float,
    shrink: float,
    k: int,
    tie: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of `step` places at a time; `right`, (n, d + 2), holds what products with the places' factors are made of.

    Where there are fewer than k points, numbers that are missing are n.
    """
    m, n = len(places), len(points)
    left = np.empty((step, right.shape[1]), dtype=right.dtype)
    products = np.empty((step, n), dtype=right.dtype)  # written again and again: new memory takes as long as these
    numbers, squared = np.full((m, k), n), np.full((m, k), np.inf)
    tied_start, tied = np.zeros(m + 1, dtype=np.int64), np.empty(m, dtype=np.int64)
    least = np.empty((_STRIDES // 4 + 1, n // _STRIDES), dtype=right.dtype)
    few, room = np.empty(n // 4 + 1, dtype=np.int64), np.empty(n, dtype=right.dtype)
    near, near_squared = np.empty(n, dtype=np.int64), np.empty(n)
    for i in range(m):
        if i % step == 0:  # lower bounds of the squared distances, in squared units
            some = min(step, m - i)
            _factors(places[i : i + some], center, unit, shrink, 1.0, left)
            np.dot(left[:some], right.T, products[:some])
        lower = products[i % step]
        # 1. the points that seem nearest, k + 1 or some more, and their exact distances
        n_near, seen = _smallest(lower, min(k + 1, n), least, few, room, near)
        squared_distances(places[i], points, near, n_near, near_squared)
        for e in range(n_near):
            _insert(squared[i], numbers[i], near_squared[e], near[e])
        # 2. where others may be as near as the k-th: all points that may be
        limit = (1 + tie) * squared[i, k - 1] * unit**2
        n_tied = np.int64(0)
        if k < n and seen <= limit:
            numbers[i], squared[i] = n, np.inf
            n_near = _within(lower, limit, near)
            squared_distances(places[i], points, near, n_near, near_squared)
            for e in range(n_near):
                _insert(squared[i], numbers[i], near_squared[e], near[e])
            n_tied = _tied_with_last(near, near_squared, n_near, squared[i], tie, tie)
        elif k < n:  # all are among those seen, which may be more than k + 1
            n_tied = _tied_with_last(near, near_squared, n_near, squared[i], tie, min(tie, ROUNDING))
            sort(near, None, n_tied)
        end = tied_start[i] + n_tied
        tied_start[i + 1] = end
        if end > len(tied):
            fewer, tied = tied, np.empty(n_tied + 2 * len(tied), dtype=np.int64)
            for e in range(end - n_tied):
                tied[e] = fewer[e]
        for e in range(n_tied):
            tied[end - n_tied + e] = near[e]
    return numbers, squared, tied_start, tied[: tied_start[m]]


@compiled
def _smallest(
    values: np.ndarray, k: int, least: np.ndarray, few: np.ndarray, room: np.ndarray, numbers: np.ndarray
) -> tuple[int, float]:
    """Numbers of the `k` smallest of many values and perhaps some more; how many, and up to which value all are there.

    No value above the k-th of the smallest minima of parts can be among the smallest, and minima are taken by vector
    instructions, so that few values are left. `least` is room for a minimum of every four values, and then of every
    `_STRIDES`; `few` for where the former are small.
    """
    stride, n = least.shape[1], len(values)
    if stride < k:
        limit = _kth(values, k, room)
        return _within(values, limit, numbers), limit
    n_near = 0
    parts, of_all = values[: _STRIDES * stride].reshape(_STRIDES, stride), least[_STRIDES // 4]
    for j in range(stride):
        of_all[j] = parts[0, j]
    for s in range(_STRIDES // 4):
        of_four = least[s]
        for j in range(stride):
            a, b, c, d = parts[4 * s, j], parts[4 * s + 1, j], parts[4 * s + 2, j], parts[4 * s + 3, j]
            a, c = a if a < b else b, c if c < d else d
            of_four[j] = a if a < c else c
            of_all[j] = of_four[j] if of_four[j] < of_all[j] else of_all[j]
    limit = _kth(of_all, k, room)
    n_few = 0
    for s in range(_STRIDES // 4):
        of_four = least[s]
        for j in range(stride):
            few[n_few] = 4 * s * stride + j
            n_few += of_four[j] <= limit
    for e in range(n_few):
        for m in range(few[e], few[e] + 4 * stride, stride):
            numbers[n_near] = m
            n_near += values[m] <= limit
    for j in range(_STRIDES * stride, n):
        numbers[n_near] = j
        n_near += values[j] <= limit
    return n_near, limit


@compiled
def _within(values: np.ndarray, limit: float, numbers: np.ndarray) -> int:
    """How many values are no larger than the limit; their numbers are filled in."""
    n = 0
    for j in range(len(values)):
        numbers[n] = j
        n += values[j] <= limit
    return n


@compiled
def _kth(values: np.ndarray, k: int, room: np.ndarray) -> float:
    """The k-th smallest of some values.

    Counts come by vector instructions: they tell in which part of the range it is, and few values are left to choose
    from.
    """
    low = high = values[0]
    for value in values:
        low, high = value if value < low else low, value if value > high else high
    n_low = 0
    for _ in range(_HALVINGS):
        middle = low + (high - low) / 2
        n_middle = 0
        for value in values:
            n_middle += value <= middle
        if n_middle >= k:
            high = middle
        else:
            low, n_low = middle, n_middle
    n_left = 0
    for value in values:
        room[n_left] = value
        n_left += (value > low or n_low == 0) and value <= high
    select(room, None, np.int64(0), n_left - 1, k - 1 - n_low)
    return room[k - 1 - n_low]


@compiled
def _tied_with_last(
    near: np.ndarray, near_squared: np.ndarray, n_near: int, squared: np.ndarray, tie: float, least: float
) -> int:
    """How many points are as far as the last of the k nearest, if not all are among these; brought to the front.

    Nothing is told of points that are left out unless one of them is farther than the last by at most a share `least`.
    """
    last, n_within, n_tied = squared[-1], 0, 0
    for e in range(n_near):
        n_within += near_squared[e] - last <= least * last
    if n_within <= len(squared):
        return 0
    for e in range(n_near):
        if abs(near_squared[e] - last) <= tie * last:
            near[n_tied] = near[e]
            n_tied += 1
    return n_tied


@compiled
def squared_distances(place: np.ndarray, points: np.ndarray, numbers: np.ndarray, n: int, squared: np.ndarray) -> None:
    """Squared distances of a place to the first `n` of some points, each a sum from the first coordinate to the last.

    Four at a time, so that an addition need not wait for the one before.
    """
    at = 0
    while at + 4 <= n:
        p, q, r, s = points[numbers[at]], points[numbers[at + 1]], points[numbers[at + 2]], points[numbers[at + 3]]
        to_p = to_q = to_r = to_s = 0.0
        for j in range(len(place)):
            to_p += (place[j] - p[j]) ** 2
            to_q += (place[j] - q[j]) ** 2
            to_r += (place[j] - r[j]) ** 2
            to_s += (place[j] - s[j]) ** 2
        squared[at], squared[at + 1], squared[at + 2], squared[at + 3] = to_p, to_q, to_r, to_s
        at += 4
    for e in range(at, n):
        total = 0.0
        for j in range(len(place)):
            total += (place[j] - points[numbers[e], j]) ** 2
        squared[e] = total


@compiled
def _insert(smallest: np.ndarray, numbers: np.ndarray, value: float, number: int) -> None:
    """Put a value in its place among the smallest so far, by its number among equal ones; the last falls out."""
    at = len(smallest) - 1
    if value > smallest[at] or (value == smallest[at] and number > numbers[at]):
        return
    while at > 0 and (smallest[at - 1] > value or (smallest[at - 1] == value and numbers[at - 1] > number)):
        smallest[at], numbers[at] = smallest[at - 1], numbers[at - 1]
        at -= 1
    smallest[at], numbers[at] = value, number
