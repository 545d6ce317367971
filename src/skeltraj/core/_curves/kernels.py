"""Compiled passes over the rows, one response at a time: likelihoods, fits and scores of generalised linear models."""

from __future__ import annotations

import math

import numpy as np

from skeltraj.core._runtime.compile import compiled

GAUSSIAN, NEGATIVE_BINOMIAL, BINOMIAL = 0, 1, 2

MAX_STEP = 4.0  # of a coefficient in one iteration, so that exp does not overflow; chosen by eye
FAR = 40.0  # largest linear predictor: exp of its negative is nothing beside one count
_PIVOT = 1e-10  # share of a column's own square that others must leave of it, else it is not fitted; for rounding


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
def mean_at(eta: float, family: int) -> float:
    if family == NEGATIVE_BINOMIAL:
        return math.exp(min(max(eta, -FAR), FAR))
    if family == BINOMIAL:
        return 1.0 / (1.0 + math.exp(-min(max(eta, -FAR), FAR)))
    return eta


@compiled
def _pass(
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
def forward(L: np.ndarray, b: np.ndarray) -> np.ndarray:
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
def backward(L: np.ndarray, b: np.ndarray) -> np.ndarray:
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
def _fit(
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
    likelihood = _pass(y, offset, index, value, spans, C, b, family, phi, G, U, fitted)
    for iteration in range(max_iter):
        u = T.T @ U
        L = _factor(_within(T, G))
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
            gained = _pass(y, offset, index, value, spans, C, b, family, phi, G, U, fitted) - likelihood
            if gained >= -1e-12 * (1.0 + abs(likelihood)):
                break
            step *= 0.5
        else:  # no step gains: rounding
            _pass(y, offset, index, value, spans, C, T @ c, family, phi, G, U, fitted)
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
        coefficients[j], likelihood[j], n_iter[j] = _fit(
            Y[j], offset, index, value, spans, C, T, family, phi[j], start[j], max_iter, tol, G, U, mu
        )
        curvature[j] = _within(T, G)
    return coefficients, likelihood, n_iter, curvature


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
    G, U, mu, square = np.zeros((P, P)), np.zeros(P), np.zeros(n), np.zeros(n)
    for j in range(g):
        beyond, squared = 0.0, 0.0
        for i in range(n):
            if Y[j, i] == Y[j, i]:
                constant = scale[i] * level[j]
                beyond += (Y[j, i] - constant) ** 2 - constant
                squared += constant * constant
        rough = max(beyond / squared, least) if squared > 0.0 else least
        coefficients[j], _, _ = _fit(
            Y[j], offset, index, value, spans, C, T, NEGATIVE_BINOMIAL, rough, start[j], max_iter, tol, G, U, mu
        )
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
            mu = max(mean_at(predictor(i, offset, index, value, C, B[j]), NEGATIVE_BINOMIAL), 1e-12)
            spread += 2.0 + 2.0 * at[j]
            slope += mu / (1.0 + at[j] * mu)
        variance[j] = spread / (step * slope * slope)
    return variance


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
    start: np.ndarray,
    max_iter: int,
    tol: float,
    n_draws: int,
    n_tail: int,
    most: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Fit the null hypothesis of each response, and score statistics there.

    `start` holds coefficients of the null space, (g, n_null). Gives those that fit, and the likelihood. With r the
    Pearson residuals and Q the tested directions as rows weigh them, made orthogonal to the null space and to those
    before them: the share of the residuals' squares that the weighted directions explain; the kurtosis of the
    residuals; the sum of the squared leverages; the sum of the squares; rows that count; the weights, 0 for directions
    that the weighted rows cannot tell; and, of counts above 0 in at most `most` rows, two numbers on the same response
    with its counts put on other rows at random, `n_draws` times (see `_resampled`): how often the share was as large,
    and the `n_tail`-th largest share, (g, 2), else NaN.
    """
    g, n = Y.shape
    n_c, P = C.shape[1], null.shape[0]
    first = P - n_c
    q, m = null.shape[1], tested.shape[1]
    T = np.zeros((P, q + m))
    T[:, :q] = null
    T[:, q:] = tested
    share, kurtosis, leverage = np.zeros(g), np.zeros(g), np.zeros(g)
    squares, counted = np.zeros(g), np.zeros(g, dtype=np.int64)
    used = np.zeros((g, m))
    G, U = np.zeros((P, P)), np.zeros(P)
    row_weight, fitted_mean, strength = np.zeros(n), np.zeros(n), np.zeros(most)
    drawn = np.full((g, 2), np.nan)
    fitted, likelihood = np.zeros((g, q)), np.zeros(g)
    for j in range(g):
        fitted[j], likelihood[j], _ = _fit(
            Y[j], offset, index, value, spans, C, null, family, phi[j], start[j], max_iter, tol, G, U, fitted_mean
        )
        second, fourth, rows = 0.0, 0.0, 0
        for i in range(n):
            row_weight[i] = 0.0
            if np.isnan(Y[j, i]):
                continue
            mu = fitted_mean[i]
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
        share[j] = explained / left
        kurtosis[j] = rows * fourth / (second * second)
        # leverages: of row i, w_i x_i' M x_i
        half = np.zeros((m, P))
        for a in range(P):
            column = forward(L, T[a])
            for k in range(m):
                half[k, a] = column[q + k] * math.sqrt(used[j, k])
        M = half.T @ half
        total = 0.0
        for i in range(n):
            if row_weight[i] == 0.0:
                continue
            h = 0.0
            for k in range(4):
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
        if family != NEGATIVE_BINOMIAL:
            continue
        count, seed = 0, 0
        for i in range(n):
            if Y[j, i] > 0.0:
                if count < most:
                    strength[count] = Y[j, i] / (1.0 + phi[j] * fitted_mean[i])
                count += 1
                seed += int(Y[j, i]) * (i + 1)
        if 0 < count <= most:
            # at most one event comes to a row in truth: the mean of the draws is set to what it is over permutations
            strength *= math.sqrt(left / (rows - q) * row_weight.sum() / (strength[:count] ** 2).sum())
            statistics = _resampled(strength, count, row_weight, index, value, C, half, seed, n_draws)
            drawn[j, 0] = n_draws - np.searchsorted(statistics, explained * (1.0 - 1e-9))
            drawn[j, 1] = statistics[n_draws - n_tail] / left
    return fitted, likelihood, share, kurtosis, leverage, squares, counted, used, drawn


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


@compiled
def contrast_errors(curvature: np.ndarray, T: np.ndarray, contrasts: np.ndarray) -> np.ndarray:
    """Standard errors of contrasts of the coefficients T c of each response, (g, n_contrasts).

    `curvature` is that of the likelihood in c, (g, q, q); contrasts are in coefficients of T's rows.
    """
    g, n = len(curvature), len(contrasts)
    errors = np.zeros((g, n))
    within = contrasts @ T
    for j in range(g):
        L = _factor(curvature[j])
        for k in range(n):
            half = forward(L, within[k])
            errors[j, k] = math.sqrt(half @ half)
    return errors


@compiled
def scatter(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, place: np.ndarray, n: int) -> np.ndarray:
    """Columns of a CSC matrix as rows, (n_columns, n): row i of the matrix comes to place[i], if that is >= 0."""
    block = np.zeros((len(indptr) - 1, n))
    for j in range(len(block)):
        for at in range(indptr[j], indptr[j + 1]):
            to = place[indices[at]]
            if to >= 0:
                block[j, to] += data[at]
    return block
