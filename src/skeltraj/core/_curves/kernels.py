"""Compiled passes over the rows, one response at a time: likelihoods and fits of generalised linear models."""

from __future__ import annotations

import math

import numpy as np

from skeltraj.core._runtime.compile import compiled

from .factor import PIVOT, backward, factor, forward, within

GAUSSIAN, NEGATIVE_BINOMIAL, BINOMIAL = 0, 1, 2

MAX_STEP = 4.0  # of a coefficient in one iteration, so that exp does not overflow; chosen by eye
FAR = 40.0  # largest linear predictor: exp of its negative is nothing beside one count
LEFT = 1e-24  # share of the squares of normal values that a fit must leave of them, beyond rounding


@compiled
def predictor(i: int, offset: np.ndarray, index: np.ndarray, value: np.ndarray, C: np.ndarray, b: np.ndarray) -> float:
    """Linear predictor of row i at coefficients `b`, local ones first."""
    eta = offset[i]
    for k in range(4):
        eta += value[i, k] * b[index[i, k]]
    first = len(b) - C.shape[1]
    for j in range(C.shape[1]):
        eta += C[i, j] * b[first + j]
    return eta


@compiled
def side_by_side(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The columns of one matrix, then those of another with as many rows."""
    q = left.shape[1]
    both = np.zeros((len(left), q + right.shape[1]))
    for a in range(len(both)):
        for k in range(both.shape[1]):
            both[a, k] = left[a, k] if k < q else right[a, k - q]
    return both


@compiled
def mean_at(eta: float, family: int) -> float:
    if family == NEGATIVE_BINOMIAL:
        return math.exp(min(max(eta, -FAR), FAR))
    if family == BINOMIAL:
        return 1.0 / (1.0 + math.exp(-min(max(eta, -FAR), FAR)))
    return eta


@compiled
def _score_and_information(
    y: np.ndarray,
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    spans: np.ndarray,
    C: np.ndarray,
    b: np.ndarray,
    family: int,
    phi: float,
    G: np.ndarray,
    U: np.ndarray,
    fitted: np.ndarray,
) -> float:
    """Log-likelihood at coefficients `b`, but for terms of y alone.

    Its slope comes into U, the expected curvature into G, and the means of the rows into `fitted`.

    Rows of a span have their entries in the same four columns, so sums over a span are kept beside the matrix. Of the
    logarithms that all rows of a count need, those of eight rows are taken at once, of their product.
    """
    n_c = C.shape[1]
    first = len(b) - n_c
    G[:] = 0.0
    U[:] = 0.0
    likelihood, log_sizes = 0.0, 0.0
    by_product = phi > 1e-4
    for s in range(len(spans) - 1):
        c0, c1, c2, c3 = index[spans[s], 0], index[spans[s], 1], index[spans[s], 2], index[spans[s], 3]
        b0, b1, b2, b3 = b[c0], b[c1], b[c2], b[c3]
        u0, u1, u2, u3 = 0.0, 0.0, 0.0, 0.0
        g00, g10, g11, g20, g21 = 0.0, 0.0, 0.0, 0.0, 0.0
        g22, g30, g31, g32, g33 = 0.0, 0.0, 0.0, 0.0, 0.0
        product, n_in_product = 1.0, 0
        for i in range(spans[s], spans[s + 1]):
            response = y[i]
            if response != response:  # unknown
                continue
            x0, x1, x2, x3 = value[i, 0], value[i, 1], value[i, 2], value[i, 3]
            eta = offset[i] + x0 * b0 + x1 * b1 + x2 * b2 + x3 * b3
            for j in range(n_c):
                eta += C[i, j] * b[first + j]
            if family == NEGATIVE_BINOMIAL:
                eta = min(max(eta, -FAR), FAR)
                mu = math.exp(eta)
                size = 1.0 + phi * mu
                weight = mu / size
                slope = (response - mu) / size
                if by_product:
                    product *= size
                    n_in_product += 1
                    if n_in_product == 8:
                        log_sizes += math.log(product)
                        product, n_in_product = 1.0, 0
                    if response > 0.0:
                        likelihood += response * (eta - math.log(size))
                else:
                    log_size = math.log1p(phi * mu)
                    log_sizes += log_size
                    likelihood += response * (eta - log_size)
            elif family == BINOMIAL:
                eta = min(max(eta, -FAR), FAR)
                mu = 1.0 / (1.0 + math.exp(-eta))
                weight = mu * (1.0 - mu)
                slope = response - mu
                likelihood += response * eta - max(eta, 0.0) - math.log1p(math.exp(-abs(eta)))
            else:
                mu = eta
                weight = 1.0
                slope = response - eta
                likelihood -= 0.5 * slope * slope
            fitted[i] = mu
            u0 += slope * x0
            u1 += slope * x1
            u2 += slope * x2
            u3 += slope * x3
            w0, w1, w2, w3 = weight * x0, weight * x1, weight * x2, weight * x3
            g00 += w0 * x0
            g10 += w1 * x0
            g11 += w1 * x1
            g20 += w2 * x0
            g21 += w2 * x1
            g22 += w2 * x2
            g30 += w3 * x0
            g31 += w3 * x1
            g32 += w3 * x2
            g33 += w3 * x3
            for j in range(n_c):
                x = C[i, j]
                U[first + j] += slope * x
                G[first + j, c0] += w0 * x
                G[first + j, c1] += w1 * x
                G[first + j, c2] += w2 * x
                G[first + j, c3] += w3 * x
                for l in range(j + 1):
                    G[first + j, first + l] += weight * x * C[i, l]
        if n_in_product:
            log_sizes += math.log(product)
        U[c0] += u0
        U[c1] += u1
        U[c2] += u2
        U[c3] += u3
        G[c0, c0] += g00
        G[c1, c1] += g11
        G[c2, c2] += g22
        G[c3, c3] += g33
        _add_twice(G, c1, c0, g10)
        _add_twice(G, c2, c0, g20)
        _add_twice(G, c2, c1, g21)
        _add_twice(G, c3, c0, g30)
        _add_twice(G, c3, c1, g31)
        _add_twice(G, c3, c2, g32)
    for j in range(n_c):
        for a in range(first + j):
            G[a, first + j] = G[first + j, a]
    return likelihood - log_sizes / phi if family == NEGATIVE_BINOMIAL else likelihood


@compiled
def _add_twice(G: np.ndarray, a: int, c: int, value: float) -> None:
    """Add the product of two entries of a row to a symmetric matrix; on a circle both may be of one column."""
    G[a, c] += value
    G[c, a] += value


@compiled
def _level(y: np.ndarray, offset: np.ndarray, start: float, phi: float, tol: float) -> float:
    """The constant that fits a count best, without a logarithm or exponential for each row: a start that is the end."""
    scale = np.exp(offset)
    level = start
    for _ in range(50):
        factor = math.exp(min(max(level, -FAR), FAR))
        slope, curvature = 0.0, 0.0
        for i in range(len(y)):
            if y[i] == y[i]:
                mu = scale[i] * factor
                size = 1.0 / (1.0 + phi * mu)
                slope += (y[i] - mu) * size
                curvature += mu * size
        step = slope / curvature if curvature > 0.0 else 0.0
        level += min(max(step, -1.0), 1.0)
        if step * slope < tol * 1e-3:
            break
    return level


@compiled
def fit_one(
    y: np.ndarray,
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    spans: np.ndarray,
    C: np.ndarray,
    T: np.ndarray,
    family: int,
    phi: float,
    start: np.ndarray,
    max_iter: int,
    tol: float,
    G: np.ndarray,
    U: np.ndarray,
    fitted: np.ndarray,
) -> tuple[np.ndarray, float, int]:
    """Fisher scoring in the coefficients c of b = T c; a step that loses likelihood is halved.

    Ends when the next step would gain less than `tol` in likelihood; that step is taken, and no other pass made for it.
    The likelihood, G, U and `fitted`, curvature, slope and means, are those before it.
    """
    c = start.copy()
    if len(c) == 1 and C.shape[1] == 0 and family == NEGATIVE_BINOMIAL:
        c[0] = _level(y, offset, c[0] * T[0, 0], phi, tol) / T[0, 0]
    b = T @ c
    likelihood = _score_and_information(y, offset, index, value, spans, C, b, family, phi, G, U, fitted)
    for iteration in range(max_iter):
        u = T.T @ U
        A = within(T, G)
        L = factor(A, np.diag(A), PIVOT)
        half = forward(L, u)
        gain = 0.5 * (half @ half)
        step = backward(L, half)
        if family != GAUSSIAN:
            largest = np.abs(T @ step).max()
            if largest > MAX_STEP:
                step *= MAX_STEP / largest
        if gain < tol if family != GAUSSIAN else iteration > 0:  # the first step ends a fit by least squares
            return c + step, likelihood, iteration
        for _ in range(30):
            new = c + step
            b = T @ new
            gained = (
                _score_and_information(y, offset, index, value, spans, C, b, family, phi, G, U, fitted) - likelihood
            )
            if gained >= -1e-12 * (1.0 + abs(likelihood)):
                break
            step *= 0.5
        else:  # no step gains: rounding
            _score_and_information(y, offset, index, value, spans, C, T @ c, family, phi, G, U, fitted)
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
    spans: np.ndarray,
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
    G, U, mu = np.zeros((P, P)), np.zeros(P), np.zeros(Y.shape[1])
    for j in range(g):
        c, likelihood[j], n_iter[j] = fit_one(
            Y[j], offset, index, value, spans, C, T, family, phi[j], start[j], max_iter, tol, G, U, mu
        )
        A = within(T, G)
        for k in range(q):
            coefficients[j, k] = c[k]
            for l in range(q):
                curvature[j, k, l] = A[k, l]
    return coefficients, likelihood, n_iter, curvature


@compiled
def saturated_likelihoods(Y: np.ndarray, family: int, phi: np.ndarray) -> np.ndarray:
    """Log-likelihood of means that equal the values, less terms of y alone, as in `_score_and_information`."""
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


@compiled
def contrast_errors(curvature: np.ndarray, T: np.ndarray, contrasts: np.ndarray) -> np.ndarray:
    """Standard errors of contrasts of the coefficients T c of each response, (g, n_contrasts).

    `curvature` is that of the likelihood in c, (g, q, q); contrasts are in coefficients of T's rows.
    """
    g, n = len(curvature), len(contrasts)
    errors = np.zeros((g, n))
    within = contrasts @ T
    for j in range(g):
        L = factor(curvature[j], np.diag(curvature[j]), PIVOT)
        for k in range(n):
            half = forward(L, within[k])
            errors[j, k] = math.sqrt(half @ half)
    return errors
