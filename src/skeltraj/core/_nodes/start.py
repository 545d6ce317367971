"""Where a fit starts: embedding, and the scales of the data. Its nodes: `kmeans`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.spatial.distance import cdist

from skeltraj.core._data.row_blocks import RowBlocks
from skeltraj.core._data.space import Space, space_of
from skeltraj.core._geometry.neighbors import k_nearest
from skeltraj.core._runtime import check
from skeltraj.core._solvers.eigen import signs


class Start(NamedTuple):
    """What a fit starts from.

    Parameters
    ----------
    loadings
        W, orthonormal, (n_features, d).
    embedding
        Rows in their canonical order, (n_obs, d); None: their scores.
    scores
        Of the rows in their canonical order, if they were kept, (n_obs, d).
    unit
        The embedding's extent.
    """

    loadings: np.ndarray
    embedding: np.ndarray | None
    scores: np.ndarray | None
    unit: float


def start(space: Space, X: Any, d: int, init: Any, *, keep: bool = False) -> Start:
    """Loadings and embedding to start from: PCA, unless `init` gives an embedding, or is a function of `X` that does.

    `keep`: keep the scores, if the rows are in memory.
    """
    rows = space.rows
    if init is None:
        values, W = space.moment.top(d)
        unit = float(np.sqrt(max(values[0], 0.0) / rows.n_obs)) or 1.0
        scores = np.empty((rows.n_obs, d)) if keep and rows.in_memory else None
        # what dask sends to its workers should not name the rows
        slices = None if scores is None else rows.slices

        def visit(sums: list[np.ndarray], i: int, block: Any) -> None:
            projected = block.project(W)
            share = projected / unit
            cubes = share * share * share  # a power takes twenty times as long
            sums[0] += np.stack([cubes, np.abs(cubes)]).sum(axis=1)
            if scores is not None and slices is not None:
                scores[slices[i]] = projected

        [(cubes, sizes)] = rows.fold(lambda: [np.zeros((2, d))], visit)
        sign = signs(W, cubes, sizes)
        if scores is not None:
            scores *= sign
        return Start(W * sign, None, scores, unit)
    given: Any = check.matrix(init(X) if callable(init) else init, name="init")
    if given.shape != (X.shape[0], d):
        raise ValueError(f"init has shape {given.shape}; wanted (n_obs, n_components) = {(X.shape[0], d)}.")
    Z = np.asarray(given.toarray() if sparse.issparse(given) else given, dtype=np.float64)[rows.order]
    if not (Z != Z[0]).any():
        raise ValueError(f"init: all {len(Z)} rows are the same; wanted rows that differ.")
    # the orthonormal W that brings Z W' nearest to X
    left, _, right = linalg.svd(rows.transpose_times(Z), full_matrices=False)
    return Start(left @ right, Z, None, float(np.sqrt(np.mean(Z[:, 0] ** 2))))


_SORTED_BY = 2  # principal axes along which rows and nodes are put in order; chosen by eye


def oriented_axes(X: Any, rows: RowBlocks, total: float) -> tuple[np.ndarray, float]:
    """The leading principal axes of rows, (n_features, 2 or 1), and the extent along the first.

    Axes and their signs follow from how the rows lie, so an order along them depends neither on the order of the
    columns nor on rotations. Where the rows vary alike in several directions, or are symmetric, it may.

    Parameters
    ----------
    X
        The matrix.
    rows, total
        Its rows, centred, and their sum of squares.
    """
    d = min(_SORTED_BY, *X.shape)
    space = space_of(X, rows, total, width=d)
    begin = start(space, X, d, None)
    return space.lift(begin.loadings), begin.unit


def neighbor_of(n_obs: int) -> int:
    """Which neighbour's distance sets the scale: the 15th, nearer ones of fewer than 300 rows.

    Among few rows the 15th lies so far away that smoothing on its scale would leave nothing of the shape.
    """
    return min(15, max(2, n_obs // 20), n_obs - 1)


_MAX_PROBES = 256  # points at which the local scale is taken; chosen by eye
_SAME = 1e-18  # of the largest squared distance: points that are nearer are the same but for rounding


def probes_of(points: np.ndarray) -> np.ndarray:
    """Points, evenly spread over those given in order of their coordinates, at which the local scale is taken."""
    return points[np.linspace(0, len(points) - 1, min(_MAX_PROBES, len(points))).astype(np.int64)]


def scale_of(squares: np.ndarray, probes: np.ndarray) -> float:
    """Median squared distance to the last of the neighbours.

    Parameters
    ----------
    squares
        Squared distances from each probe to its nearest points, itself the first, (n_probes, k), rising.
    probes
        The probes, (n_probes, d).

    Returns
    -------
    The median; where duplicates make it zero, the mean; where that is zero too, the median squared distance from a
    probe to the nearest that differs; where none does, the smallest positive number.
    """
    reach = squares[:, -1]
    scale = float(np.median(reach)) or float(np.mean(reach))
    if not scale:
        apart = cdist(probes, probes, "sqeuclidean")
        apart[apart <= _SAME * apart.max()] = np.inf
        nearest = apart.min(axis=1)
        scale = float(np.median(nearest)) if np.isfinite(nearest).all() else 0.0
    return scale or float(np.finfo(float).tiny)


def local_dimensions(points: np.ndarray) -> float:
    """In how many dimensions neighbours differ: 1 if always along one line, n_features if alike in all directions.

    With displacements u from some points to their 15th neighbours (see `neighbor_of`), independent and of second moment
    S, this is ``tr(S)^2 / tr(S^2)``, both taken from products of the displacements, so that rotations do not matter.

    Parameters
    ----------
    points
        (n, n_features), in order of their coordinates.
    """
    probes = probes_of(points)
    neighbors = k_nearest(probes, points, neighbor_of(len(points)) + 1).numbers
    displacement = points[neighbors[:, -1]] - probes
    gram = displacement @ displacement.T
    own = np.diagonal(gram)
    pairs = float((gram**2).sum() - (own**2).sum()) / max(1, len(probes) * (len(probes) - 1))
    if pairs <= 0 or len(probes) < 10:
        return 1.0
    return float(np.clip(own.mean() ** 2 / pairs, 1.0, points.shape[1]))
