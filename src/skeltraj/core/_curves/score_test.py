"""The score test of the directions of a design, one response at a time: p-values and scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from .design import Design
from .kernels import LEFT
from .model import FINE, MAX_ITER, Model, constant_start
from .quadratic_form import tail_above_zero, tail_of_share
from .score_kernels import score_responses

# Of counts in few points the sums are far from normal: these counts are put on other points, _N_DRAWS times, as long as
# points with counts times directions are at most _DRAWN. The largest _N_TAIL draws say where the formula takes over.
_N_DRAWS = 500
_N_TAIL = 25
_DRAWN = 600


def test_of(model: Model, design: Design) -> Callable[[slice, np.ndarray], tuple[np.ndarray, ...]]:
    """A function of a block of responses: p-value, likelihood, score, points where it is not zero, null fit."""
    rows, C = design.rows, design.covariates
    null, tested = np.ascontiguousarray(design.null), np.ascontiguousarray(design.tested)
    n_null = null.shape[1]

    def test(at: slice, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        fitted, likelihood, share, kurtosis, leverage, squares, n, weights, drawn, scatter = score_responses(
            Y,
            model.offset,
            rows.index,
            rows.value,
            rows.spans,
            C,
            null,
            tested,
            design.weights,
            model.code,
            model.dispersion[at],
            model.has_few_events(Y, design.n_coefficients),
            constant_start(Y, model.offset, model.code, design, null),
            MAX_ITER,
            FINE,
            _N_DRAWS,
            _N_TAIL,
            max(1, _DRAWN // tested.shape[1]),
        )
        n_free = n - float(n_null)
        tail = lambda share: tail_of_share(share, weights, n_free, kurtosis, leverage, n)
        p_value = _with_draws(tail(share), share, drawn, tail)
        n_seen = (np.nan_to_num(Y) != 0).sum(axis=1)
        if model.family == "gaussian":
            p_value = np.maximum(p_value, _of_unequal_noise(share * squares, scatter, n - n_null - tested.shape[1]))
        else:  # of all ways to place so few events, none is less likely than the others
            few = np.minimum(n_seen, n - n_seen if model.family == "binomial" else n / 2)
            ways = special.binom(n, few)
            p_value = np.maximum(p_value, np.divide(1.0, ways, out=np.zeros(len(ways)), where=ways > 0))
        # what is left of normal values that covariates tell is rounding
        least = LEFT * np.nansum(Y**2, axis=1) if model.family == "gaussian" else 0.0
        p_value[is_constant(Y) | ~(squares > least)] = np.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            score = share * n_free / weights.sum(axis=1)
        return p_value, likelihood, score, n_seen, fitted

    return test


def _of_unequal_noise(explained: np.ndarray, scatter: np.ndarray, n_free: np.ndarray) -> np.ndarray:
    """p-values of squares of weighted scores, (g,), if noise differs from point to point.

    The scores are then normal with the covariance `scatter`, (g, m, m), which is estimated (MacKinnon and White 1985).
    """
    own = np.maximum(np.linalg.eigvalsh(scatter), 0.0)
    free = np.maximum(n_free, 1.0)[:, None]
    coefficients = np.hstack([own, -explained[:, None] / free])
    return tail_above_zero(coefficients, np.hstack([np.where(own > 0, 1.0, 0.0), free]))


def _with_draws(
    p_value: np.ndarray, share: np.ndarray, drawn: np.ndarray, tail: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """p-values by draws where there are some; beyond their largest twentieth, in proportion to the tail."""
    n_above, limit = drawn.T
    level = _N_TAIL / _N_DRAWS
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.minimum(level * p_value / tail(np.nan_to_num(limit)), level)
    by_draws = np.where(share > limit, beyond, (1 + n_above) / (1 + _N_DRAWS))
    return np.where(np.isnan(limit), p_value, by_draws)


def is_constant(Y: np.ndarray) -> np.ndarray:
    """Whether a response, a row of Y, has one value at most, (n_block,)."""
    high, low = np.nanmax(Y, axis=1, initial=-np.inf), np.nanmin(Y, axis=1, initial=np.inf)
    return np.asarray(~(high - low > 1e-12 * np.maximum(np.abs(high), np.abs(low))))
