"""Where a fit starts: embedding, nodes, and the scales of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from . import _check
from ._compile import compiled


def orient(loadings: np.ndarray, cubes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Signs, (d,), that give every component a positive third moment.

    A rule about the points, not about the columns of the data, so the embedding stays the same when the data are
    rotated. Components without skewness get a positive largest loading.

    Parameters
    ----------
    loadings
        (n_features, d).
    cubes, sizes
        Sums of the scores' cubes and of their absolute values, (d,).
    """
    largest = loadings[np.abs(loadings).argmax(axis=0), np.arange(loadings.shape[1])]
    return np.where(np.where(np.abs(cubes) <= 1e-9 * sizes, largest, cubes) < 0, -1.0, 1.0)


def start(space: Any, X: Any, d: int, init: Any) -> tuple[np.ndarray, np.ndarray | None, float]:
    """Loadings to start from; the embedding, in the rows' canonical order, if it is not their scores; its extent.

    PCA, unless `init` gives an embedding, (n_obs, d), or is a function of `X` that returns one.
    """
    if init is None:
        values, W = space.moment.top(d)
        unit = float(np.sqrt(max(values[0], 0.0) / space.rows.n_obs)) or 1.0

        def visit(sums: list[np.ndarray], i: int, block: Any) -> None:
            cubes = (block.project(W) / unit) ** 3
            sums[0] += np.stack([cubes, np.abs(cubes)]).sum(axis=1)

        [(cubes, sizes)] = space.rows.fold(lambda: [np.zeros((2, d))], visit)
        return W * orient(W, cubes, sizes), None, unit
    given: Any = _check.matrix(init(X) if callable(init) else init, name="init")
    if given.shape != (X.shape[0], d):
        raise ValueError(f"init has shape {given.shape}; wanted (n_obs, n_components) = {(X.shape[0], d)}.")
    Z = np.asarray(given.toarray() if sparse.issparse(given) else given, dtype=np.float64)[space.rows.order]
    # the orthonormal W that brings Z W' nearest to X
    left, _, right = linalg.svd(space.rows.pull(Z), full_matrices=False)
    return left @ right, Z, float(np.sqrt(np.mean(Z[:, 0] ** 2)))


def along_first(points: np.ndarray) -> np.ndarray:
    """Order of the points by their first coordinate, then by the second, and so on."""
    return np.lexsort(points.T[::-1])


class Sample:
    """Chooses some of many points by their values: the same ones in whatever order, or in how many parts, they come.

    The points with the smallest of pseudo-random numbers drawn from their own coordinates, these rounded to a
    millionth of `unit` so that neither the units of the data nor the last digits matter. Copies of a point have the same
    number; where some points are left out, at most every 64th is a copy of one and the same (or `least` are).

    Parameters
    ----------
    unit
        Scale of the coordinates.
    n
        How many points there are in all.
    least
        Copies of one point that may be taken in any case.
    """

    def __init__(self, unit: float, n: int, *, least: int = 0) -> None:
        self._unit = unit if unit > 0 else 1.0
        self._n, self._least = n, max(16, least)

    def __call__(self, points: np.ndarray, m: int) -> np.ndarray:
        """At most `m` of the points, in order of their coordinates."""
        if self._n > m:
            draw = _draws(np.round(points * (2.0**20 / self._unit)).astype(np.int64))
            order = np.argsort(draw, kind="stable")
            order = order[_occurrence(draw[order]) < max(self._least, m // 64)]
            if len(order) < len(points) or len(points) > m:
                # which of the points of one number are taken follows from their last digits
                near = np.flatnonzero(draw <= draw[order[:m][-1]])
                near = near[np.lexsort((*points[near].T[::-1], draw[near]))]
                points = points[near[_occurrence(draw[near]) < max(self._least, m // 64)][:m]]
        return points[along_first(points)]


def _occurrence(values: np.ndarray) -> np.ndarray:
    """For sorted values, how many equal ones come before each."""
    first = np.r_[True, values[1:] != values[:-1]]
    return np.arange(len(values)) - np.flatnonzero(first)[np.cumsum(first) - 1]


@compiled
def _draws(points: np.ndarray) -> np.ndarray:
    """A number for each row that depends on its values alone (splitmix64's mixing)."""
    out = np.empty(len(points), dtype=np.uint64)
    for i in range(len(points)):
        h = np.uint64(0x9E3779B97F4A7C15)
        for j in range(points.shape[1]):
            h = (h ^ np.uint64(points[i, j])) + np.uint64(0x9E3779B97F4A7C15)
            h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            h = h ^ (h >> np.uint64(31))
        out[i] = h
    return out


_AT_ONCE = 1 << 15


def drawn(points: Any, m: int, unit: float) -> np.ndarray:
    """Numbers of `m` of the points, (n, d), ascending: drawn by their values, copies apart; all, if fewer.

    The points may be a dask array.
    """
    if points.shape[0] <= m:
        return np.arange(points.shape[0])
    of = lambda part: _draws(np.round(part * (2.0**20 / unit)).astype(np.int64))[:, None]
    if hasattr(points, "map_blocks"):
        lazy = points.map_blocks(of, dtype=np.uint64, chunks=(points.chunks[0], (1,)), meta=np.empty((0, 1), np.uint64))
        draw = lazy.compute()[:, 0]
    else:
        parts = range(0, len(points), _AT_ONCE)
        draw = np.concatenate([of(np.asarray(points[i : i + _AT_ONCE]))[:, 0] for i in parts])
    order = np.argsort(draw, kind="stable")
    numbered = np.column_stack([draw[order].view(np.int64), _occurrence(draw[order])])
    return np.sort(order[np.argsort(_draws(numbered), kind="stable")[:m]])


def sample_size(n_nodes: int) -> int:
    """Points that the start looks at; more would not change it by much."""
    return max(20_000, 4 * n_nodes)


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
    """
    from scipy.cluster.vq import vq

    chosen = [int(rng.integers(len(points)))]
    distance = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < n_nodes:
        # a chosen point has distance 0; when all have (duplicates), the first that is left is as good as any
        reach = np.cumsum(distance)
        if reach[-1] > 0:
            new = min(int(np.searchsorted(reach, rng.random() * reach[-1], side="right")), len(points) - 1)
        else:
            new = int(np.setdiff1d(np.arange(len(points)), chosen)[0])
        chosen.append(new)
        distance = np.minimum(distance, ((points - points[new]) ** 2).sum(axis=1))
    nodes = points[chosen]
    # not scipy's kmeans2: it warns of an empty cluster, and a warning cannot be held back in one thread alone
    for _ in range(_KMEANS_ROUNDS):
        label, _ = vq(points, nodes)
        count = np.bincount(label, minlength=n_nodes)
        filled = count > 0  # an empty one (duplicates) keeps its seed
        for feature in range(points.shape[1]):
            total = np.bincount(label, weights=points[:, feature], minlength=n_nodes)
            nodes[filled, feature] = total[filled] / count[filled]
    return nodes[along_first(nodes)]


def neighbor_of(n_obs: int) -> int:
    """Which neighbour's distance sets the scale: the 15th, nearer ones of fewer than 300 rows.

    Among few rows the 15th lies so far away that smoothing on its scale would leave nothing of the shape.
    """
    return min(15, max(2, n_obs // 20), n_obs - 1)


_KMEANS_ROUNDS = 20
_PROBES = 256


def probes_of(points: np.ndarray) -> np.ndarray:
    """Points, evenly spread over those given in order of their coordinates, at which the local scale is taken."""
    return points[np.linspace(0, len(points) - 1, min(_PROBES, len(points))).astype(np.int64)]


def scale_of(squares: np.ndarray) -> float:
    """Median squared distance to the last of the neighbours.

    Parameters
    ----------
    squares
        Squared distances from each probe to its nearest points, itself the first, (n_probes, k), rising.

    Returns
    -------
    The median; where duplicates make it zero, the mean; where that is zero too, the smallest positive number.
    """
    reach = squares[:, -1]
    return float(np.median(reach)) or float(np.mean(reach)) or float(np.finfo(float).tiny)


def local_dimensions(points: np.ndarray) -> float:
    """In how many dimensions neighbours differ: 1 if always along one line, n_features if alike in all directions.

    With displacements u from some points to their 15th neighbours (see `neighbor_of`), independent and of second moment S, this is
    ``tr(S)^2 / tr(S^2)``, both taken from products of the displacements, so that rotations do not matter.

    Parameters
    ----------
    points
        (n, n_features), in order of their coordinates.
    """
    probes = probes_of(points)
    displacement = np.empty_like(probes)
    k = neighbor_of(len(points))
    for i in range(0, len(probes), 64):
        part = probes[i : i + 64]
        squares = (part**2).sum(axis=1)[:, None] + (points**2).sum(axis=1) - 2 * part @ points.T
        displacement[i : i + 64] = points[np.argsort(squares, axis=1, kind="stable")[:, k]] - part
    gram = displacement @ displacement.T
    own = np.diagonal(gram)
    pairs = float((gram**2).sum() - (own**2).sum()) / max(1, len(probes) * (len(probes) - 1))
    if pairs <= 0 or len(probes) < 10:
        return 1.0
    return float(np.clip(own.mean() ** 2 / pairs, 1.0, points.shape[1]))


@compiled
def nearest_squares(probes: np.ndarray, points: np.ndarray, k: int) -> np.ndarray:
    """Squared distances from each probe to its `k` nearest points, rising; infinite where there are fewer."""
    nearest = np.full((len(probes), k), np.inf)
    for p in range(len(probes)):
        best = nearest[p]
        for i in range(len(points)):
            distance = 0.0
            for j in range(points.shape[1]):
                difference = probes[p, j] - points[i, j]
                distance += difference * difference
            if distance < best[k - 1]:
                at = k - 1
                while at > 0 and best[at - 1] > distance:
                    best[at] = best[at - 1]
                    at -= 1
                best[at] = distance
    return nearest
