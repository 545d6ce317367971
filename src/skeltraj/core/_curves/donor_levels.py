"""Do donors of one condition have other levels than those of another?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from .design import Design
from .donors import Donors, columns_of
from .kernels import LEFT
from .model import Model
from .moderation import moderated, trend
from .unit_kernels import unit_levels

_HALF_COUNT = 0.5  # added to counts and to what is expected, so that logarithms are finite


def level_differences(
    model: Model, design: Design, donors: Donors
) -> Callable[[slice, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, ...]]:
    """A function of a block of responses and of the shared curve, that tells how units' levels differ.

    The shared curve is given by its coefficients and, for each unit, a row of their errors (see `donor_scores`).
    Returned are levels, relative to one that all units share: for counts the logarithm of what is counted over what is
    expected; their precision, the inverse variance within a unit, at the shared level, (g, n_units) both; the
    covariance that the error of the curve gives to differences between conditions, (g, 2, h, h), see `level_test`; and
    the least p-value of the test, (g,): 0 but for few events, see `least_p_values`.
    """
    rows, C = design.rows, design.covariates
    n_coefficients = design.null.shape[1] + donors.n_units
    of_units = columns_of(donors.condition)
    of_points = of_units[donors.unit]
    block = _blocks(donors)

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
        extremes = [_of_curve(shared, w, block, donors.condition) for w in (weight, (weight > 0) * 1.0)]
        return np.where((weight > 0) & np.isfinite(level), level, 0.0), weight, np.stack(extremes, axis=1), least

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


def level_test(
    level: np.ndarray, precision: np.ndarray, donors: Donors, along: np.ndarray, error: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    """p-values of differences in level between conditions, (g,), and their F statistics.

    A linear model of the units' levels, weighted by the inverse of the variance within units plus that between them,
    which follows a trend over the mean; with donors that have several conditions as blocks. The residual variance of
    each response is moderated (:func:`moderated`).

    Levels are those beside a curve that all units share, and have its error in common: it shows in differences between
    conditions that lie at different places, and not in residuals. So its covariance, `error`, is added to that of the
    differences: (g, 2, h, h), where weights are `precision` and where they are equal; the true ones lie between.
    """
    block = _blocks(donors)
    h = int(donors.condition.max())
    with np.errstate(divide="ignore", invalid="ignore"):
        residual, n_free, _, per_variance = _linear(level, precision, block, donors.condition)
        between = np.maximum(trend(along, (residual - n_free) / per_variance), 0.0)
        weight = np.where(precision > 0, 1 / (between[:, None] + 1 / precision), 0.0)
        of_curve = None
        if error is not None:
            evened = between * precision.mean(axis=1)
            evened = np.nan_to_num(evened / (1 + evened))[:, None, None]
            of_curve = (1 - evened) * error[:, 0] + evened * error[:, 1]
        residual, n_free, explained, _ = _linear(level, weight, block, donors.condition, of_curve)
        variance, degrees = moderated(residual / n_free, n_free, along)
        ratio = explained / h / variance
    p = special.fdtrc(h, degrees, ratio)
    return np.where((n_free > 0) & np.isfinite(ratio), p, np.nan), ratio


def _blocks(donors: Donors) -> np.ndarray:
    """The blocks of a linear model of units, from 0, (n_units,): donors, if they have several conditions, else one."""
    return donors.donor if donors.paired else np.zeros(donors.n_units, dtype=np.int64)


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
    A = np.linalg.pinv(np.einsum("guh,gui->ghi", weighted, X, optimize=True), hermitian=True, rcond=1e-10)
    return of_block, per_total, weighted, A


def _of_curve(shared: np.ndarray, weight: np.ndarray, block: np.ndarray, condition: np.ndarray) -> np.ndarray:
    """The covariance that units' rows of errors, (g, n_units, q), give to differences of conditions, (g, h, h)."""
    *_, weighted, A = _within_blocks(weight, block, condition)
    rows = A @ (weighted.transpose(0, 2, 1) @ shared)
    return rows @ rows.transpose(0, 2, 1)


def _linear(
    y: np.ndarray, weight: np.ndarray, block: np.ndarray, condition: np.ndarray, error: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    """Weighted least squares of y, (g, n_units), on conditions within blocks.

    Residual sum of squares, its degrees of freedom, what conditions explain beyond blocks, and what residual squares
    grow by for each unit of variance that all of y have in addition to 1 / weight; (g,) each. What is explained is the
    square of the differences over their covariance, to which `error`, (g, h, h), is added.
    """
    of_block, per_total, weighted, A = _within_blocks(weight, block, condition)
    y = y - ((weight * y) @ of_block.T * per_total) @ of_block
    slope = np.einsum("guh,gu->gh", weighted, y, optimize=True)
    explained = np.einsum("gh,ghi,gi->g", slope, A, slope, optimize=True)
    squares = (weight * y**2).sum(axis=1)
    n_free = (weight > 0).sum(axis=1) - (per_total > 0).sum(axis=1) - weighted.shape[2] * 1.0
    of_blocks = (weight**2 @ of_block.T * per_total).sum(axis=1)
    of_conditions = np.einsum("guh,gui,ghi->g", weighted, weighted, A, optimize=True)
    left = np.maximum(squares - explained, 0.0)
    if error is not None:
        difference = np.einsum("ghi,gi->gh", A, slope)
        inverse = np.linalg.pinv(A + error, hermitian=True, rcond=1e-10)
        explained = np.einsum("gh,ghi,gi->g", difference, inverse, difference, optimize=True)
    return left, n_free, explained, weight.sum(axis=1) - of_blocks - of_conditions
