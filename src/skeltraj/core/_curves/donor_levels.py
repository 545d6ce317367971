"""Do donors of one condition have other levels than those of another?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from .design import Design
from .donors import Donors, columns_of
from .model import Model
from .moderation import moderated, trend
from .unit_kernels import unit_levels

_HALF_COUNT = 0.5  # added to counts and to what is expected, so that logarithms are finite


def level_differences(
    model: Model, design: Design, donors: Donors
) -> Callable[[slice, np.ndarray, np.ndarray], tuple[np.ndarray, ...]]:
    """A function of a block of responses and the shared curve's coefficients: units' levels, their precision, a limit.

    Levels are relative to one that all units share: for counts the logarithm of what is counted over what is expected.
    Precision is the inverse variance within a unit, at the shared level. Both are (g, n_units). The limit is the least
    p-value of the test, (g,): 0 but for few events, see `least_p_values`.
    """
    rows, C = design.rows, design.covariates
    n_coefficients = design.null.shape[1] + donors.n_units
    of_units = columns_of(donors.condition)
    of_points = of_units[donors.unit]

    def levels(at: slice, Y: np.ndarray, fitted: np.ndarray) -> tuple[np.ndarray, ...]:
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
                left = (squares - slope * level).sum(axis=1) / np.maximum(weight.sum(axis=1) - n_coefficients, 1.0)
                level = level / np.sqrt(left)[:, None]
        few, least = model.has_few_events(Y, n_coefficients), np.zeros(len(Y))
        least[few] = least_p_values(model, Y[few], of_points, mean[few] @ of_units)
        return np.where((weight > 0) & np.isfinite(level), level, 0.0), weight, least

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


def level_test(level: np.ndarray, precision: np.ndarray, donors: Donors, along: np.ndarray) -> tuple[np.ndarray, ...]:
    """p-values of differences in level between conditions, (g,), and their F statistics.

    A linear model of the units' levels, weighted by the inverse of the variance within units plus that between them,
    which follows a trend over the mean; with donors that have several conditions as blocks. The residual variance of
    each response is moderated (:func:`moderated`).
    """
    block = donors.donor if donors.paired else np.zeros(donors.n_units, dtype=np.int64)
    h = int(donors.condition.max())
    with np.errstate(divide="ignore", invalid="ignore"):
        residual, n_free, _, per_variance = _linear(level, precision, block, donors.condition)
        between = np.maximum(trend(along, (residual - n_free) / per_variance), 0.0)
        weight = np.where(precision > 0, 1 / (between[:, None] + 1 / precision), 0.0)
        residual, n_free, explained, _ = _linear(level, weight, block, donors.condition)
        variance, degrees = moderated(residual / n_free, n_free, along)
        ratio = explained / h / variance
    p = special.fdtrc(h, degrees, ratio)
    return np.where((n_free > 0) & np.isfinite(ratio), p, np.nan), ratio


def _linear(y: np.ndarray, weight: np.ndarray, block: np.ndarray, condition: np.ndarray) -> tuple[np.ndarray, ...]:
    """Weighted least squares of y, (g, n_units), on conditions within blocks.

    Residual sum of squares, its degrees of freedom, what conditions explain beyond blocks, and what residual squares
    grow by for each unit of variance that all of y have in addition to 1 / weight; (g,) each.
    """
    of_block = (np.arange(block.max() + 1)[:, None] == block).astype(np.float64)
    X = (condition[:, None] == np.arange(1, condition.max() + 1)).astype(np.float64)
    total = weight @ of_block.T
    per_total = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    y = y - ((weight * y) @ of_block.T * per_total) @ of_block
    means = np.einsum("gu,bu,uh->gbh", weight, of_block, X, optimize=True) * per_total[:, :, None]
    X = X - np.einsum("gbh,bu->guh", means, of_block, optimize=True)
    weighted = X * weight[:, :, None]
    A = np.linalg.pinv(np.einsum("guh,gui->ghi", weighted, X, optimize=True), hermitian=True, rcond=1e-10)
    slope = np.einsum("guh,gu->gh", weighted, y, optimize=True)
    explained = np.einsum("gh,ghi,gi->g", slope, A, slope, optimize=True)
    squares = (weight * y**2).sum(axis=1)
    n_free = (weight > 0).sum(axis=1) - (total > 0).sum(axis=1) - X.shape[2] * 1.0
    of_blocks = (weight**2 @ of_block.T * per_total).sum(axis=1)
    of_conditions = np.einsum("guh,gui,ghi->g", weighted, weighted, A, optimize=True)
    return np.maximum(squares - explained, 0.0), n_free, explained, weight.sum(axis=1) - of_blocks - of_conditions
