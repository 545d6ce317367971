"""Cox's proportional hazards model (1972), with Efron's likelihood (1977) for tied times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from skeltraj.core._runtime.compile import compiled

from .risk_sets import RiskSets

# Newton's steps end when the next would raise the log likelihood by less than this; a model of this kind takes 5 to 10.
_TOLERANCE = 1e-11
_MAX_STEPS = 60
_MAX_HALVINGS = 30
_DIGITS = 9  # of a relative hazard's logarithm by which samples are compared; chosen by eye
# Coefficients run to infinity together in a direction in which hardly anything is left of the information at zero, all
# that have at least this share of the largest part in it.
_LEFT_OF_INFORMATION = 1e-7
_SHARE_IN_DIRECTION = 0.1  # chosen by eye


@dataclass(frozen=True)
class CoxFit:
    """A fitted model of p columns.

    Parameters
    ----------
    coefficients
        Log hazard ratios, (p,).
    covariance
        Inverse of the information, (p, p); NaN where coefficients ran so far that none is left.
    log_likelihood
        Log partial likelihood at the coefficients.
    linear
        Log relative hazard of each sample, (n,), in the order of the risk sets.
    runs_away
        Which coefficients have no finite maximum, (p,).
    """

    coefficients: np.ndarray
    covariance: np.ndarray
    log_likelihood: float
    linear: np.ndarray
    runs_away: np.ndarray


@dataclass(frozen=True)
class _State:
    """The likelihood at some coefficients, and what its derivatives need."""

    coefficients: np.ndarray
    value: float
    linear: np.ndarray
    hazard: np.ndarray
    sums: np.ndarray
    means: np.ndarray

    def score(self, risk: RiskSets, X: np.ndarray) -> np.ndarray:
        return risk.of_events(X).sum(axis=0) - self.means.sum(axis=0)

    def information(self, risk: RiskSets, X: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Sum over the events of the covariance of the columns among those at risk, with a weight for each event."""
        # only sums over samples are formed, never a matrix for each event
        of_sample = risk.shares(weights / self.sums) * self.hazard
        return (X.T * of_sample) @ X - (self.means.T * weights) @ self.means


def state_at(risk: RiskSets, X: np.ndarray, coefficients: np.ndarray) -> _State:
    """The log partial likelihood, and the means of the columns among those at risk at each event.

    So far out that no hazard of those at risk is left beside the largest one, the value is -inf.
    """
    linear = X @ coefficients
    linear = linear - linear.max(initial=-np.inf)  # hazards are relative: nothing overflows
    hazard = np.exp(linear)
    sums = risk.sums(hazard)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(risk.of_events(linear).sum() - np.log(sums).sum())
        means = risk.sums(hazard[:, None] * X) / sums[:, None]
    return _State(coefficients, value if np.isfinite(value) else -np.inf, linear, hazard, sums, means)


def fit_cox(risk: RiskSets, X: np.ndarray) -> CoxFit:
    """Maximise the partial likelihood, by Newton's method with steps that are halved until it rises.

    Parameters
    ----------
    risk
        Risk sets of the samples.
    X
        Columns, (n, p), in the order of the risk sets, centred and of comparable size; p may be 0.
    """
    p, ones = X.shape[1], np.ones(risk.n_events)
    here = state_at(risk, X, np.zeros(p))
    if not p:
        return CoxFit(np.zeros(0), np.zeros((0, 0)), here.value, here.linear, np.zeros(0, dtype=bool))
    at_zero = information = here.information(risk, X, ones)
    for _ in range(_MAX_STEPS):
        score = here.score(risk, X)
        step = np.linalg.lstsq(information, score, rcond=None)[0]
        if score @ step < _TOLERANCE:
            break
        for _ in range(_MAX_HALVINGS):
            there = state_at(risk, X, here.coefficients + step)
            if there.value >= here.value:
                break
            step = step / 2
        else:  # as high as rounding allows
            break
        with np.errstate(all="ignore"):
            further = there.information(risk, X, ones)
        if not np.isfinite(further).all():  # hazards so far apart that nothing is left to tell: it runs away
            return CoxFit(
                coefficients=there.coefficients,
                covariance=np.full((p, p), np.nan),
                log_likelihood=there.value,
                linear=there.linear,
                runs_away=np.ones(p, dtype=bool),
            )
        here, information = there, further
    left, directions = linalg.eigh(information, at_zero)
    parts = np.abs(directions[:, left < _LEFT_OF_INFORMATION])
    return CoxFit(
        coefficients=here.coefficients,
        covariance=np.linalg.pinv(information, hermitian=True),
        log_likelihood=here.value,
        linear=here.linear,
        runs_away=(parts >= _SHARE_IN_DIRECTION * parts.max(axis=0, initial=0.0)).any(axis=1),
    )


def concordance(risk: RiskSets, linear: np.ndarray, time: np.ndarray) -> float:
    """Of the pairs whose order in time is known, the share that the model puts in that order (Harrell et al. 1982).

    A pair is known if the earlier time is that of an event; at the same time, if one of the two had it. Pairs with
    equal relative hazard count half.

    Parameters
    ----------
    risk
        Risk sets of the samples.
    linear, time
        Of each sample, (n,), in the order of the risk sets.
    """
    linear = np.round(linear, _DIGITS)  # equal samples have equal hazards, whatever rounding says
    values, rank = np.unique(linear, return_inverse=True)
    rank[np.isnan(linear)] = -1  # compared with none
    starts = np.r_[0, np.flatnonzero(np.diff(time)) + 1, len(time)]
    known, twice = _pairs(rank, len(values), risk.is_event, starts)
    return twice / (2 * known) if known else np.nan


@compiled
def _pairs(rank: np.ndarray, n_ranks: int, is_event: np.ndarray, starts: np.ndarray) -> tuple[int, int]:
    """Number of pairs whose order in time is known, and twice that of those in which ranks agree, ties counted half.

    Times are passed from the last to the first, with the numbers of samples of each rank met so far in a tree of sums
    (Fenwick 1994), so that those of smaller rank are counted in a few steps.

    Parameters
    ----------
    rank
        Of each sample, (n,), ascending in time; -1: none.
    n_ranks
        How many ranks there are.
    is_event
        Of each sample, (n,).
    starts
        Where each time begins, and n, (n_times + 1,).
    """
    counts, sums = np.zeros(n_ranks, dtype=np.int64), np.zeros(n_ranks + 1, dtype=np.int64)
    known, twice, met = 0, 0, 0
    for t in range(len(starts) - 2, -1, -1):
        # of one time: those without an event count as later ones, so they are met first; events are not compared
        for step in range(3):
            for i in range(starts[t], starts[t + 1]):
                r = rank[i]
                if step == 1 and is_event[i]:
                    known += met
                    if r >= 0:
                        twice += counts[r]
                        while r > 0:
                            twice += 2 * sums[r]
                            r -= r & -r
                elif (step == 0 and not is_event[i]) or (step == 2 and is_event[i]):
                    met += 1
                    if r >= 0:
                        counts[r] += 1
                        r += 1
                        while r <= n_ranks:
                            sums[r] += 1
                            r += r & -r
    return known, twice
