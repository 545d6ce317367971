"""One p-value of several that depend on each other."""

from __future__ import annotations

import numpy as np

_LARGEST = 0.999  # p-values above count as this: the tangent of one at 1 would outweigh all others. Chosen by eye.

_EXCESS = 0.08  # by which dependent tests exceed their level, for each doubling of their number; see below


def combined_p_values(p_value: np.ndarray) -> np.ndarray:
    """Cauchy combination of p-values, (n_tests, n) to (n,); tests that are NaN do not count.

    Each becomes the quantile of a Cauchy distribution that it leaves above it; the mean of these is such a quantile
    again: exactly, if the tests are independent or the same, and for very small p-values whatever their dependence. At
    levels of .05 and .01, tests that are correlated by .5 to .7 exceed them by up to 9 % (two tests), 18 % (5), 22 %
    (10), 34 % (20), in simulations of chi-square statistics with 1 and 5 degrees of freedom. So p-values are multiplied
    by ``1 + .08 log2(n_tests)``.

    References
    ----------
    Liu, Xie. Cauchy combination test: a powerful test with analytic p-value calculation under arbitrary dependency
    structures. Journal of the American Statistical Association 115 (2020).
    """
    known = np.isfinite(p_value)
    n_tests = np.maximum(known.sum(axis=0), 1)
    p = np.clip(np.where(known, p_value, 0.5), np.finfo(np.float64).tiny, _LARGEST)
    quantile = np.where(known, 1 / np.tan(np.pi * p), 0.0)
    combined = np.arctan2(1.0, quantile.sum(axis=0) / n_tests) / np.pi
    return np.where(known.any(axis=0), np.minimum(combined * (1 + _EXCESS * np.log2(n_tests)), 1.0), np.nan)
