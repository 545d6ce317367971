"""Information from many responses on the variance of each: empirical Bayes."""

from __future__ import annotations

import numpy as np
from scipy import special

_MAX_GROUPS = 20
_MIN_IN_GROUP = 100  # responses; chosen by eye
_FEW = 10  # responses below which nothing is learned from the others
_ALIKE = 1e-6  # of the largest: places that differ by less differ by rounding, as means of scaled genes


def trend(along: np.ndarray, values: np.ndarray, *, middle: bool = True) -> np.ndarray:
    """Medians (or means) of values in groups of responses that are alike in `along`, joined by lines, (g,).

    Responses at one place are in one group, so that their order does not matter.
    """
    known = np.isfinite(values) & np.isfinite(along)
    if not known.any():
        return np.full(len(values), np.nan)
    x, y = along[known], values[known]
    n_groups = int(np.clip(len(x) // _MIN_IN_GROUP, 1, _MAX_GROUPS))
    order = np.argsort(x, kind="stable")
    cuts = np.cumsum([len(group) for group in np.array_split(order, n_groups)])[:-1]
    cuts = np.unique(np.searchsorted(x[order], x[order[cuts]] - _ALIKE * np.abs(x).max()))
    groups = np.split(order, cuts[cuts > 0])
    of = np.median if middle else np.mean
    return np.interp(along, [x[group].mean() for group in groups], [of(y[group]) for group in groups])


def moderated(variance: np.ndarray, n_free: np.ndarray, along: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variances drawn towards what like responses have, and their degrees of freedom.

    A response's variance is thought of as drawn from a scaled inverse chi-square distribution; its scale and degrees of
    freedom, which follow a trend, are those that give the mean and the variance of the logarithms.

    Parameters
    ----------
    variance
        Estimates, (g,), > 0.
    n_free
        Their degrees of freedom, (g,).
    along
        What they may depend on, (g,): the logarithm of the responses' mean.

    References
    ----------
    Smyth. Linear models and empirical Bayes methods for assessing differential expression in microarray experiments.
    Statistical Applications in Genetics and Molecular Biology 3 (2004).
    """
    known = np.isfinite(variance) & (variance > 0) & (n_free > 0) & np.isfinite(along)
    if known.sum() < _FEW:
        return variance, n_free
    half = np.where(known, n_free, 2.0) / 2
    e = np.where(known, np.log(np.where(known, variance, 1.0)) - special.digamma(half) + np.log(half), np.nan)
    center = trend(along, e, middle=False)
    beyond = trend(along, (e - center) ** 2, middle=False) - special.polygamma(1, half)
    more = 2 * _inverse_trigamma(np.maximum(beyond, 1e-8))
    own_scale = np.exp(center + special.digamma(more / 2) - np.log(more / 2))
    mixed = (more * own_scale + n_free * variance) / (more + n_free)
    return np.where(known, mixed, variance), np.where(known, more + n_free, n_free)


def _inverse_trigamma(values: np.ndarray) -> np.ndarray:
    """The x with trigamma(x) = value; Newton's steps on 1 / trigamma, which is convex (Smyth 2004)."""
    x = 0.5 + 1 / values
    for _ in range(50):
        at = special.polygamma(1, x)
        x = x + at * (1 - at / values) / special.polygamma(2, x)
    return x
