"""Whether hazards are proportional: do the coefficients of a Cox model stay the same in the course of time?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from .cox import CoxFit, state_at
from .risk_sets import RiskSets


@dataclass(frozen=True)
class Proportional:
    """Score tests against coefficients that change with time.

    Parameters
    ----------
    slope
        About the change of each coefficient from the first event to the last, (p,): that of one step of Newton's.
    chi2, p_value
        Of each column by itself, with one degree of freedom, (p,).
    """

    slope: np.ndarray
    chi2: np.ndarray
    p_value: np.ndarray
    _score: np.ndarray
    _covariance: np.ndarray

    def together(self, columns: np.ndarray) -> tuple[float, int, float]:
        """Chi-square, degrees of freedom and p-value of several columns at once; NaN where time tells none apart."""
        score, covariance = self._score[columns], self._covariance[np.ix_(columns, columns)]
        if np.isnan(self.chi2[columns]).all():
            return np.nan, len(columns), np.nan
        value = float(score @ np.linalg.lstsq(covariance, score, rcond=None)[0])
        return value, len(columns), float(chdtrc(len(columns), value))


def proportional_hazards(risk: RiskSets, X: np.ndarray, fit: CoxFit) -> Proportional:
    """Test whether the coefficients are constant (Grambsch and Therneau 1994).

    Coefficients b + c g(t) are compared with b, where g is the share that had the event before t (one less the
    estimate of Kaplan and Meier), which no outlying time can dominate. The score for c is the sum of g(t) times the
    Schoenfeld residuals. Its covariance is taken from the risk set of each event, not from their mean.

    Parameters
    ----------
    risk
        Risk sets of the samples.
    X
        Columns of the model, (n, p), in the order of the risk sets.
    fit
        The fitted model.
    """
    here = state_at(risk, X, fit.coefficients)
    g = _share_before(risk)
    g = g - g.mean()  # as the residuals sum to zero, this changes nothing but rounding
    score = g @ (risk.of_events(X) - here.means)
    cross = here.information(risk, X, g)
    covariance = here.information(risk, X, g**2) - cross @ fit.covariance @ cross
    variance = np.diag(covariance)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(variance > 0, score**2 / variance, np.nan)
        slope = np.where(variance > 0, score / variance, np.nan)
    return Proportional(slope * np.ptp(g), each, chdtrc(1, each), score, covariance)


def _share_before(risk: RiskSets) -> np.ndarray:
    """For each event the share that had the event earlier, by Kaplan and Meier."""
    first_of_time = np.flatnonzero(np.diff(risk.group, prepend=-1))
    n_risk = len(risk.order) - risk.first[first_of_time]
    stays = np.cumprod(1 - np.bincount(risk.group) / n_risk)
    return 1 - np.concatenate([[1.0], stays])[risk.group]
