"""Curves of Kaplan and Meier, and what is read from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, ndtri

from skeltraj._printing import Printed, in_full
from skeltraj.core._runtime import check

_HALF = 0.5 + 1e-12  # a curve that should reach one half may miss it by rounding


@dataclass(frozen=True, repr=False)
class Curve(Printed):
    """The share of a group that has not had the event yet (Kaplan and Meier 1958).

    Parameters
    ----------
    time
        Distinct times of the group, rising, (m,).
    n_risk
        How many were observed until then, (m,).
    n_events, n_censored
        How many had the event then, and for how many observation ended without it, (m,).
    survival
        The share that has not had the event by then, that time included, (m,).
    low, high
        Limits of the interval, on the scale of log(-log) (Kalbfleisch and Prentice 1980), with the variance of
        Greenwood (1926), (m,). Where the curve is 0, `high` is that before.
    """

    time: np.ndarray
    n_risk: np.ndarray
    n_events: np.ndarray
    n_censored: np.ndarray
    survival: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def median(self) -> tuple[float, float, float]:
        """The first time at which half or fewer are left, and its interval (Brookmeyer and Crowley 1982).

        Infinite where the curve, or the limit, stays above one half.
        """
        return tuple(self._first_below(values) for values in (self.survival, self.low, self.high))  # type: ignore[return-value]

    def _first_below(self, values: np.ndarray) -> float:
        below = np.flatnonzero(values <= _HALF)
        return float(self.time[below[0]]) if len(below) else np.inf

    def reaches(self, horizon: float) -> bool:
        """Whether the curve is known up to there: somebody was observed for so long, or nobody is left."""
        return bool(horizon <= self.time[-1] or self.survival[-1] <= 0)

    def restricted_mean(self, horizon: float) -> tuple[float, float]:
        """Mean time until the event, times beyond `horizon` taken as that; and its standard error.

        It is the area under the curve up to there.

        Raises
        ------
        ValueError
            If the curve ends before, above 0: nobody was observed for so long.
        """
        horizon = check.number(horizon, "horizon", at_least=0, at_most=check.LARGEST_OF_SQUARES)
        if not self.reaches(horizon):
            last = in_full(self.time[-1])
            raise ValueError(
                f"horizon={in_full(horizon)} is beyond {last}, the last time of this curve; wanted at most that."
            )
        inside = (self.time < horizon) & (self.n_events > 0)
        at = np.concatenate([[0.0], self.time[inside], [horizon]])
        areas = np.diff(at) * np.concatenate([[1.0], self.survival[inside]])
        n, d = self.n_risk[inside].astype(float), self.n_events[inside]
        remaining = np.cumsum(areas[::-1])[::-1][1:]  # from each event on
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(n > d, remaining**2 * d / (n * (n - d)), 0.0)
        return float(areas.sum()), float(np.sqrt(parts.sum()))


def curve(time: np.ndarray, event: np.ndarray, *, level: float = 0.95) -> Curve:
    """The curve of times, (n,), that end with an event or, where `event` is False, without one.

    Parameters
    ----------
    time, event
        Of each sample, (n,).
    level
        Coverage of the interval.
    """
    at, of = np.unique(time, return_inverse=True)
    n_events = np.bincount(of, event, minlength=len(at)).astype(np.int64)
    n_all = np.bincount(of, minlength=len(at))
    n_risk = len(time) - np.cumsum(n_all) + n_all
    survival = np.cumprod(1 - n_events / n_risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        greenwood = np.cumsum(n_events / (n_risk * (n_risk - n_events).astype(float)))
        log = np.log(survival)
        half = -ndtri((1 - level) / 2) * np.sqrt(greenwood) / np.abs(log)
        low, high = survival ** np.exp(half), survival ** np.exp(-half)
    before = survival >= 1  # no event yet
    over = survival <= 0
    low, high = np.where(before, 1.0, low), np.where(before, 1.0, high)
    low[over] = 0.0
    if over.any():
        last = np.flatnonzero(~over)
        high[over] = high[last[-1]] if len(last) else 1.0
    return Curve(at, n_risk, n_events, n_all - n_events, survival, low, high)


def log_rank(time: np.ndarray, event: np.ndarray, group: np.ndarray) -> tuple[float, int, float]:
    """Are the curves of the groups the same? (Mantel 1966; Peto and Peto 1972)

    Parameters
    ----------
    time, event
        Of each sample, (n,).
    group
        Of each sample, as a code from 0, (n,); every one occurs.

    Returns
    -------
    Chi-square, degrees of freedom (groups less one) and p-value.
    """
    at = np.unique(time[event])
    n_groups = int(group.max()) + 1
    n = np.empty((len(at), n_groups))
    d = np.empty((len(at), n_groups))
    for g in range(n_groups):
        mine, ended = np.sort(time[group == g]), np.sort(time[(group == g) & event])
        n[:, g] = len(mine) - np.searchsorted(mine, at, side="left")
        d[:, g] = np.searchsorted(ended, at, side="right") - np.searchsorted(ended, at, side="left")
    n_all, d_all = n.sum(axis=1), d.sum(axis=1)
    share = n / n_all[:, None]
    difference = (d - d_all[:, None] * share).sum(axis=0)
    # events among those at risk: drawn without replacement
    spread = d_all * np.divide(n_all - d_all, n_all - 1, out=np.zeros_like(n_all), where=n_all > 1)
    covariance = np.diag(spread @ share) - (share.T * spread) @ share
    value = float(difference[1:] @ np.linalg.lstsq(covariance[1:, 1:], difference[1:], rcond=None)[0])
    return value, n_groups - 1, float(chdtrc(n_groups - 1, value))
