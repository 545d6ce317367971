"""Compiled score statistics, one response at a time."""

from __future__ import annotations

import math

import numpy as np

from skeltraj.core._runtime.compile import compiled

from .factor import PIVOT, backward, factor, forward, within
from .kernels import BINOMIAL, GAUSSIAN, NEGATIVE_BINOMIAL, fit_one, side_by_side
from .leverage import quadratic_form_at

_ALONE = 1e-6  # share of a row's own weight that others must leave, else its residual is made of rounding
_STEPS_OF_SEED = 1e3  # between two knots, within which rounding moves a row and no draw changes; chosen by eye
_BEYOND_ROUNDING = 1e-6  # of a step; rounding is far less


@compiled
def _next(state: np.uint64) -> np.uint64:
    """The next state of a xorshift generator (Marsaglia 2003)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@compiled
def _resampled(
    strength: np.ndarray,
    count: int,
    weight: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    C: np.ndarray,
    half: np.ndarray,
    seed: int,
    n_draws: int,
) -> np.ndarray:
    """Statistics of a response whose events are put on other rows, sorted, (n_draws,).

    The statistic is the squared length of the sum of ``strength_s half x_s`` over the first `count` events s. Each
    event comes to a row with a chance in proportion to the row's weight, so the sum has mean 0.
    """
    n, m = len(weight), len(half)
    first = half.shape[1] - C.shape[1]
    upto = np.cumsum(weight)
    guide = np.zeros(n + 1, dtype=np.int64)  # the row from which a share of the total is looked for
    row = 0
    for i in range(n):
        while row < n - 1 and upto[row] * n < i * upto[-1]:
            row += 1
        guide[i] = row
    guide[n] = row
    statistics = np.zeros(n_draws)
    total = np.zeros(m)
    state = np.uint64(88172645463325252) ^ (np.uint64(seed) * np.uint64(2654435769) + np.uint64(1))
    for _ in range(20):
        state = _next(state)
    for draw in range(n_draws):
        total[:] = 0.0
        for s in range(count):
            state = _next(state)
            share = float(state >> np.uint64(11)) / 9007199254740992.0
            to = guide[int(share * n)]
            while to < n - 1 and upto[to] < share * upto[-1]:
                to += 1
            for k in range(4):
                a, x = index[to, k], strength[s] * value[to, k]
                for l in range(m):
                    total[l] += half[l, a] * x
            for o in range(C.shape[1]):
                for l in range(m):
                    total[l] += half[l, first + o] * strength[s] * C[to, o]
        for l in range(m):
            statistics[draw] += total[l] * total[l]
    statistics.sort()
    return statistics


@compiled
def _scatter(
    y: np.ndarray,
    mean: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    spans: np.ndarray,
    C: np.ndarray,
    b: np.ndarray,
    whole: np.ndarray,
    half: np.ndarray,
) -> np.ndarray:
    """The covariance of the weighted score of a normal response whose noise may differ from row to row, (m, m).

    A row's variance is its squared residual around the whole curve, ``mean`` and what is left of it, with coefficients
    `b`, over one less its leverage (MacKinnon and White 1985, HC2). `whole` makes all directions of a row, `half` the
    weighted tested ones.
    """
    P, n_c = len(b), C.shape[1]
    first = P - n_c
    M, G = whole.T @ whole, np.zeros((P, P))
    sums = np.empty(10)
    for s in range(len(spans) - 1):
        c0, c1, c2, c3 = index[spans[s], 0], index[spans[s], 1], index[spans[s], 2], index[spans[s], 3]
        b0, b1, b2, b3 = b[c0], b[c1], b[c2], b[c3]
        m00, m11, m22, m33 = M[c0, c0], M[c1, c1], M[c2, c2], M[c3, c3]
        m10, m20, m21, m30, m31, m32 = M[c1, c0], M[c2, c0], M[c2, c1], M[c3, c0], M[c3, c1], M[c3, c2]
        sums[:] = 0.0
        for i in range(spans[s], spans[s + 1]):
            if y[i] != y[i]:  # unknown
                continue
            x0, x1, x2, x3 = value[i, 0], value[i, 1], value[i, 2], value[i, 3]
            r = y[i] - mean[i]
            away = r - x0 * b0 - x1 * b1 - x2 * b2 - x3 * b3
            own = m00 * x0 * x0 + m11 * x1 * x1 + m22 * x2 * x2 + m33 * x3 * x3
            own += 2.0 * (m10 * x1 * x0 + m20 * x2 * x0 + m21 * x2 * x1 + m30 * x3 * x0 + m31 * x3 * x1 + m32 * x3 * x2)
            for c in range(n_c):
                a, x = first + c, C[i, c]
                away -= b[a] * x
                own += 2.0 * x * (M[a, c0] * x0 + M[a, c1] * x1 + M[a, c2] * x2 + M[a, c3] * x3)
                for l in range(n_c):
                    own += x * M[a, first + l] * C[i, l]
            variance = away * away / (1.0 - own) if 1.0 - own > _ALONE else r * r
            w0, w1, w2, w3 = variance * x0, variance * x1, variance * x2, variance * x3
            sums[0] += w0 * x0
            sums[1] += w1 * x0
            sums[2] += w1 * x1
            sums[3] += w2 * x0
            sums[4] += w2 * x1
            sums[5] += w2 * x2
            sums[6] += w3 * x0
            sums[7] += w3 * x1
            sums[8] += w3 * x2
            sums[9] += w3 * x3
            for c in range(n_c):
                a, x = first + c, C[i, c]
                G[a, c0] += w0 * x
                G[a, c1] += w1 * x
                G[a, c2] += w2 * x
                G[a, c3] += w3 * x
                for l in range(n_c):
                    G[a, first + l] += variance * x * C[i, l]
        at = 0
        for k in range(4):
            for l in range(k):
                a, c = index[spans[s], k], index[spans[s], l]
                G[a, c] += sums[at]  # on a circle both may be of one column
                G[c, a] += sums[at]
                at += 1
            G[index[spans[s], k], index[spans[s], k]] += sums[at]
            at += 1
    for c in range(n_c):
        for a in range(first):
            G[a, first + c] = G[first + c, a]
    return half @ (G @ half.T)


@compiled
def _residuals(
    y: np.ndarray, fitted_mean: np.ndarray, family: int, phi: float, row_weight: np.ndarray
) -> tuple[float, float, float, int]:
    """Sums of Pearson residuals squared, of their squares, of the squared slopes of counts, and rows that count.

    The rows' weights come into `row_weight`.
    """
    second, fourth, slopes, rows = 0.0, 0.0, 0.0, 0
    for i in range(len(y)):
        row_weight[i] = 0.0
        if np.isnan(y[i]):
            continue
        mu = fitted_mean[i]
        if family == NEGATIVE_BINOMIAL:
            variance = mu * (1.0 + phi * mu)
            row_weight[i] = mu / (1.0 + phi * mu)
            slopes += ((y[i] - mu) / (1.0 + phi * mu)) ** 2
        elif family == BINOMIAL:
            variance = mu * (1.0 - mu)
            row_weight[i] = variance
        else:
            variance = 1.0
            row_weight[i] = 1.0
        if variance > 0.0:
            r2 = (y[i] - mu) ** 2 / variance
            second += r2
            fourth += r2 * r2
            rows += 1
    return second, fourth, slopes, rows


@compiled
def _squared_leverages(
    row_weight: np.ndarray, index: np.ndarray, value: np.ndarray, C: np.ndarray, M: np.ndarray
) -> float:
    """Sum of the squares of the leverages, of row i ``w_i x_i' M x_i``."""
    total = 0.0
    for i in range(len(row_weight)):
        if row_weight[i] == 0.0:
            continue
        h = row_weight[i] * quadratic_form_at(i, index, value, C, M)
        total += h * h
    return total


@compiled
def _events(
    y: np.ndarray, fitted_mean: np.ndarray, index: np.ndarray, value: np.ndarray, phi: float, strength: np.ndarray
) -> tuple[np.int64, np.int64]:
    """How many counts are above 0, and a seed made of them; the slopes of as many as fit come into `strength`."""
    count, seed = np.int64(0), np.int64(0)
    for i in range(len(y)):
        if y[i] > 0.0:
            if count < len(strength):
                strength[count] = y[i] / (1.0 + phi * fitted_mean[i])
            count += 1
            # of where the row lies, not of its number, which rounding changes where rows lie close together
            place = value[i, 1] + 2.0 * value[i, 2] + 3.0 * value[i, 3]
            # a little farther on, since rows at a knot, as at a node, are at the border of a step but for rounding
            step = int(_STEPS_OF_SEED * place + _BEYOND_ROUNDING)
            seed += int(y[i]) * (int(index[i, 0]) * 7919 + step + 1)
    return count, seed


@compiled
def score_responses(
    Y: np.ndarray,
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    spans: np.ndarray,
    C: np.ndarray,
    null: np.ndarray,
    tested: np.ndarray,
    weights: np.ndarray,
    family: int,
    phi: np.ndarray,
    few: np.ndarray,
    start: np.ndarray,
    max_iter: int,
    tol: float,
    n_draws: int,
    n_tail: int,
    most: int,
) -> tuple[np.ndarray, ...]:
    """Fit the null hypothesis of each response, and score statistics there.

    `few` says which responses have few events (`Model.has_few_events`): their squares count at least as the family
    makes them. `start` holds coefficients of the null space, (g, n_null). Gives those that fit, and the likelihood.
    With r the Pearson residuals and Q the tested directions as rows weigh them, made orthogonal to the null space and
    to those before them: the share of the residuals' squares that the weighted directions explain; the kurtosis of the
    residuals; the sum of the squared leverages; the sum of the squares; rows that count; the weights, 0 for directions
    that the weighted rows cannot tell; and, of counts above 0 in at most `most` rows, two numbers on the same response
    with its counts put on other rows at random, `n_draws` times (see `_resampled`): how often the share was as large,
    and the `n_tail`-th largest share, (g, 2), else NaN; and of normal responses `_scatter`, (g, m, m), else 0.
    """
    g, n = Y.shape
    P = null.shape[0]
    q, m = null.shape[1], tested.shape[1]
    T = side_by_side(null, tested)
    share, kurtosis, leverage = np.zeros(g), np.zeros(g), np.zeros(g)
    squares, counted = np.zeros(g), np.zeros(g, dtype=np.int64)
    used = np.zeros((g, m))
    G, U = np.zeros((P, P)), np.zeros(P)
    row_weight, fitted_mean, strength = np.zeros(n), np.zeros(n), np.zeros(most)
    drawn, scatter = np.full((g, 2), np.nan), np.zeros((g, m, m))
    fitted, likelihood = np.zeros((g, q)), np.zeros(g)
    for j in range(g):
        c, likelihood[j], _ = fit_one(
            Y[j], offset, index, value, spans, C, null, family, phi[j], start[j], max_iter, tol, G, U, fitted_mean
        )
        for k in range(q):
            fitted[j, k] = c[k]
        second, fourth, slopes, rows = _residuals(Y[j], fitted_mean, family, phi[j], row_weight)
        A = within(T, G)
        L = factor(A, np.diag(A), PIVOT)
        z = forward(L, T.T @ U)
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
        if not left > 0.0 or not second * second > 0.0:  # a response without counts: squares that are lost in rounding
            continue
        if few[j]:  # a curve can fit these closely, and then leaves far less than the family makes
            left = max(left, float(rows - q))
            second = max(second, left)
        share[j] = explained / left
        kurtosis[j] = rows * fourth / (second * second)
        whole, half = np.zeros((q + m, P)), np.zeros((m, P))
        for a in range(P):
            column = forward(L, T[a])
            for k in range(q + m):
                whole[k, a] = column[k]
            for k in range(m):
                half[k, a] = whole[q + k, a] * math.sqrt(used[j, k])
        leverage[j] = _squared_leverages(row_weight, index, value, C, half.T @ half)
        if family == GAUSSIAN:
            b = T @ backward(L, z)
            of_response = _scatter(Y[j], fitted_mean, index, value, spans, C, b, whole, half)
            for k in range(m):
                for l in range(m):
                    scatter[j, k, l] = of_response[k, l]
        if family != NEGATIVE_BINOMIAL:
            continue
        count, seed = _events(Y[j], fitted_mean, index, value, phi[j], strength)
        if 0 < count <= most:
            strength[:count].sort()
            # at most one event comes to a row in truth: the mean of the draws is set to what it is over permutations
            strength *= math.sqrt(slopes * rows / (rows - q) / (strength[:count] ** 2).sum())
            statistics = _resampled(strength, count, row_weight, index, value, C, half, seed, n_draws)
            drawn[j, 0] = n_draws - np.searchsorted(statistics, explained * (1.0 - 1e-9))
            drawn[j, 1] = statistics[n_draws - n_tail] / left
    return fitted, likelihood, share, kurtosis, leverage, squares, counted, used, drawn, scatter
