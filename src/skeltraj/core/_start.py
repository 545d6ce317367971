"""Where a fit starts: embedding, nodes, and the scales of the data."""

from __future__ import annotations

import warnings

import numpy as np

# Rows that seeding and scales look at; more would not change them by much.
_SEEDING = 20_000
_PROBES = 1_000


def orient(loadings: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Signs, (d,), that give every component a positive third moment.

    A rule about the points, not about the columns of the data, so the embedding stays the same when the data are
    rotated. Components without skewness get a positive largest loading.
    """
    skew = (scores**3).sum(axis=0)
    largest = loadings[np.abs(loadings).argmax(axis=0), np.arange(loadings.shape[1])]
    symmetric = np.abs(skew) <= 1e-9 * (np.abs(scores) ** 3).sum(axis=0)
    return np.where(np.where(symmetric, largest, skew) < 0, -1.0, 1.0)


def along_first(points: np.ndarray) -> np.ndarray:
    """Order of the points by their first coordinate, then by the second, and so on."""
    return np.lexsort(points.T[::-1])


def seed_nodes(points: np.ndarray, n_nodes: int, rng: np.random.Generator) -> np.ndarray:
    """Nodes by k-means from k-means++ seeds, in order of their first coordinate.

    Works on the points sorted by their coordinates (at most 20,000 of them, evenly spaced in that order), so the
    outcome does not depend on the order in which they came.

    Parameters
    ----------
    points
        (n, d).
    n_nodes
        K <= n.
    rng
        Draws the seeds.

    Returns
    -------
    (K, d).
    """
    from scipy.cluster.vq import kmeans2

    points = points[along_first(points)]
    if len(points) > max(_SEEDING, 4 * n_nodes):
        points = points[np.linspace(0, len(points) - 1, max(_SEEDING, 4 * n_nodes)).astype(np.int64)]
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an empty cluster (duplicates) keeps its seed: wanted
        nodes, _ = kmeans2(points, points[chosen], iter=20, minit="matrix", missing="warn")
    return nodes[along_first(nodes)]


def local_scale(points: np.ndarray, neighbor: int = 15) -> float:
    """Median squared distance from a point to its 15th neighbour, over up to 1,000 points evenly spread.

    Falls back on ever farther neighbours where duplicates make that zero.
    """
    from scipy.spatial import cKDTree

    probes = points[along_first(points)]
    if len(probes) > _PROBES:
        probes = probes[np.linspace(0, len(probes) - 1, _PROBES).astype(np.int64)]
    tree = cKDTree(points)
    k = min(neighbor, len(points) - 1)
    while True:
        distance = tree.query(probes, k=[k + 1])[0][:, 0]
        scale = float(np.median(distance)) ** 2
        if scale > 0 or k == len(points) - 1:
            return scale if scale > 0 else float(np.mean(distance) ** 2)
        k = min(4 * k, len(points) - 1)
