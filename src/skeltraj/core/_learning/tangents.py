"""The axes along which rows run, at each of them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.threads import ordered_map
from skeltraj.core._solvers.leading_axes import leading_axes

from .neighbor_weights import rows_at_once

_MIN_SPREAD = 1e-12  # variance, as a share of that of all rows, below which the rows around one lie at one place


def tangents(weights: sparse.csr_matrix, n_steps: int, denoised: np.ndarray, n_tangents: int) -> np.ndarray:
    """U: leading principal axes of the denoised rows that each row's mean is over, (n, n_components, n_tangents)."""
    n, q = denoised.shape
    axes = np.zeros((n, q, n_tangents))
    if not n_tangents:
        return axes
    before = sparse.identity(n, format="csr") if n_steps == 1 else weights  # P^(n_steps - 1)
    for _ in range(n_steps - 2):
        before = before @ weights
    factors = (before.indices, before.data, weights.indptr, weights.indices, weights.data)
    least = _MIN_SPREAD * (denoised - denoised.mean(axis=0)).var(axis=0).sum()

    step = rows_at_once(n)

    def fill(first: int) -> None:
        covariances = _covariances(before.indptr[first : first + step + 1], *factors, denoised)
        variances, vectors = leading_axes(covariances, n_tangents)
        axes[first : first + step] = vectors * (variances[:, None] > least)

    ordered_map(fill, range(0, n, step))
    return axes


@compiled
def _covariances(
    row_starts: np.ndarray,
    row_columns: np.ndarray,
    row_weights: np.ndarray,
    starts: np.ndarray,
    columns: np.ndarray,
    weights: np.ndarray,
    points: np.ndarray,
) -> np.ndarray:
    """For each row of a product of two sparse matrices of weights, the covariance of the points under them.

    Gives (n_rows, d, d). Sums go through the points by their numbers.

    Parameters
    ----------
    row_starts, row_columns, row_weights
        Some rows of the one matrix, as in CSR.
    starts, columns, weights
        The other, as in CSR.
    points
        (n, d).
    """
    n, (n_points, d) = len(row_starts) - 1, points.shape
    covariances = np.empty((n, d, d))
    product, under, mean, room = np.zeros(n_points), np.empty(n_points, dtype=np.int64), np.empty(d), np.empty((0, d))
    for i in range(n):
        for e in range(np.uint64(row_starts[i]), np.uint64(row_starts[i + 1])):
            row = np.uint64(row_columns[e])
            for f in range(np.uint64(starts[row]), np.uint64(starts[row + np.uint64(1)])):
                product[np.uint64(columns[f])] += row_weights[e] * weights[f]
        n_under = 0
        for k in range(n_points):  # without a branch: sooner than to sort them
            under[n_under] = k
            n_under += product[k] > 0.0
        mean[:] = 0.0
        for e in range(n_under):
            weight, point = product[under[e]], points[under[e]]
            for a in range(d):
                mean[a] += weight * point[a]
        if n_under > len(room):
            room = np.empty((min(2 * n_under, n_points), d))
        some = room[:n_under]
        for e in range(n_under):
            share, point, to = np.sqrt(product[under[e]]), points[under[e]], some[e]
            for a in range(d):
                to[a] = share * (point[a] - mean[a])
            product[under[e]] = 0.0
        np.dot(some.T, some, covariances[i])
    return covariances
