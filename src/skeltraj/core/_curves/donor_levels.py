"""Do donors of one condition have other levels than those of another?"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse, special
from scipy.sparse import csgraph

from .design import Design
from .donors import Donors, columns_of
from .kernels import LEFT
from .model import Model
from .moderation import moderated, trend
from .unit_kernels import unit_levels

_NO_RANK = 1e-10  # of the largest, below which a direction is not there; for rounding
_HALF_COUNT = 0.5  # added to counts and to what is expected, so that logarithms are finite


def level_differences(
    model: Model, design: Design, donors: Donors
) -> Callable[[slice, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, ...]]:
    """A function of a block of responses and of the shared curve, that tells how units' levels differ.

    The shared curve is given by its coefficients and, for each unit, a row of their errors (see `donor_scores`).
    Returned are levels, relative to one that all units share: for counts the logarithm of what is counted over what is
    expected; their precision, the inverse variance within a unit, at the shared level, (g, n_units) both; the
    covariance that the error of the curve gives to differences between conditions, see `level_test`; and the least
    p-value of the test, (g,): 0 but for few events, see `least_p_values`.
    """
    rows, C = design.rows, design.covariates
    n_coefficients = design.null.shape[1] + donors.n_units
    of_units = columns_of(donors.condition)
    of_points = of_units[donors.unit]
    comparisons = comparisons_of(donors)

    def levels(at: slice, Y: np.ndarray, fitted: np.ndarray, shared: np.ndarray) -> tuple[np.ndarray, ...]:
        slope, weight, mean, squares = unit_levels(
            Y,
            model.offset,
            rows.index,
            rows.value,
            C,
            donors.unit,
            donors.n_units,
            fitted,
            model.code,
            model.dispersion[at],
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            if model.family == "negative_binomial":
                little = _HALF_COUNT * weight / mean
                level = np.log((slope + weight + little) / (weight + little))
            else:
                level = slope / weight
            if model.family == "gaussian":  # in units of the error's standard deviation
                weight[~(squares.sum(axis=1) > LEFT * np.nansum(Y**2, axis=1))] = 0.0  # what is left is rounding
                left = (squares - slope * level).sum(axis=1) / np.maximum(weight.sum(axis=1) - n_coefficients, 1.0)
                level = level / np.sqrt(left)[:, None]
        few, least = model.has_few_events(Y, n_coefficients), np.zeros(len(Y))
        least[few] = least_p_values(model, Y[few], of_points, mean[few] @ of_units)
        # where donors are alike, and where they differ so much that all weigh alike
        weights = weight, (weight > 0) * 1.0
        of_curve = [np.concatenate([_of_curve(shared, w, one) for one in comparisons], axis=1) for w in weights]
        errors = [rows @ rows.transpose(0, 2, 1) for rows in of_curve]
        return np.where((weight > 0) & np.isfinite(level), level, 0.0), weight, np.stack(errors, axis=1), least

    return levels


def least_p_values(model: Model, Y: np.ndarray, of_condition: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """p-values below which a difference in level of responses with few events has none, (g,).

    How likely so many, or so few, of the events are of one condition, that of which it is least likely, if they come to
    conditions in proportion to what is `expected` there, (g, n_conditions), under the curve that all share;
    `of_condition` is as `columns_of` has it.
    """
    known, above = ~np.isnan(Y), np.nan_to_num(Y) > 0
    if model.family == "binomial":  # the rarer of yes and no
        many = (2 * above.sum(axis=1) > known.sum(axis=1))[:, None]
        above = np.where(many, known & ~above, above)
        expected = np.where(many, known @ of_condition - expected, expected)
    events, total = above @ of_condition, expected.sum(axis=1, keepdims=True)
    chance = np.divide(np.maximum(expected, 0.0), total, out=np.ones_like(expected), where=total > 0)
    total = events.sum(axis=1, keepdims=True).astype(np.int64)
    so_many = np.where(events > 0, special.bdtrc(events - 1, total, chance), 1.0)
    least: np.ndarray = np.minimum(so_many, special.bdtr(events, total, chance)).min(axis=1)
    return least


class Comparison(NamedTuple):
    """Units among which conditions are compared.

    Parameters
    ----------
    used
        Whether a unit is one of them, (n_units,).
    block
        Blocks of units, from 0, (n_units,): conditions are compared within them.
    condition
        Of each unit, from 0, (n_units,).
    rank
        How many differences between conditions these units tell, at least 1.
    """

    used: np.ndarray
    block: np.ndarray
    condition: np.ndarray
    rank: int


def comparisons_of(donors: Donors) -> list[Comparison]:
    """Donors with several conditions compared with themselves, and those with one with each other; one, or both."""
    several = np.bincount(donors.donor)[donors.donor] > 1
    found = []
    for used, block in ((several, donors.donor), (~several, np.zeros_like(donors.donor))):
        # conditions and blocks are in as many parts as those of their units that have nothing in common
        parts = _n_parts(block[used], donors.condition[used])
        rank = len(np.unique(donors.condition[used])) - parts
        if rank:
            found.append(Comparison(used, block, donors.condition, rank))
    return found


def _n_parts(block: np.ndarray, condition: np.ndarray) -> int:
    """In how many parts blocks and conditions fall, of which none has a unit in common with another."""
    if not len(block):
        return 0
    n = int(block.max()) + 1
    size = n + int(condition.max()) + 1
    linked = sparse.coo_matrix((np.ones(len(block)), (block, n + condition)), (size, size))
    part = csgraph.connected_components(linked, directed=False)[1]
    return len(np.unique(part[block]))


def level_test(
    level: np.ndarray, precision: np.ndarray, donors: Donors, along: np.ndarray, error: np.ndarray | None = None
) -> np.ndarray:
    """p-values of differences in level between conditions, (g,).

    A linear model of the units' levels, weighted by the inverse of the variance within units plus that between them,
    which follows a trend over the mean; of donors that have several conditions, with donors as blocks. The residual
    variance of each response is moderated (:func:`moderated`).

    Where some donors have several conditions and others one, there are two such models. The differences of each are
    given the length that normal ones with the same p-value have, and they are added, weighted by the inverse of their
    covariances: the square of the sum over its covariance is that of normal variables, however few donors either has.

    Levels are those beside a curve that all units share, and have its error in common: it shows in differences between
    conditions that lie at different places, and not in residuals. So its covariance, `error`, is added to that of the
    differences, those of one comparison after those of the other: (g, 2, n, n), where weights are `precision` and where
    they are equal; the true ones lie between. By it the differences of the two are correlated.
    """
    h, comparisons = int(donors.condition.max()), comparisons_of(donors)

    def error_of(i: int, k: int) -> np.ndarray | None:
        return None if error is None else error[:, :, i * h : (i + 1) * h, k * h : (k + 1) * h]

    tests = [_compared(level, precision, one, along, error_of(i, i)) for i, one in enumerate(comparisons)]
    if len(tests) == 1:
        return tests[0].p_value
    first, second = tests
    p = np.where(np.isfinite(first.p_value), first.p_value, second.p_value)
    both = np.isfinite(first.p_value) & np.isfinite(second.p_value)
    score, information = first.score + second.score, first.information + second.information
    shared = error_of(0, 1)
    if shared is not None:
        common = first.information @ _between(shared, (first.evened + second.evened) / 2) @ second.information
        information = information + common + common.transpose(0, 2, 1)
    inverse = np.linalg.pinv(information[both], rcond=_NO_RANK, hermitian=True)
    p[both] = special.chdtrc(h, np.einsum("gh,ghi,gi->g", score[both], inverse, score[both], optimize=True))
    return p


class _Compared(NamedTuple):
    """The test of one comparison.

    Parameters
    ----------
    p_value
        (g,); NaN where it cannot be made.
    score, information
        Normal differences that have these p-values, times the inverse of their covariance, (g, h), and that, (g, h, h).
    evened
        How far weights are from the precision, 0, to equal ones, 1, (g,).
    """

    p_value: np.ndarray
    score: np.ndarray
    information: np.ndarray
    evened: np.ndarray


def _compared(
    level: np.ndarray, precision: np.ndarray, one: Comparison, along: np.ndarray, error: np.ndarray | None
) -> _Compared:
    """Test the differences between conditions that the units of a comparison tell; see `level_test`."""
    precision = np.where(one.used, precision, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = _linear(level, precision, one)
        between = np.maximum(trend(along, (found.left - found.n_free) / found.per_variance), 0.0)
        weight = np.where(precision > 0, 1 / (between[:, None] + 1 / precision), 0.0)
        evened = between * precision.sum(axis=1) / one.used.sum()
        evened = np.nan_to_num(evened / (1 + evened))
        found = _linear(level, weight, one, None if error is None else _between(error, evened))
        variance, degrees = moderated(found.left / found.n_free, found.n_free, along)
        ratio = found.explained / one.rank / variance
        p = special.fdtrc(one.rank, degrees, ratio)
        p = np.where((found.n_free > 0) & np.isfinite(ratio), p, np.nan)
        squares = special.chdtri(one.rank, np.maximum(p, np.finfo(np.float64).tiny))
        length = np.where(found.explained > 0, np.sqrt(squares / found.explained), 0.0)
    return _Compared(p, length[:, None] * found.score, found.information, evened)


def _between(extremes: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Matrices between those of two extremes, (g, 2, h, h), by the share of the second, (g,)."""
    share = share[:, None, None]
    return (1 - share) * extremes[:, 0] + share * extremes[:, 1]


def _within_blocks(weight: np.ndarray, block: np.ndarray, condition: np.ndarray) -> tuple[np.ndarray, ...]:
    """How weighted least squares, weights (g, n_units), distinguish conditions within blocks.

    Which units are of which block, (n_blocks, n_units); one over the blocks' weights, (g, n_blocks), 0 where there is
    none; columns of the conditions but the first beyond their means in blocks, times the weights, (g, n_units, h); and
    the covariance of the differences, (g, h, h).
    """
    of_block = (np.arange(block.max() + 1)[:, None] == block).astype(np.float64)
    X = (condition[:, None] == np.arange(1, condition.max() + 1)).astype(np.float64)
    total = weight @ of_block.T
    per_total = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    means = np.einsum("gu,bu,uh->gbh", weight, of_block, X, optimize=True) * per_total[:, :, None]
    X = X - np.einsum("gbh,bu->guh", means, of_block, optimize=True)
    weighted = X * weight[:, :, None]
    A = np.linalg.pinv(np.einsum("guh,gui->ghi", weighted, X, optimize=True), hermitian=True, rcond=_NO_RANK)
    return of_block, per_total, weighted, A


def _of_curve(shared: np.ndarray, weight: np.ndarray, one: Comparison) -> np.ndarray:
    """Rows of errors of the differences of conditions, (g, h, q), from those of the units, (g, n_units, q)."""
    *_, weighted, A = _within_blocks(np.where(one.used, weight, 0.0), one.block, one.condition)
    return A @ (weighted.transpose(0, 2, 1) @ shared)


class _Linear(NamedTuple):
    """What weighted least squares of levels on conditions give, of each of g responses.

    Parameters
    ----------
    left, n_free
        Residual sum of squares, and its degrees of freedom, (g,).
    explained
        What conditions explain beyond blocks, (g,): the square of the differences over their covariance.
    per_variance
        What `left` grows by for each unit of variance that all levels have in addition to 1 / weight, (g,).
    score, information
        Differences times the inverse of their covariance, (g, h), and that, (g, h, h).
    """

    left: np.ndarray
    n_free: np.ndarray
    explained: np.ndarray
    per_variance: np.ndarray
    score: np.ndarray
    information: np.ndarray


def _linear(y: np.ndarray, weight: np.ndarray, one: Comparison, error: np.ndarray | None = None) -> _Linear:
    """Weighted least squares of y, (g, n_units), on conditions within blocks.

    To the covariance of the differences `error`, (g, h, h), is added.
    """
    of_block, per_total, weighted, A = _within_blocks(weight, one.block, one.condition)
    y = y - ((weight * y) @ of_block.T * per_total) @ of_block
    slope = np.einsum("guh,gu->gh", weighted, y, optimize=True)
    explained = np.einsum("gh,ghi,gi->g", slope, A, slope, optimize=True)
    squares = (weight * y**2).sum(axis=1)
    n_free = (weight > 0).sum(axis=1) - (per_total > 0).sum(axis=1) - one.rank * 1.0
    of_blocks = (weight**2 @ of_block.T * per_total).sum(axis=1)
    of_conditions = np.einsum("guh,gui,ghi->g", weighted, weighted, A, optimize=True)
    left, per_variance = np.maximum(squares - explained, 0.0), weight.sum(axis=1) - of_blocks - of_conditions
    information = np.linalg.pinv(A if error is None else A + error, hermitian=True, rcond=_NO_RANK)
    score = slope
    if error is not None:
        difference = np.einsum("ghi,gi->gh", A, slope)
        score = np.einsum("ghi,gi->gh", information, difference)
        explained = np.einsum("gh,gh->g", difference, score)
    return _Linear(left, n_free, explained, per_variance, score, information)
