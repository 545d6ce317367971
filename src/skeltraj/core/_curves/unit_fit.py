"""Compiled fits with a level for each unit (a donor, say)."""

from __future__ import annotations

import math

import numpy as np

from skeltraj.core._runtime.compile import compiled

from .factor import backward, factor, forward
from .kernels import BINOMIAL, FAR, GAUSSIAN, MAX_STEP, NEGATIVE_BINOMIAL, predictor

PIVOT = 1e-9  # share of a column's own square that others must leave of it, else it is not there; for rounding
LEAST = 1e-6  # counts from which a unit without any starts, so that its level need not run to minus infinity


@compiled
def _score_and_information(
    y: np.ndarray,
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    C: np.ndarray,
    unit: np.ndarray,
    b: np.ndarray,
    level: np.ndarray,
    family: int,
    phi: float,
    G: np.ndarray,
    S: np.ndarray,
    H: np.ndarray,
    slope_of: np.ndarray,
    weight_of: np.ndarray,
) -> float:
    """Log-likelihood, but for terms of y alone, where each unit has a level of its own.

    Sums over rows, x being the columns of the design: weights times x x' in G; by unit, slopes times x in S, weights
    times x in H, slopes, weights.
    """
    n, width = index.shape
    n_c = C.shape[1]
    first = len(b) - n_c
    G[:] = 0.0
    S[:] = 0.0
    H[:] = 0.0
    slope_of[:] = 0.0
    weight_of[:] = 0.0
    likelihood = 0.0
    for i in range(n):
        if np.isnan(y[i]):
            continue
        u = unit[i]
        eta = predictor(i, offset, index, value, C, b) + level[u]
        if family == NEGATIVE_BINOMIAL:
            eta = min(max(eta, -FAR), FAR)
            mu = math.exp(eta)
            size = 1.0 + phi * mu
            weight = mu / size
            slope = (y[i] - mu) / size
            log_size = math.log(size) / phi if phi * mu > 1e-6 else mu * (1.0 - 0.5 * phi * mu)
            likelihood += y[i] * eta - y[i] * phi * log_size - log_size
        elif family == BINOMIAL:
            eta = min(max(eta, -FAR), FAR)
            mu = 1.0 / (1.0 + math.exp(-eta))
            weight = mu * (1.0 - mu)
            slope = y[i] - mu
            likelihood += y[i] * eta - (eta + math.log1p(math.exp(-eta)) if eta > 0 else math.log1p(math.exp(eta)))
        else:
            weight = 1.0
            slope = y[i] - eta
            likelihood -= 0.5 * slope * slope
        slope_of[u] += slope
        weight_of[u] += weight
        for k in range(width):
            a = index[i, k]
            x = value[i, k]
            if x == 0.0:
                continue
            wx = weight * x
            S[u, a] += slope * x
            H[u, a] += wx
            G[a, a] += wx * x
            for l in range(k):  # twice, if both entries are of one column, as on a circle
                G[a, index[i, l]] += wx * value[i, l] * (2.0 if index[i, l] == a else 1.0)
            for j in range(n_c):
                G[first + j, a] += wx * C[i, j]
        for j in range(n_c):
            wx = weight * C[i, j]
            S[u, first + j] += slope * C[i, j]
            H[u, first + j] += wx
            for l in range(j + 1):
                G[first + j, first + l] += wx * C[i, l]
    for a in range(len(b)):
        for c in range(a):
            total = G[a, c] + G[c, a]
            G[a, c] = total
            G[c, a] = total
    return likelihood


@compiled
def without_levels(T: np.ndarray, G: np.ndarray, H: np.ndarray, weight_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """T' G T less what the units' levels take of it, and its diagonal before that."""
    A = T.T @ (G @ T)
    own = np.diag(A).copy()
    half = H @ T
    for u in range(len(half)):
        if weight_of[u] > 0.0:
            half[u] /= math.sqrt(weight_of[u])
    return A - half.T @ half, own


@compiled
def _levels(
    y: np.ndarray,
    offset: np.ndarray,
    unit: np.ndarray,
    family: int,
    level: np.ndarray,
    expected: np.ndarray,
) -> None:
    """Levels to start from: of each unit's mean."""
    level[:] = 0.0
    expected[:] = 0.0
    for i in range(len(y)):
        if np.isnan(y[i]):
            continue
        level[unit[i]] += y[i]
        expected[unit[i]] += math.exp(offset[i])
    for u in range(len(level)):
        if family == NEGATIVE_BINOMIAL:
            level[u] = math.log(max(level[u], LEAST) / max(expected[u], LEAST))
        elif family == BINOMIAL:
            share = (level[u] + 0.5) / (expected[u] + 1.0)
            level[u] = math.log(share / (1.0 - share))
        else:
            level[u] /= max(expected[u], 1.0)


@compiled
def fit_with_levels(
    y: np.ndarray,
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    C: np.ndarray,
    unit: np.ndarray,
    null: np.ndarray,
    family: int,
    phi: float,
    max_iter: int,
    tol: float,
    level: np.ndarray,
    G: np.ndarray,
    S: np.ndarray,
    H: np.ndarray,
    slope_of: np.ndarray,
    weight_of: np.ndarray,
) -> np.ndarray:
    """Coefficients in the columns of `null`, with levels in `level`; sums over rows are those at the end.

    Fisher scoring, as in the fits without levels; these are eliminated, as their part of the curvature is diagonal.
    """
    n_units, q = len(level), null.shape[1]
    _levels(y, offset, unit, family, level, weight_of)
    c = np.zeros(q)
    likelihood = _score_and_information(
        y, offset, index, value, C, unit, null @ c, level, family, phi, G, S, H, slope_of, weight_of
    )
    for iteration in range(max_iter):
        alone = np.zeros(n_units)
        for u in range(n_units):
            if weight_of[u] > 0.0:
                alone[u] = slope_of[u] / weight_of[u]
        A, own = without_levels(null, G, H, weight_of)
        L = factor(A, own, PIVOT)
        half = forward(L, null.T @ (S.sum(axis=0) - H.T @ alone))
        gain = 0.5 * (half @ half) + 0.5 * (slope_of @ alone)
        if gain < tol if family != GAUSSIAN else iteration > 0:  # the first step ends a fit by least squares
            break
        step = backward(L, half)
        move = null @ step
        up = alone
        for u in range(n_units):
            if weight_of[u] > 0.0:
                up[u] -= (H[u] @ move) / weight_of[u]
        if family != GAUSSIAN:
            largest = np.abs(up).max()
            if q > 0:
                largest = max(largest, np.abs(move).max())
            if largest > MAX_STEP:
                step *= MAX_STEP / largest
                up *= MAX_STEP / largest
        better = False
        for _ in range(30):
            b = null @ (c + step)
            gained = _score_and_information(
                y, offset, index, value, C, unit, b, level + up, family, phi, G, S, H, slope_of, weight_of
            )
            gained -= likelihood
            better = gained >= -1e-12 * (1.0 + abs(likelihood))
            if better:
                break
            step *= 0.5
            up *= 0.5
        if not better:  # rounding
            _score_and_information(
                y, offset, index, value, C, unit, null @ c, level, family, phi, G, S, H, slope_of, weight_of
            )
            break
        c = c + step
        level += up
        likelihood += gained
    return c
