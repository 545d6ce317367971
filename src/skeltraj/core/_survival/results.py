"""What is told of time to event along a skeleton."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skeltraj._printing import Printed

from .curves import Curve


@dataclass(frozen=True, repr=False)
class ChiSquare(Printed):
    """A test: its chi-square, degrees of freedom and p-value."""

    chi2: float
    df: int
    p_value: float


@dataclass(frozen=True, repr=False)
class CoxModel(Printed):
    """A Cox model of p columns.

    Parameters
    ----------
    names
        Of the columns: those in question first, then the covariates.
    log_hazard_ratio, standard_error
        Of each column, (p,): for pseudotime per standard deviation, for a branch against the reference, for a covariate
        per unit.
    low, high
        Limits of the 95 % interval of the log hazard ratio, (p,), after Wald.
    z, p_value
        Wald's test of each column, two-sided, (p,).
    likelihood_ratio
        Of the columns in question, against the covariates alone.
    proportional_slope
        Approximate change of each log hazard ratio from the first event to the last, (p,).
    proportional_chi2, proportional_p_value
        Test of whether the hazard ratio of each column stays the same over time, (p,); one degree of freedom each.
    proportional
        The same of the columns in question together.
    proportional_all
        The same of all columns together.
    log_likelihood, log_likelihood_covariates
        Log partial likelihood of the model, and of the covariates alone.
    concordance, concordance_covariates
        Harrell's index of the model and of the covariates alone (0.5 without any).
    n, n_events
        Samples and events.
    """

    names: list[str]
    log_hazard_ratio: np.ndarray
    standard_error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    z: np.ndarray
    p_value: np.ndarray
    likelihood_ratio: ChiSquare
    proportional_slope: np.ndarray
    proportional_chi2: np.ndarray
    proportional_p_value: np.ndarray
    proportional: ChiSquare
    proportional_all: ChiSquare
    log_likelihood: float
    log_likelihood_covariates: float
    concordance: float
    concordance_covariates: float
    n: int
    n_events: int


@dataclass(frozen=True, repr=False)
class SurvivalGroup(Printed):
    """The samples of a branch or of a stretch of pseudotime.

    Parameters
    ----------
    code
        Of the branch, or number of the stretch from 0.
    n, n_events
        Samples and events.
    curve
        Their curve of Kaplan and Meier.
    median, median_low, median_high
        Time at which half are left, and the limits of its 95 % interval; infinite if that is never reached.
    restricted_mean, restricted_mean_low, restricted_mean_high
        Mean time until the event or the horizon, and the limits of its 95 % interval. NaN if the curve ends before the
        horizon, above 0.
    """

    code: int
    n: int
    n_events: int
    curve: Curve
    median: float
    median_low: float
    median_high: float
    restricted_mean: float
    restricted_mean_low: float
    restricted_mean_high: float


@dataclass(frozen=True, repr=False)
class Survival(Printed):
    """Time to event along a skeleton.

    Parameters
    ----------
    used
        Which samples were used, (n,): those with a time, an event, a pseudotime and all covariates.
    pseudotime
        The model of pseudotime and the covariates.
    pseudotime_sd
        Standard deviation of pseudotime among the samples used: the unit of its hazard ratio.
    linearity
        Whether the log hazard is not linear in pseudotime: a restricted cubic spline with four knots against the line.
        None if pseudotime takes too few values.
    branch
        The model of branches and covariates, of the samples on branches that are compared. None if there are fewer
        than two.
    reference
        Code of the branch with which the others are compared, or None.
    log_rank
        Whether the curves of the branches differ, without covariates; or None.
    branches
        The branches, in the order of their codes.
    stretches
        The stretches of pseudotime, from the root on.
    bounds
        Pseudotime at which the stretches begin and end, (n_stretches + 1,). A stretch holds its upper bound, the first
        also its lower.
    log_rank_of_stretches
        Whether the curves of the stretches differ. Stretches without any sample at risk at the first event are left
        out; None if only one remains.
    horizon
        Time up to which mean times are computed.
    """

    used: np.ndarray
    pseudotime: CoxModel
    pseudotime_sd: float
    linearity: ChiSquare | None
    branch: CoxModel | None
    reference: int | None
    log_rank: ChiSquare | None
    branches: list[SurvivalGroup]
    stretches: list[SurvivalGroup]
    bounds: np.ndarray
    log_rank_of_stretches: ChiSquare | None
    horizon: float
