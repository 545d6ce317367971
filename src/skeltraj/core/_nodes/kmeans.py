"""Nodes to start from: k-means from k-means++ seeds."""

from __future__ import annotations

import numpy as np

from skeltraj.core._data.sample import along_first
from skeltraj.core._geometry.assign import nearest_nodes, node_index
from skeltraj.core._geometry.kdtree import distances_to
from skeltraj.core._geometry.near_nodes import near_nodes_of
from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.threads import ordered_map

from .distance_bounds import DistanceBounds, set_bounds

_ROUNDS = 10  # chosen by measurement (benchmarks/pages/samples.md)
_POINTS_AT_ONCE = 2500  # that a thread assigns at least; chosen by eye
_NUMBERS_AT_ONCE = 1 << 20  # coordinates of nodes that it looks at for these at least: to start it takes longer
_NO_BOUNDS = np.empty((0, 0), np.float32)
_FAR = 2.0  # times as far as the mean a point may be from its node to be looked for among the nodes near that; by trial


def sample_size(n_nodes: int) -> int:
    """Points that the start looks at, for nodes and scales: thirty a node, fewer of many nodes.

    With more, fits of 20 rounds end no lower.
    """
    return max(min(20_000, max(5_000, 30 * n_nodes)), 4 * n_nodes)


def seed_nodes(points: np.ndarray, n_nodes: int, rng: np.random.Generator) -> np.ndarray:
    """Nodes by k-means from k-means++ seeds, in order of their first coordinate.

    Parameters
    ----------
    points
        (n, d), in order of their coordinates.
    n_nodes
        K <= n.
    rng
        Draws the seeds.

    Returns
    -------
    (K, d).

    References
    ----------
    Arthur, Vassilvitskii. k-means++: the advantages of careful seeding. SODA (2007).
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    bounds = DistanceBounds.of(points, n_nodes)
    first = int(rng.integers(len(points)))
    lower, unit = (_NO_BOUNDS, 0.0) if bounds is None else (bounds.lower, bounds.unit)
    seeds, nearest, distance = _seeds(points, points.T.copy(), first, rng.random(n_nodes - 1), unit, lower)
    nodes = points[seeds]
    for _ in range(_ROUNDS - 1):
        moved, before = _to_means(points, nearest, nodes), nearest
        if bounds is None:
            nearest, distance = _nearest(points, nodes, before, distance)
        else:
            nearest = bounds.nearest(nodes, before, moved)
        if (nearest == before).all():
            return nodes[along_first(nodes)]
    _to_means(points, nearest, nodes)
    return nodes[along_first(nodes)]


def _nearest(points: np.ndarray, nodes: np.ndarray, before: np.ndarray, distance: float) -> tuple[np.ndarray, float]:
    """Number of the node nearest to each point, (n,), and how far it is (root mean square).

    Parameters
    ----------
    points, nodes
        (n, d) and (K, d).
    before, distance
        The same for nodes not far from these.
    """
    near = near_nodes_of(nodes, _FAR * distance, len(points))
    index = node_index(nodes)
    n_looked_at = len(nodes) if near is None else len(near.numbers) // len(nodes)
    step = max(_POINTS_AT_ONCE, _NUMBERS_AT_ONCE // max(1, n_looked_at * nodes.shape[1]))

    def of_part(first: int) -> tuple[np.ndarray, np.ndarray]:
        part = slice(first, first + step)
        return nearest_nodes(points[part], nodes, index, near, before[part])

    numbers, squared = zip(*ordered_map(of_part, range(0, len(points), step)), strict=True)
    return np.concatenate(numbers), float(np.sqrt(np.mean(np.concatenate(squared))))


@compiled
def _seeds(
    points: np.ndarray, columns: np.ndarray, first: int, draws: np.ndarray, unit: float, lower: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Numbers of points, drawn in proportion to the squared distance to the nearest before it. `columns`: (d, n).

    Gives also which of these is nearest to each point, (n,), and how far it is (root mean square). `lower` is filled
    with bounds of all distances, in units, if it has rows.
    """
    n, n_seeds = len(points), len(draws) + 1
    chosen, nearest = np.empty(n_seeds, dtype=np.int64), np.zeros(n, dtype=np.int64)
    is_chosen = np.zeros(n, dtype=np.bool_)
    squared, distance, reach = np.empty(n), np.full(n, np.inf), np.empty(n)
    new, total = first, 0.0
    for c in range(n_seeds):
        if c > 0:
            # points that were chosen have distance 0; if all have (duplicates), the first that was not chosen is taken
            new = 0
            if total > 0:
                new = _first_above(reach, draws[c - 1] * total)
            else:
                while is_chosen[new]:
                    new += 1
        chosen[c], is_chosen[new] = new, True
        distances_to(points[new], columns, np.int64(0), n, squared)
        if len(lower) > 0:
            set_bounds(squared, unit, lower[c])
        for i in range(n):
            nearest[i] = c if squared[i] < distance[i] else nearest[i]
            distance[i] = min(distance[i], squared[i])
        total = 0.0
        for i in range(n):
            total += distance[i]
            reach[i] = total
    return chosen, nearest, np.sqrt(total / n)


@compiled
def _first_above(values: np.ndarray, limit: float) -> int:
    """Number of the first of values that rise which is larger than the limit; the last if none is."""
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high) // 2
        if values[middle] > limit:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def _to_means(points: np.ndarray, nearest: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Move each node to the mean of its points; one without points (duplicates) stays. Gives how far, (K,)."""
    count, moved = np.zeros(len(nodes), dtype=np.int64), np.zeros(len(nodes))
    total = np.zeros(nodes.shape)
    for i in range(len(points)):
        count[nearest[i]] += 1
        for j in range(points.shape[1]):
            total[nearest[i], j] += points[i, j]
    for k in range(len(nodes)):
        if count[k] > 0:
            for j in range(nodes.shape[1]):
                mean = total[k, j] / count[k]
                moved[k] += (mean - nodes[k, j]) ** 2
                nodes[k, j] = mean
    return np.sqrt(moved)
