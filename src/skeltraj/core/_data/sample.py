"""Some of many rows, chosen by their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.threads import ordered_map

_ROWS_AT_ONCE = 1 << 15  # chosen by eye
_FINER = 2.0**44  # parts of the unit that tell points with the same number apart; chosen by eye
_SORTED_FIRST = 2  # times as many points as are wanted; chosen by eye


def along_first(points: np.ndarray) -> np.ndarray:
    """Order of the points by their first coordinate, then by the second, and so on."""
    first = points[:, 0]
    order: np.ndarray = np.argsort(first)
    if (np.diff(first[order]) > 0).all():
        return order
    return np.lexsort(points.T[::-1])


class Sample:
    """Chooses some of many points by their values: the same ones in whatever order, or in how many parts, they come.

    The points with the smallest of pseudo-random numbers drawn from their own coordinates, these rounded to a
    millionth of `unit` so that neither the units of the data nor the last digits matter. Copies of a point have the
    same number; where some points are left out, at most every 64th is a copy of one and the same (or `least` are).

    Parameters
    ----------
    unit
        Scale of the coordinates.
    n
        How many points there are in all.
    least
        Copies of one point that may be taken in any case.
    drawn_by
        How many of the coordinates, the first, the numbers are drawn from; None: all.
    """

    def __init__(self, unit: float, n: int, *, least: int = 0, drawn_by: int | None = None) -> None:
        self._unit = unit if unit > 0 else 1.0
        self._n, self._least, self._drawn_by = n, max(16, least), drawn_by

    def __call__(self, points: np.ndarray, m: int) -> np.ndarray:
        """At most `m` of the points, in order of their coordinates."""
        if self._n > m:
            draw = _draws_of(points[:, : self._drawn_by], self._unit)
            order = self._drawn_first(draw, m)
            if len(order) < len(points) or len(points) > m:
                near = np.flatnonzero(draw <= draw[order[:m][-1]])
                near = near[np.argsort(draw[near])]
                if not (np.diff(draw[near]) > 0).all():
                    # of points with the same number, those that come first by their coordinates are taken
                    near = near[np.lexsort((*points[near].T[::-1], draw[near]))]
                points = points[near[_occurrence(draw[near]) < max(self._least, m // 64)][:m]]
        return points[along_first(points)]

    def _drawn_first(self, draw: np.ndarray, m: int) -> np.ndarray:
        """Points in the order of their numbers, without what are too many copies: the first `m`, or a few more."""
        for some in (_SORTED_FIRST * m, len(draw)):  # sorting all takes long, and is needed only if there are copies
            order = _with_smallest(draw, some)
            order = order[np.argsort(draw[order])]
            order = order[_occurrence(draw[order]) < max(self._least, m // 64)]
            if len(order) >= m:
                break
        return order


def _occurrence(values: np.ndarray) -> np.ndarray:
    """For sorted values, how many equal ones come before each."""
    first = np.r_[True, values[1:] != values[:-1]]
    return np.arange(len(values)) - np.flatnonzero(first)[np.cumsum(first) - 1]


def _draws_of(points: Any, unit: float) -> np.ndarray:
    """A number for each point, drawn from its coordinates, (n,)."""

    def of_part(first: int) -> np.ndarray:
        part = np.asarray(points[first : first + _ROWS_AT_ONCE])
        return _draws(np.round(part * (2.0**20 / unit)).astype(np.int64))

    return np.concatenate(ordered_map(of_part, range(0, max(len(points), 1), _ROWS_AT_ONCE)))


@compiled
def _draws(points: np.ndarray) -> np.ndarray:
    """A number for each row of whole numbers that depends on its values alone (splitmix64's mixing)."""
    add, first, second = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
    h = np.full(len(points), add)
    for j in range(points.shape[1]):  # products of arrays keep the lower 64 bits, compiled or not
        h = (h ^ points[:, j].astype(np.uint64)) + add
        h = (h ^ (h >> np.uint64(30))) * first
        h = (h ^ (h >> np.uint64(27))) * second
        h = h ^ (h >> np.uint64(31))
    return h


def _untie(order: np.ndarray, draw: np.ndarray, points: np.ndarray, unit: float) -> None:
    """Put points with the same number, in an order by these, in that of their coordinates: far from 0 many have it."""
    same = np.diff(draw[order]) == 0
    tied = np.flatnonzero(np.r_[same, False] | np.r_[False, same])
    if len(tied):
        some = order[tied]
        finer = np.round(np.asarray(points[some], dtype=np.float64) * (_FINER / unit))  # rounding tells no copies apart
        order[tied] = some[np.lexsort((*finer.T[::-1], draw[some]))]


def drawn(points: Any, m: int, unit: float) -> np.ndarray:
    """Numbers of `m` of the points, (n, d), ascending: drawn by their values, copies apart; all, if fewer.

    The points may be a dask array.
    """
    if points.shape[0] <= m:
        return np.arange(points.shape[0])
    return np.sort(shuffled(points, m, unit))


def shuffled(points: Any, m: int, unit: float, *more: int) -> np.ndarray:
    """Numbers of the first `m` of the points, (n, d), in an order drawn by their values, copies apart.

    For each of `more` it is another order. The points may be a dask array.
    """
    if hasattr(points, "map_blocks"):
        of = lambda part: _draws_of(part, unit)[:, None]
        lazy = points.map_blocks(of, dtype=np.uint64, chunks=(points.chunks[0], (1,)), meta=np.empty((0, 1), np.uint64))
        draw = lazy.compute()[:, 0]
    else:
        draw = _draws_of(points, unit)
    in_order = np.sort(draw)
    if (in_order[1:] > in_order[:-1]).all():  # to sort the numbers alone takes a fraction of the time
        again = _draw_again(draw, np.zeros(len(draw), dtype=np.int64), more)
        order = _with_smallest(again, m)
        order = order[
            np.argsort(draw[order])
        ]  # of equal numbers, that of the point with the smaller first one is first
        again = again[order]
    else:
        order = np.argsort(draw, kind="stable")
        if not hasattr(points, "map_blocks"):
            _untie(order, draw, points, unit)
        again = _draw_again(draw[order], _occurrence(draw[order]), more)
    shuffled: np.ndarray = order[np.argsort(again, kind="stable")][:m]
    return shuffled


def _draw_again(draw: np.ndarray, occurrence: np.ndarray, more: Sequence[int]) -> np.ndarray:
    """A number for each point, drawn from its number, how many points before have it, and `more`."""

    def of_part(first: int) -> np.ndarray:
        part = slice(first, first + _ROWS_AT_ONCE)
        again = [np.full(len(draw[part]), number) for number in more]
        return _draws(np.column_stack([draw[part].view(np.int64), occurrence[part], *again]))

    return np.concatenate(ordered_map(of_part, range(0, max(len(draw), 1), _ROWS_AT_ONCE)))


def _with_smallest(values: np.ndarray, m: int) -> np.ndarray:
    """Where the `m` smallest values are, and what equals the last of them, in order."""
    return np.flatnonzero(values <= np.partition(values, m - 1)[m - 1]) if m < len(values) else np.arange(len(values))
