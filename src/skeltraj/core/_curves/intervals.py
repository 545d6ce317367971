"""Fitted curves on the scale of the responses, with bounds."""

from __future__ import annotations

import numpy as np
from scipy import special

from .model import Family

_ANSCOMBE = 3 / 8
_NO_COUNT = 0.1  # counts expected among the points that tell of a place, below which they have none; chosen by eye


def intervals(
    curve: np.ndarray, error: np.ndarray, support: np.ndarray, family: Family, level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Curves and their intervals on the responses' own scale: means (at size factor 1), values, probabilities.

    Bounds of counts and of probabilities are taken where their variance does not depend on their mean (square root,
    arcsine), since on the scale of the link errors are far from normal where there are hardly any counts, and grow
    without end where there are none. There the upper bound is what not a single count among the points that tell of the
    place leaves; nowhere is it below that.

    Parameters
    ----------
    curve, error
        As in :class:`~skeltraj.core.Trends`, (..., n_places).
    support
        Of the places, (n_places,).
    family
        Of the responses.
    level
        Probability that the interval is to hold the truth, between 0 and 1.

    Returns
    -------
    Mean, lower and upper bound, each of the shape of `curve`.

    References
    ----------
    Anscombe. The transformation of Poisson, binomial and negative-binomial data. Biometrika 35 (1948).
    """
    z = float(special.ndtri(0.5 + level / 2))
    if family == "gaussian":
        return curve, curve - z * error, curve + z * error
    points = np.maximum(support, 1e-300)
    if family == "binomial":
        mean = special.expit(curve)
        as_many = 1 / np.maximum(mean * (1 - mean) * error**2, 1e-12)  # points would tell as much
        lower, upper = _of_shares(mean, as_many, z)
        none = _of_shares(0.0, points, z)[1]
        return mean, 1 - _at_least(1 - lower, 1 - mean, points, none), _at_least(upper, mean, points, none)
    mean = np.exp(curve)
    variance = mean * error**2  # of the mean, as a share of the mean: one over the points of a Poisson distribution
    middle, half = np.sqrt(mean + _ANSCOMBE * variance), z / 2 * np.sqrt(variance)
    none = (np.sqrt(_ANSCOMBE) + z / 2) ** 2 / points
    return mean, np.maximum(middle - half, 0.0) ** 2, _at_least((middle + half) ** 2, mean, points, none)


def _at_least(upper: np.ndarray, mean: np.ndarray, points: np.ndarray, none: np.ndarray) -> np.ndarray:
    """Upper bounds that are nowhere below `none`, what no count leaves, and equal to it where there is no count."""
    return np.where(mean * points < _NO_COUNT, np.where(np.isnan(upper), np.nan, none), np.maximum(upper, none))


def _of_shares(mean: np.ndarray | float, n: np.ndarray, z: float) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of shares among n points."""
    middle = np.arcsin(np.sqrt((n * mean + _ANSCOMBE) / (n + 2 * _ANSCOMBE)))
    half = z / (2 * np.sqrt(n + 0.5))
    return np.sin(np.maximum(middle - half, 0.0)) ** 2, np.sin(np.minimum(middle + half, np.pi / 2)) ** 2
