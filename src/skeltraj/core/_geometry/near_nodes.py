"""The nodes near each node, among which the nodes near a point are, if it is near that node."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from skeltraj.core._runtime.compile import compiled

from .kdtree import distances_to

# Weights below exp(-37), 9e-17 of their row's largest, are always left out: they change no sum of double precision
# numbers.
_MAX_EXPONENT = 37.0
# How far lists go, in roots of the reach of the assignment: a point may be half a root away from its node, and most
# are nearer. And the share of all nodes that lists hold at most, on average, to be faster. Chosen by trial.
_FAR = 1.6
_MOST_LISTED = 0.4
_FEWEST_POINTS = 4  # for each node, for which lists pay: all pairs of nodes are looked at. Chosen by trial
_MOST_NODES = 3000  # chosen by eye
_MARGIN = 1e-6  # relative, for rounding, which is far less
_SMALL, _LARGE = 1e-145, 1e150  # distances whose squares have all their digits lie between


class NearNodes(NamedTuple):
    """For each node a list of the nodes near it, itself among them.

    Parameters
    ----------
    start
        Where the list of each node begins, (K + 1,).
    numbers
        The nodes on the lists, ascending within each, (n_listed,).
    columns
        Their coordinates, (d, n_listed).
    own
        The place of each node on its own list, (K,).
    most
        The squared distance from its node up to which a point is reached by none but those on the list.
    """

    start: np.ndarray
    numbers: np.ndarray
    columns: np.ndarray
    own: np.ndarray
    most: float


# Compiled code takes these where there are none: it is compiled once for both.
NO_LISTS = NearNodes(
    np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty((0, 0)), np.empty(0, dtype=np.int64), 0.0
)


def reach_of(sigma: float, least_weight: float = 0.0) -> float:
    """How much farther than the nearest, squared, a node is at most that has a weight; finite.

    Weights below `least_weight` times their row's largest are left out.
    """
    exponent = min(-math.log(least_weight), _MAX_EXPONENT) if least_weight > 0 else _MAX_EXPONENT
    return min(exponent * float(sigma), float(np.finfo(np.float64).max))


def near_nodes(nodes: np.ndarray, sigma: float, n_points: int, least_weight: float = 0.0) -> NearNodes | None:
    """Lists for the assignment of points to nodes, (K, d); None where they would not make it faster.

    The distance of a point from its node is r, so the nearest is no farther, and what is within reach lies at most
    ``r + sqrt(r^2 + reach)`` from that node.
    """
    root = math.sqrt(reach_of(sigma, least_weight))
    return _lists(nodes, _FAR * root, (_FAR**2 - 1) / (2 * _FAR) * root, n_points)


def near_nodes_of(nodes: np.ndarray, distance: float, n_points: int) -> NearNodes | None:
    """The same for the nearest node alone, of points most of which are no farther than that from their nodes.

    A node that is more than twice as far from a point's node as the point is not nearer to it.
    """
    return _lists(nodes, 2 * distance, distance, n_points)


def _lists(nodes: np.ndarray, far: float, most: float, n_points: int) -> NearNodes | None:
    """Lists that go so far from each node, for points at most so far from it."""
    if not (_SMALL < far < _LARGE and len(nodes) <= min(_MOST_NODES, n_points // _FEWEST_POINTS)):
        return None
    nodes = np.ascontiguousarray(nodes, dtype=np.float64)
    start, numbers, listed, own = _nodes_within(nodes, far**2, int(_MOST_LISTED * len(nodes) ** 2))
    if not len(numbers):
        return None
    return NearNodes(start, numbers, listed, own, ((1 - _MARGIN) * most) ** 2)


@compiled
def _nodes_within(nodes: np.ndarray, far: float, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Nodes at most `far` (squared) from each, and their coordinates; none if there were more than `most` in all."""
    n, d = nodes.shape
    columns = np.empty((d, n))
    for a in range(n):
        for j in range(d):
            columns[j, a] = nodes[a, j]
    start, own = np.zeros(n + 1, dtype=np.int64), np.empty(n, dtype=np.int64)
    numbers, distance = np.empty(most + n, dtype=np.int32), np.empty(n)
    for a in range(n):
        distances_to(nodes[a], columns, np.int64(0), n, distance)
        if start[a] > most:
            return start, numbers[:0], columns, own
        to = np.uint64(start[a])
        for k in range(n):
            numbers[to] = k
            to += np.uint64(distance[k] <= far)
        start[a + 1] = int(to)
        at = start[a]
        while numbers[at] < a:
            at += 1
        own[a] = at - start[a]
    numbers = numbers[: start[n]]
    listed = np.empty((d, len(numbers)))
    for j in range(d):
        column, to_column = columns[j], listed[j]
        for at in range(len(numbers)):
            to_column[at] = column[np.uint64(numbers[at])]
    return start, numbers, listed, own
