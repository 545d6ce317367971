"""What each unit (a donor, say) adds to a score, and how units differ from a level that all share."""

from __future__ import annotations

import math

import numpy as np

from skeltraj.core._runtime.compile import compiled

from .factor import backward, factor, forward
from .kernels import BINOMIAL, FAR, GAUSSIAN, LEFT, MAX_STEP, NEGATIVE_BINOMIAL, mean_at, predictor, side_by_side
from .leverage import quadratic_form_at
from .unit_fit import LEAST, PIVOT, fit_with_levels, without_levels


@compiled
def unit_scores(
    Y: np.ndarray,
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    C: np.ndarray,
    unit: np.ndarray,
    n_units: int,
    donor: np.ndarray,
    group: np.ndarray,
    null: np.ndarray,
    tested: np.ndarray,
    weights: np.ndarray,
    family: int,
    phi: np.ndarray,
    max_iter: int,
    tol: float,
    with_lost: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Fit the null hypothesis with a level for each unit, and split the score of the tested directions by unit.

    Returned are, for each response: the units' scores (g, n_units, m), made orthogonal to the null space and to the
    directions before them, so that the covariance of their sum is the identity; each unit's share of that covariance,
    its diagonal added up with the weights (g, n_units); the weights (g, m), 0 for directions that the rows do not
    determine beyond the null hypothesis, or where no unit has several values; the coefficients (g, n_coefficients);
    Pearson's statistic over its degrees of freedom; rows of units, (g, n_units, q), whose products are the covariance
    that the error of the coefficients gives to the units' levels; and what the fit of the null hypothesis takes of the
    variance of the scores of each `donor` of units around the mean of its `group`, (g, n_donors): none of their sum.
    That is only computed `with_lost`, else 0.
    """
    g, n = Y.shape
    P, q, m = null.shape[0], null.shape[1], tested.shape[1]
    T = side_by_side(null, tested)
    scores, share = np.zeros((g, n_units, m)), np.zeros((g, n_units))
    used, fitted, scale = np.zeros((g, m)), np.zeros((g, P)), np.zeros(g)
    shared = np.zeros((g, n_units, q))
    n_donors = int(donor.max()) + 1
    lost, of_donor, row_weight = np.zeros((g, n_donors)), np.zeros((n_donors, P)), np.zeros(n)
    G, S, H = np.zeros((P, P)), np.zeros((n_units, P)), np.zeros((n_units, P))
    with_null, of_donors = np.zeros((n_donors, q)), np.zeros(n_donors)
    n_groups = int(group.max()) + 1
    slope_of, weight_of, level = np.zeros(n_units), np.zeros(n_units), np.zeros(n_units)
    for j in range(g):
        c = fit_with_levels(
            Y[j],
            offset,
            index,
            value,
            C,
            unit,
            null,
            family,
            phi[j],
            max_iter,
            tol,
            level,
            G,
            S,
            H,
            slope_of,
            weight_of,
        )
        b = null @ c
        for a in range(P):
            fitted[j, a] = b[a]
        A, own = without_levels(T, G, H, weight_of)
        L = factor(A, own, PIVOT)
        differ = _differ_within(Y[j], offset, index, value, C, unit, b, level, family)
        for k in range(m):
            if differ and L[q + k, q + k] > 0.0:
                used[j, k] = weights[k]
        half = np.zeros((m, P))
        for a in range(P):
            column = forward(L, T[a])
            for k in range(m):
                half[k, a] = column[q + k] * math.sqrt(used[j, k])
        M = half.T @ half
        for u in range(n_units):
            if weight_of[u] > 0.0:
                of_unit = S[u] - H[u] * (slope_of[u] / weight_of[u])
                score, level_error = forward(L, T.T @ of_unit), forward(L, T.T @ (H[u] / weight_of[u]))
                for k in range(m):
                    scores[j, u, k] = score[q + k]
                share[j, u] = -(H[u] @ (M @ H[u])) / weight_of[u]
                for k in range(q):
                    shared[j, u, k] = level_error[k]
        pearson, n_known = _of_rows(
            Y[j], offset, index, value, C, unit, b, level, family, phi[j], M, row_weight, share[j]
        )
        scale[j] = pearson / max(n_known - q - n_units, 1)
        of_donors[:] = 0.0
        for u in range(n_units):
            of_donors[donor[u]] += share[j, u]
        for k in range(m):
            if with_lost and used[j, k] > 0.0:
                unit_vector = np.zeros(q + m)
                unit_vector[q + k] = 1.0
                direction = T @ backward(L, unit_vector)
                _products(Y[j], row_weight, index, value, C, unit, donor, H, weight_of, direction, of_donor)
                for d in range(n_donors):
                    taken = forward(L, T.T @ of_donor[d])
                    for i in range(q):
                        with_null[d, i] = taken[i]
                _add_lost(lost[j], with_null, of_donors, group, n_groups, used[j, k])
    return scores, share, used, fitted, scale, shared, lost


@compiled
def _of_rows(
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
    M: np.ndarray,
    weight: np.ndarray,
    share: np.ndarray,
) -> tuple[float, int]:
    """Pearson's statistic, and the number of rows that are known.

    Their weights come into `weight`, and their part of the covariance, by the form M, is added to `share`, by unit.
    """
    pearson, n_known = 0.0, 0
    for i in range(len(y)):
        if np.isnan(y[i]):
            continue
        eta = predictor(i, offset, index, value, C, b) + level[unit[i]]
        weight[i] = _weight(eta, family, phi)
        mu = mean_at(eta, family)
        if weight[i] > 0.0:  # the variance is the square of the mean's slope over the weight
            rate = mu if family == NEGATIVE_BINOMIAL else (weight[i] if family == BINOMIAL else 1.0)
            pearson += (y[i] - mu) ** 2 * weight[i] / (rate * rate)
        n_known += 1
        share[unit[i]] += weight[i] * quadratic_form_at(i, index, value, C, M)
    return pearson, n_known


@compiled
def _add_lost(
    lost: np.ndarray,
    with_null: np.ndarray,
    share: np.ndarray,
    group: np.ndarray,
    n_groups: int,
    weight: float,
) -> None:
    """Add to what each donor has lost the square by which its row of `with_null` is off its share of its group's."""
    of_group, tells = np.zeros((n_groups, with_null.shape[1])), np.zeros(n_groups)
    for d in range(len(with_null)):
        of_group[group[d]] += with_null[d]
        tells[group[d]] += share[d]
    for d in range(len(with_null)):
        if share[d] > 0.0:
            away = with_null[d] - of_group[group[d]] * (share[d] / tells[group[d]])
            lost[d] += weight * (away @ away)


@compiled
def _products(
    y: np.ndarray,
    weight: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    C: np.ndarray,
    unit: np.ndarray,
    donor: np.ndarray,
    H: np.ndarray,
    weight_of: np.ndarray,
    direction: np.ndarray,
    of_donor: np.ndarray,
) -> None:
    """Products of a direction with all columns, by donor, without what the units' levels take, in `of_donor`."""
    first = len(direction) - C.shape[1]
    of_donor[:] = 0.0
    for i in range(len(y)):
        if np.isnan(y[i]):
            continue
        d, x = donor[unit[i]], 0.0
        for k in range(index.shape[1]):
            x += value[i, k] * direction[index[i, k]]
        for c in range(C.shape[1]):
            x += C[i, c] * direction[first + c]
        x *= weight[i]
        for k in range(index.shape[1]):
            of_donor[d, index[i, k]] += x * value[i, k]
        for c in range(C.shape[1]):
            of_donor[d, first + c] += x * C[i, c]
    for u in range(len(weight_of)):
        if weight_of[u] > 0.0:
            of_donor[donor[u]] -= H[u] * ((H[u] @ direction) / weight_of[u])


@compiled
def _differ_within(
    y: np.ndarray,
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    C: np.ndarray,
    unit: np.ndarray,
    b: np.ndarray,
    level: np.ndarray,
    family: int,
) -> bool:
    """Whether a response has several values within a unit; else its slopes at the fit are rounding.

    Of normal values, whether they differ from those fitted.
    """
    if family == GAUSSIAN:
        squares, left = 0.0, 0.0
        for i in range(len(y)):
            if not np.isnan(y[i]):
                squares += y[i] ** 2
                left += (y[i] - predictor(i, offset, index, value, C, b) - level[unit[i]]) ** 2
        return left > LEFT * squares
    first = np.full(len(level), np.nan)
    for i in range(len(y)):
        if np.isnan(first[unit[i]]):
            first[unit[i]] = y[i]
        elif not np.isnan(y[i]) and y[i] != first[unit[i]]:
            return True
    return False


@compiled
def _weight(eta: float, family: int, phi: float) -> float:
    """Expected curvature of a row's likelihood in its linear predictor."""
    if family == NEGATIVE_BINOMIAL:
        mu = math.exp(min(max(eta, -FAR), FAR))
        return mu / (1.0 + phi * mu)
    if family == BINOMIAL:
        mu = 1.0 / (1.0 + math.exp(-min(max(eta, -FAR), FAR)))
        return mu * (1.0 - mu)
    return 1.0


@compiled
def unit_levels(
    Y: np.ndarray,
    offset: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    C: np.ndarray,
    unit: np.ndarray,
    n_units: int,
    fitted: np.ndarray,
    family: int,
    phi: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Units beside a level that all share, with coefficients `fitted` (g, n_coefficients) given.

    By unit, (g, n_units) each: slope and expected curvature of the likelihood in the unit's level, at the shared one;
    the sum of the means there; and that of the squares of what is left.
    """
    g, n = Y.shape
    slope, weight = np.zeros((g, n_units)), np.zeros((g, n_units))
    mean, square = np.zeros((g, n_units)), np.zeros((g, n_units))
    eta = np.zeros(n)
    for j in range(g):
        for i in range(n):
            eta[i] = predictor(i, offset, index, value, C, fitted[j])
        total, expected = 0.0, 0.0
        for i in range(n):
            if np.isnan(Y[j, i]):
                continue
            total += Y[j, i]
            expected += math.exp(eta[i]) if family == NEGATIVE_BINOMIAL else 1.0
        level = 0.0
        if family == NEGATIVE_BINOMIAL:
            level = math.log(max(total, LEAST) / max(expected, LEAST))
        for step in range(30):
            slope[j] = 0.0
            weight[j] = 0.0
            mean[j] = 0.0
            square[j] = 0.0
            for i in range(n):
                if np.isnan(Y[j, i]):
                    continue
                u = unit[i]
                at = eta[i] + level
                mu = mean_at(at, family)
                w = _weight(at, family, phi[j])
                slope[j, u] += (Y[j, i] - mu) * (w / mu if family == NEGATIVE_BINOMIAL else 1.0)
                weight[j, u] += w
                mean[j, u] += mu
                square[j, u] += (Y[j, i] - mu) ** 2
            up, along = slope[j].sum(), weight[j].sum()
            # the first step ends a fit by least squares
            if not along > 0.0 or (up * up < 1e-12 * along if family != GAUSSIAN else step > 0):
                break
            level += up / along if family == GAUSSIAN else min(max(up / along, -MAX_STEP), MAX_STEP)
    return slope, weight, mean, square
