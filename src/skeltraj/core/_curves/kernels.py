"""Compiled passes over the rows, one response at a time: likelihoods, fits and scores of generalised linear models."""

from __future__ import annotations

import math

import numpy as np

from skeltraj.core._runtime.compile import compiled

GAUSSIAN, NEGATIVE_BINOMIAL, BINOMIAL = 0, 1, 2

_MAX_STEP = 4.0  # of a coefficient in one iteration, so that exp does not overflow; chosen by eye
_FAR = 40.0  # largest linear predictor: exp of its negative is nothing beside one count
_PIVOT = 1e-10  # share of a column's own square that others must leave of it, else it is not fitted; for rounding


@compiled
def _predictor(i: int, offset: np.ndarray, index: np.ndarray, value: np.ndarray, C: np.ndarray, b: np.ndarray) -> float:
    """Linear predictor of row i at coefficients `b`, local ones first."""
    eta = offset[i]
    for k in range(index.shape[1]):
        eta += value[i, k] * b[index[i, k]]
    first = len(b) - C.shape[1]
    for j in range(C.shape[1]):
        eta += C[i, j] * b[first + j]
    return eta


@compiled
def _mean(eta: float, family: int) -> float:
    if family == NEGATIVE_BINOMIAL:
        return math.exp(min(max(eta, -_FAR), _FAR))
    if family == BINOMIAL:
        return 1.0 / (1.0 + math.exp(-min(max(eta, -_FAR), _FAR)))
    return eta


@compiled
def _pass(
    y: np.ndarray,
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    C: np.ndarray,
    b: np.ndarray,
    family: int,
    phi: float,
    G: np.ndarray,
    U: np.ndarray,
) -> float:
    """Log-likelihood at coefficients `b`, but for terms of y alone; its slope in U, the expected curvature in G."""
    n, width = index.shape
    n_c = C.shape[1]
    first = len(b) - n_c
    G[:] = 0.0
    U[:] = 0.0
    likelihood = 0.0
    for i in range(n):
        if np.isnan(y[i]):
            continue
        eta = _predictor(i, offset, index, value, C, b)
        if family == NEGATIVE_BINOMIAL:
            eta = min(max(eta, -_FAR), _FAR)
            mu = math.exp(eta)
            size = 1.0 + phi * mu
            weight = mu / size
            slope = (y[i] - mu) / size
            log_size = math.log(size) / phi if phi * mu > 1e-6 else mu * (1.0 - 0.5 * phi * mu)
            likelihood += y[i] * eta - y[i] * phi * log_size - log_size
        elif family == BINOMIAL:
            eta = min(max(eta, -_FAR), _FAR)
            mu = 1.0 / (1.0 + math.exp(-eta))
            weight = mu * (1.0 - mu)
            slope = y[i] - mu
            likelihood += y[i] * eta - (eta + math.log1p(math.exp(-eta)) if eta > 0 else math.log1p(math.exp(eta)))
        else:
            weight = 1.0
            slope = y[i] - eta
            likelihood -= 0.5 * slope * slope
        for k in range(width):
            a = index[i, k]
            x = value[i, k]
            U[a] += slope * x
            wx = weight * x
            G[a, a] += wx * x
            for l in range(k):  # twice, if both entries are of one column, as on a circle
                G[a, index[i, l]] += wx * value[i, l] * (2.0 if index[i, l] == a else 1.0)
            for j in range(n_c):
                G[first + j, a] += wx * C[i, j]
        for j in range(n_c):
            U[first + j] += slope * C[i, j]
            wx = weight * C[i, j]
            for l in range(j + 1):
                G[first + j, first + l] += wx * C[i, l]
    # entries of a row come in an order of their own, so a product may stand on either side of the diagonal
    for a in range(len(b)):
        for c in range(a):
            total = G[a, c] + G[c, a]
            G[a, c] = total
            G[c, a] = total
    return likelihood


@compiled
def _within(T: np.ndarray, G: np.ndarray) -> np.ndarray:
    """T' G T."""
    return T.T @ (G @ T)


@compiled
def _factor(A: np.ndarray) -> np.ndarray:
    """Cholesky factor of A, column by column in their order; 0 for columns that those before them span."""
    n = len(A)
    L = np.zeros((n, n))
    for j in range(n):
        pivot = A[j, j]
        for k in range(j):
            pivot -= L[j, k] * L[j, k]
        if pivot <= _PIVOT * A[j, j] or not pivot > 0.0:
            continue
        L[j, j] = math.sqrt(pivot)
        for i in range(j + 1, n):
            total = A[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = total / L[j, j]
    return L


@compiled
def _forward(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solution of L x = b; 0 where the column is not there."""
    n = len(b)
    x = np.zeros(n)
    for i in range(n):
        if L[i, i] > 0.0:
            total = b[i]
            for k in range(i):
                total -= L[i, k] * x[k]
            x[i] = total / L[i, i]
    return x


@compiled
def _backward(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solution of L' x = b; 0 where the column is not there."""
    n = len(b)
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        if L[i, i] > 0.0:
            total = b[i]
            for k in range(i + 1, n):
                total -= L[k, i] * x[k]
            x[i] = total / L[i, i]
    return x


@compiled
def _fit(
    y: np.ndarray,
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    C: np.ndarray,
    T: np.ndarray,
    family: int,
    phi: float,
    start: np.ndarray,
    max_iter: int,
    tol: float,
    G: np.ndarray,
    U: np.ndarray,
) -> tuple[np.ndarray, float, int]:
    """Fisher scoring in the coefficients c of b = T c; a step that loses likelihood is halved.

    Ends when the next step would gain less than `tol` in likelihood. G and U hold curvature and slope at the end.
    """
    c = start.copy()
    b = T @ c
    likelihood = _pass(y, offset, index, value, C, b, family, phi, G, U)
    for iteration in range(max_iter):
        u = T.T @ U
        L = _factor(_within(T, G))
        half = _forward(L, u)
        gain = 0.5 * (half @ half)
        if gain < tol:
            return c, likelihood, iteration
        step = _backward(L, half)
        if family != GAUSSIAN:
            largest = np.abs(T @ step).max()
            if largest > _MAX_STEP:
                step *= _MAX_STEP / largest
        for _ in range(30):
            new = c + step
            b = T @ new
            gained = _pass(y, offset, index, value, C, b, family, phi, G, U) - likelihood
            if gained >= -1e-12 * (1.0 + abs(likelihood)):
                break
            step *= 0.5
        else:  # no step gains: rounding
            _pass(y, offset, index, value, C, T @ c, family, phi, G, U)
            return c, likelihood, iteration + 1
        c = new
        likelihood += gained
    return c, likelihood, max_iter


@compiled
def fit_responses(
    Y: np.ndarray,
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    C: np.ndarray,
    T: np.ndarray,
    family: int,
    phi: np.ndarray,
    start: np.ndarray,
    max_iter: int,
    tol: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Fit each response, a row of Y: coefficients in T, likelihood, iterations, expected curvature in T's columns."""
    g, q = len(Y), T.shape[1]
    P = T.shape[0]
    coefficients, likelihood = np.zeros((g, q)), np.zeros(g)
    n_iter, curvature = np.zeros(g, dtype=np.int64), np.zeros((g, q, q))
    G, U = np.zeros((P, P)), np.zeros(P)
    for j in range(g):
        c, value_, iterations = _fit(Y[j], offset, index, value, C, T, family, phi[j], start[j], max_iter, tol, G, U)
        coefficients[j] = c
        likelihood[j] = value_
        n_iter[j] = iterations
        curvature[j] = _within(T, G)
    return coefficients, likelihood, n_iter, curvature


@compiled
def moment_dispersions(
    Y: np.ndarray,
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    C: np.ndarray,
    B: np.ndarray,
    n_free: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Dispersions at which Pearson's statistic equals its degrees of freedom, and means of the fitted values.

    B holds the coefficients of each response, (g, n_coefficients). The statistic falls with the dispersion and is
    convex, so Newton's steps from 0 rise to the root; the dispersion is 0 where the statistic is too small already.
    """
    g, n = Y.shape
    phi = np.zeros(g)
    mean = np.zeros(g)
    mu, square = np.zeros(n), np.zeros(n)
    for j in range(g):
        m = 0
        for i in range(n):
            if np.isnan(Y[j, i]):
                continue
            mu[m] = max(_mean(_predictor(i, offset, index, value, C, B[j]), NEGATIVE_BINOMIAL), 1e-12)
            square[m] = (Y[j, i] - mu[m]) ** 2 / mu[m]
            m += 1
        at = 0.0
        for step in range(60):
            total, slope = 0.0, 0.0
            for i in range(m):
                size = 1.0 / (1.0 + at * mu[i])
                term = square[i] * size
                total += term
                slope += term * mu[i] * size
            if step == 0 and total <= n_free[j]:
                break
            move = (total - n_free[j]) / slope
            at += move
            if move <= 1e-6 * at:
                break
        phi[j] = at
        mean[j] = mu[:m].mean() if m else 0.0
    return phi, mean


@compiled
def dispersion_variances(
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    C: np.ndarray,
    B: np.ndarray,
    at: np.ndarray,
) -> np.ndarray:
    """Variance of the moment estimate of each dispersion, if it is `at`.

    The variance of Pearson's statistic, the sum over rows of 2 plus the excess kurtosis of a negative binomial, over
    the square of the statistic's slope.
    """
    g, n = len(B), len(index)
    variance = np.zeros(g)
    for j in range(g):
        spread, slope = 0.0, 0.0
        for i in range(n):
            mu = max(_mean(_predictor(i, offset, index, value, C, B[j]), NEGATIVE_BINOMIAL), 1e-12)
            size = 1.0 + at[j] * mu
            spread += 2.0 + 6.0 * at[j] + 1.0 / (mu * size)
            slope += mu / size
        variance[j] = spread / (slope * slope)
    return variance


@compiled
def score_responses(
    Y: np.ndarray,
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    C: np.ndarray,
    null: np.ndarray,
    tested: np.ndarray,
    weights: np.ndarray,
    family: int,
    phi: np.ndarray,
    fitted: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Score statistics of each response at the fit of its null hypothesis.

    `fitted` holds the null coefficients, (g, n_null). With r the Pearson residuals and Q the tested directions as rows
    weigh them, made orthogonal to the null space and to those before them: the share of the residuals' squares that
    the weighted directions explain; the kurtosis of the residuals; the sum of the squared leverages; the sum of the
    squares; rows that count; and the weights, 0 for directions that the weighted rows cannot tell.
    """
    g, n = Y.shape
    width, n_c, P = index.shape[1], C.shape[1], null.shape[0]
    first = P - n_c
    q, m = null.shape[1], tested.shape[1]
    T = np.zeros((P, q + m))
    T[:, :q] = null
    T[:, q:] = tested
    share, kurtosis, leverage = np.zeros(g), np.zeros(g), np.zeros(g)
    squares, counted = np.zeros(g), np.zeros(g, dtype=np.int64)
    used = np.zeros((g, m))
    G, U = np.zeros((P, P)), np.zeros(P)
    row_weight = np.zeros(n)
    for j in range(g):
        b = null @ fitted[j]
        _pass(Y[j], offset, index, value, C, b, family, phi[j], G, U)
        second, fourth, rows = 0.0, 0.0, 0
        for i in range(n):
            row_weight[i] = 0.0
            if np.isnan(Y[j, i]):
                continue
            mu = _mean(_predictor(i, offset, index, value, C, b), family)
            if family == NEGATIVE_BINOMIAL:
                variance = mu * (1.0 + phi[j] * mu)
                row_weight[i] = mu / (1.0 + phi[j] * mu)
            elif family == BINOMIAL:
                variance = mu * (1.0 - mu)
                row_weight[i] = variance
            else:
                variance = 1.0
                row_weight[i] = 1.0
            if variance > 0.0:
                r2 = (Y[j, i] - mu) ** 2 / variance
                second += r2
                fourth += r2 * r2
                rows += 1
        L = _factor(_within(T, G))
        z = _forward(L, T.T @ U)
        explained = 0.0
        for k in range(m):
            if L[q + k, q + k] > 0.0:
                used[j, k] = weights[k]
                explained += weights[k] * z[q + k] * z[q + k]
        left = second
        for k in range(q):
            left -= z[k] * z[k]
        counted[j] = rows
        squares[j] = left
        if not left > 0.0:
            continue
        share[j] = explained / left
        kurtosis[j] = rows * fourth / (second * second)
        # leverages: of row i, w_i x_i' M x_i
        half = np.zeros((m, P))
        for a in range(P):
            column = _forward(L, T[a])
            for k in range(m):
                half[k, a] = column[q + k] * math.sqrt(used[j, k])
        M = half.T @ half
        total = 0.0
        for i in range(n):
            if row_weight[i] == 0.0:
                continue
            h = 0.0
            for k in range(width):
                a = index[i, k]
                x = value[i, k]
                h += M[a, a] * x * x
                for l in range(k):
                    h += 2.0 * M[a, index[i, l]] * x * value[i, l]
                for c in range(n_c):
                    h += 2.0 * M[a, first + c] * x * C[i, c]
            for c in range(n_c):
                h += M[first + c, first + c] * C[i, c] * C[i, c]
                for l in range(c):
                    h += 2.0 * M[first + c, first + l] * C[i, c] * C[i, l]
            h *= row_weight[i]
            total += h * h
        leverage[j] = total
    return share, kurtosis, leverage, squares, counted, used


@compiled
def saturated_likelihoods(Y: np.ndarray, family: int, phi: np.ndarray) -> np.ndarray:
    """Log-likelihood of means that equal the values, but for terms of y alone, as `_pass` counts it."""
    g, n = Y.shape
    likelihood = np.zeros(g)
    if family != NEGATIVE_BINOMIAL:
        return likelihood
    for j in range(g):
        for i in range(n):
            y = Y[j, i]
            if y > 0.0:
                x = phi[j] * y
                log_size = math.log1p(x) / phi[j] if x > 1e-6 else y * (1.0 - 0.5 * x)
                likelihood[j] += y * math.log(y) - x * log_size - log_size
    return likelihood
