"""Dispersions of negative binomials: a trend over the mean that all responses share, and what each says of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from skeltraj.core._runtime import check

_N_BINS = 20
_MIN_IN_BIN = 50  # chosen by eye
LEAST = 1e-6  # dispersion below which a negative binomial is a Poisson distribution
_TO_SD = 1.4826  # standard deviation over median distance from the median, of a normal distribution
_SPREAD = (0.05, 4.0)  # standard deviation of dispersions around the trend, as shares of it


def known_dispersions(values: Any, family: str, n: int) -> np.ndarray | None:
    """Dispersions of n responses that were given, at least the least, or an error; None if none were."""
    if values is None:
        return None
    if family != "negative_binomial":
        raise ValueError(f"dispersion was given with family={family!r}; wanted 'negative_binomial'.")
    array = check.array(values, "dispersion")
    if array.shape != (n,) or array.dtype.kind not in "fiu" or not (array >= 0).all() or not np.isfinite(array).all():
        raise ValueError(
            f"dispersion is of shape {array.shape} and type {array.dtype}; wanted {n} finite numbers from 0 up."
        )
    return np.maximum(array.astype(np.float64), LEAST)


def trend_of(mean: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
    """Running median of dispersions over the logarithm of the means, (n_responses,).

    Medians are those of up to 20 groups with equal numbers of responses, joined by lines; with less than 100
    responses there is one group.
    """
    known = np.isfinite(dispersion) & (mean > 0)
    if not known.any():
        return np.full(len(mean), np.nan)
    x, y = np.log(mean[known]), dispersion[known]
    groups = np.array_split(np.argsort(x, kind="stable"), int(np.clip(known.sum() // _MIN_IN_BIN, 1, _N_BINS)))
    center = np.array([x[group].mean() for group in groups])
    height = np.array([max(float(np.median(y[group])), LEAST) for group in groups])
    with np.errstate(divide="ignore"):
        trend = np.exp(np.interp(np.log(np.maximum(mean, 1e-300)), center, np.log(height)))
    return np.where(mean > 0, trend, np.nan)


def shrunk(dispersion: np.ndarray, trend: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, float]:
    """Dispersions shrunk towards the trend, more so with less information of their own; and their spread around it.

    Parameters
    ----------
    dispersion, trend
        Of each response, (n_responses,).
    variance
        Of the estimate of each, (n_responses,).

    Returns
    -------
    Means of normal distributions whose standard deviation around the trend is a share of it; and that share, which is
    estimated: what the median deviation leaves beyond the variances.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        off, own = (dispersion - trend) / trend, variance / trend**2
    known = np.isfinite(off) & np.isfinite(own)
    if not known.any():  # no counts at all
        return np.maximum(np.nan_to_num(dispersion), LEAST), _SPREAD[1]
    seen = (_TO_SD * np.median(np.abs(off[known]))) ** 2 - np.median(own[known])
    spread = float(np.clip(np.sqrt(max(seen, 0.0)), *_SPREAD))
    weight = spread**2 / (spread**2 + own)
    mixed = np.where(known, trend + weight * (dispersion - trend), trend)
    return np.maximum(np.where(np.isfinite(mixed), mixed, LEAST), LEAST), spread
