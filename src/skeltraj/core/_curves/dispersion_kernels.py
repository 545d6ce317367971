"""Compiled estimates of dispersions, one response at a time."""

from __future__ import annotations

import numpy as np

from skeltraj.core._runtime.compile import compiled

from .kernels import NEGATIVE_BINOMIAL, fit_one, mean_at, predictor


@compiled
def _moment_dispersion(
    y: np.ndarray, mu: np.ndarray, n_free: float, start: float, tol: float, square: np.ndarray
) -> float:
    """Dispersion at which Pearson's statistic equals its degrees of freedom; `square` is there to be written over.

    The statistic falls with the dispersion and is convex, so Newton's steps rise to the root, from the second on; the
    dispersion is 0 where the statistic is too small already.
    """
    m = 0
    for i in range(len(y)):
        if y[i] == y[i]:
            mean = max(mu[i], 1e-12)
            square[m] = (y[i] - mean) ** 2 / mean
            mu[m] = mean
            m += 1
    at = start
    for _ in range(100):
        total, slope = 0.0, 0.0
        for i in range(m):
            size = 1.0 / (1.0 + at * mu[i])
            term = square[i] * size
            total += term
            slope += term * mu[i] * size
        if slope <= 0.0:  # no response lies off its mean
            return 0.0
        if at == 0.0 and total <= n_free:
            break
        before = at
        at = max(at + (total - n_free) / slope, 0.0)
        if abs(at - before) <= tol * at:
            break
    return at


@compiled
def fit_dispersions(
    Y: np.ndarray,
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    spans: np.ndarray,
    C: np.ndarray,
    T: np.ndarray,
    n_free: np.ndarray,
    start: np.ndarray,
    level: np.ndarray,
    least: float,
    max_iter: int,
    tol: float,
    close: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Dispersions of counts around curves in T's columns, means of the fitted values, and coefficients of the curves.

    Curves are fitted with the dispersion that second moments around each count's mean, its `level`, give.
    """
    g, n = Y.shape
    P = T.shape[0]
    phi, mean, coefficients = np.zeros(g), np.zeros(g), np.zeros((g, T.shape[1]))
    scale = np.exp(offset)
    family = np.int64(NEGATIVE_BINOMIAL)  # as a constant it would have all that takes it compiled once more
    G, U, mu, square = np.zeros((P, P)), np.zeros(P), np.zeros(n), np.zeros(n)
    for j in range(g):
        beyond, squared = 0.0, 0.0
        for i in range(n):
            if Y[j, i] == Y[j, i]:
                constant = scale[i] * level[j]
                beyond += (Y[j, i] - constant) ** 2 - constant
                squared += constant * constant
        rough = max(beyond / squared, least) if squared > 0.0 else least
        c, _, _ = fit_one(Y[j], offset, index, value, spans, C, T, family, rough, start[j], max_iter, tol, G, U, mu)
        for k in range(len(c)):
            coefficients[j, k] = c[k]
        total, rows = 0.0, 0
        for i in range(n):
            if Y[j, i] == Y[j, i]:
                total += mu[i]
                rows += 1
        mean[j] = total / max(rows, 1)
        phi[j] = _moment_dispersion(Y[j], mu, n_free[j], rough, close, square)
    return phi, mean, coefficients


@compiled
def dispersion_variances(
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    C: np.ndarray,
    B: np.ndarray,
    at: np.ndarray,
) -> np.ndarray:
    """Variance of the moment estimate of each dispersion, if it is `at`, judged by about a thousand rows.

    The variance of Pearson's statistic over the square of its slope. A row's squared residual has the variance 2 plus
    the excess kurtosis of a negative binomial, of which the fit of the mean takes the square of its skewness (a squared
    residual and the residual vary together): 2 + 2 a is left.
    """
    g, n = len(B), len(index)
    variance = np.zeros(g)
    step = max(1, n // 1000)
    for j in range(g):
        spread, slope = 0.0, 0.0
        for i in range(step // 2, n, step):
            mu = max(mean_at(predictor(i, offset, index, value, C, B[j]), np.int64(NEGATIVE_BINOMIAL)), 1e-12)
            spread += 2.0 + 2.0 * at[j]
            slope += mu / (1.0 + at[j] * mu)
        variance[j] = spread / (step * slope * slope)
    return variance
