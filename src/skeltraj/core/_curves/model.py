"""The distribution of responses around their curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from skeltraj._printing import Printed

from .design import Design
from .dispersion import LEAST, shrunk, trend_of
from .dispersion_kernels import dispersion_variances, fit_dispersions
from .kernels import (
    BINOMIAL,
    GAUSSIAN,
    NEGATIVE_BINOMIAL,
    fit_responses,
)
from .responses import Responses

Family = Literal["negative_binomial", "gaussian", "binomial"]
CODES = {"gaussian": GAUSSIAN, "negative_binomial": NEGATIVE_BINOMIAL, "binomial": BINOMIAL}
_ROUGH = 1e-2  # gain in likelihood below which a fit is good enough for a dispersion
_ROUNDING = 1e-6  # of the mean size of values: a mean below it is that of values around 0
_CLOSE = 1e-4  # relative step of a dispersion below which it is at its end
MAX_ITER = 25  # where there are no counts a curve falls without end; enough for it to be nothing
FINE = 1e-4  # gain in likelihood below which a step is the last of a fit


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """Distribution of the responses, given their curves.

    Parameters
    ----------
    family
        "negative_binomial" (logarithmic link, variance m + a m^2), "gaussian" or "binomial" (logistic link).
    offset
        Of each row in the linear predictor, (n,): the logarithm of its size factor.
    dispersion
        The a of each response, (n_responses,).
    """

    family: Family
    offset: np.ndarray
    dispersion: np.ndarray

    @property
    def code(self) -> int:
        """By which compiled functions know the family."""
        return CODES[self.family]

    def has_few_events(self, Y: np.ndarray, n_coefficients: int) -> np.ndarray:
        """Whether responses, the rows of Y, have no more events than there are coefficients, (g,).

        Events are points above 0, of yes and no those of the rarer. A curve, or levels of donors, can follow so few
        closely, wherever they are. What is left of residuals and scores is then far less than the errors of points
        make, and tells nothing of their size.
        """
        if self.family == "gaussian":
            return np.zeros(len(Y), dtype=bool)
        n_events = (np.nan_to_num(Y) > 0).sum(axis=1)
        if self.family == "binomial":
            n_events = np.minimum(n_events, (Y == 0).sum(axis=1))
        few: np.ndarray = n_events <= n_coefficients
        return few

    def fit(
        self, at: slice, Y: np.ndarray, design: Design, T: np.ndarray, *, tol: float, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Coefficients in the columns of T of a block of responses, likelihood, iterations and curvature."""
        rows = design.rows
        start = constant_start(Y, self.offset, self.code, design, T) if start is None else start
        return fit_responses(
            Y,
            self.offset,
            rows.index,
            rows.value,
            rows.spans,
            design.covariates,
            np.ascontiguousarray(T),
            self.code,
            self.dispersion[at],
            start,
            MAX_ITER,
            tol,
        )


def constant_start(Y: np.ndarray, offset: np.ndarray, code: int, design: Design, T: np.ndarray) -> np.ndarray:
    """Coefficients in the columns of T of each response's mean, (n_block, T.shape[1])."""
    known = ~np.isnan(Y)
    total, n = np.where(known, Y, 0.0).sum(axis=1), known.sum(axis=1)
    if code == NEGATIVE_BINOMIAL:
        level = np.log(np.maximum(total, 0.5) / (known @ np.exp(offset)))
    elif code == BINOMIAL:
        share = (total + 0.5) / (n + 1)
        level = np.log(share / (1 - share))
    else:
        level = total / np.maximum(n, 1)
    ones = np.r_[np.ones(design.rows.n_columns), np.zeros(design.covariates.shape[1])]
    of_ones = np.linalg.lstsq(T, ones, rcond=None)[0]
    return level[:, None] * of_ones


@dataclass(frozen=True, eq=False, repr=False)
class Dispersions(Printed):
    """Dispersions of responses, and how they were estimated, (n_responses,) each.

    Parameters
    ----------
    mean
        Of the fitted values.
    own
        By moments, from each response alone.
    trend
        Over the mean, shared.
    final
        Between the two, by how much each response tells.
    spread
        Standard deviation of dispersions around the trend, as a share of it.
    """

    mean: np.ndarray
    own: np.ndarray
    trend: np.ndarray
    final: np.ndarray
    spread: float


def estimate_dispersions(
    responses: Responses, design: Design, offset: np.ndarray, done: Callable[[int], None] | None = None
) -> tuple[Dispersions, np.ndarray]:
    """Dispersions around curves that are fitted to the whole design; with them coefficients to start from.

    Each is the value at which Pearson's statistic equals its degrees of freedom, drawn towards a trend that all
    responses share.
    """
    rows, C = design.rows, design.covariates
    T = np.ascontiguousarray(design.whole())
    n_coefficients = T.shape[1]

    def of(at: slice, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        n = (~np.isnan(Y)).sum(axis=1)
        start = constant_start(Y, offset, NEGATIVE_BINOMIAL, design, T)
        n_free = np.maximum(n - n_coefficients, 1.0)
        level = Y.sum(axis=1) / np.exp(offset).sum()
        own, mean, c = fit_dispersions(
            Y, offset, rows.index, rows.value, rows.spans, C, T, n_free, start, level, LEAST, MAX_ITER, _ROUGH, _CLOSE
        )
        return own, mean, c, np.asarray(Y.any(axis=1))

    own, mean, c, seen = responses.map(of, done)
    trend = trend_of(np.where(seen, mean, 0.0), np.where(seen, own, np.nan))
    variance = np.full(len(own), np.nan)
    there = np.flatnonzero(np.isfinite(trend))
    for some in np.array_split(there, max(1, len(there) // 256)):
        at = np.maximum(own[some], trend[some])
        variance[some] = dispersion_variances(offset, rows.index, rows.value, C, c[some] @ T.T, at)
    final, spread = shrunk(own, trend, variance)
    return Dispersions(mean, own, trend, final, spread), c


def means_of(Y: np.ndarray, model: Model) -> np.ndarray:
    """Mean of each response, a row of Y, of counts per unit of size factor, (n_block,); NaN where nothing is known.

    0 if it is less than a millionth of the mean of the values' sizes: the mean of a scaled gene is rounding.
    """
    if model.family == "negative_binomial":
        return np.asarray(Y.sum(axis=1) / np.exp(model.offset).sum())
    n = (~np.isnan(Y)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, size = np.nansum(Y, axis=1) / n, np.nansum(np.abs(Y), axis=1) / n
    return np.asarray(np.where(np.abs(mean) < _ROUNDING * size, 0.0, mean))


def error_curvature(model: Model, Y: np.ndarray, curvature: np.ndarray, likelihood: np.ndarray) -> np.ndarray:
    """Curvature of the likelihood in units of the errors' variance, which that of normal ones is to be told."""
    if model.family != "gaussian":
        return curvature
    n_free = np.maximum((~np.isnan(Y)).sum(axis=1) - curvature.shape[1], 1)
    return np.asarray(curvature / np.maximum(-2 * likelihood / n_free, 1e-300)[:, None, None])
