"""Time to event along a skeleton: hazard along pseudotime, between branches, and curves of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri

from skeltraj._printing import in_full
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing
from skeltraj.core._runtime.warn import warn

from .columns import beyond, refuse_collinear, refuse_constant, restricted_cubic, standardized
from .cox import CoxFit, concordance, fit_cox
from .curves import curve, log_rank
from .proportional import proportional_hazards
from .results import ChiSquare, CoxModel, Survival, SurvivalGroup
from .risk_sets import risk_sets
from .used_samples import Samples

LEVEL = 0.95  # coverage of all intervals
_UNTIL_FIRST = "that are observed until the first event"
_FEW_EVENTS = 10  # for each coefficient; fewer make estimates and tests unreliable (Peduzzi et al. 1995)
# Samples in each of k groups, by the root of k: with fewer, chance gives the log-rank test p below .05 more than twice
# as often as it should. By simulation of 2 to 40 groups.
_FOR_LOG_RANK = 4.0
_ALONE = 0.5  # of the spread of pseudotime: with more made by one sample, Wald's test rejects too often, by simulation


@computing()
def survival(
    time: np.ndarray,
    event: np.ndarray,
    pseudotime: np.ndarray,
    branch: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    branch_names: Sequence[str] | None = None,
    reference: int | None = None,
    n_stretches: int = 3,
    horizon: float | None = None,
) -> Survival:
    """Relate the time to an event to pseudotime and to branches, by Cox models (Cox 1972) and Kaplan-Meier curves.

    Events at the same time are treated after Efron (1977). Whether hazards are proportional is tested after Grambsch
    and Therneau (1994), against one less the estimate of Kaplan and Meier as the measure of time.

    Parameters
    ----------
    time
        From the start of observation to the event or the end of observation, (n,), from 0 up; NaN: not known.
    event
        Whether the event came at that time, (n,): boolean, or 0 and 1; NaN: not known.
    pseudotime
        Of each sample, (n,); NaN: none.
    branch
        Of each sample, (n,), as a code from 0; negative: not compared. Such samples have their part in the model of
        pseudotime.
    covariates
        Numbers by which both models are adjusted, (n, n_covariates); NaN: not known. Groups as columns of 0 and 1, but
        for one group.
    covariate_names, branch_names
        Names for results and messages. None: "x1", "x2", ... and "B1", "B2", ...
    reference
        Code of the branch with which the others are compared. None: the one with the most samples.
    n_stretches
        Number of stretches, with equal numbers of samples (as far as equal values, which stay together, allow), into
        which pseudotime is divided for the curves.
    horizon
        Time up to which mean times are computed, at most the longest time. None: the longest time of the branch or
        stretch for which it is shortest.

    Returns
    -------
    A :class:`Survival`. It does not depend on the order of the samples.

    Raises
    ------
    TypeError, ValueError
        If an array has the wrong shape or holds what it must not; if nothing is left, no sample or no sample of a
        branch has the event, or there are no more events than coefficients; if pseudotime or a covariate is constant,
        or follows from others, in all samples or in those that are observed until the first event; if a coefficient
        has no finite estimate.

    Warns
    -----
    UserWarning
        If there are fewer than 10 events for each coefficient; if there are so few samples for the number of branches
        or stretches (fewer than ``4 * sqrt(k)`` for each of k) that the log-rank test rejects by chance more than twice
        as often as it should; if one sample accounts for more than half of the variance of pseudotime.

    Examples
    --------
    >>> import numpy as np
    >>> from skeltraj import core
    >>> pseudotime, branch = np.linspace(0, 3, 300), np.tile([0, 1], 150)
    >>> # shorter, the farther from the root
    >>> time = np.random.default_rng(0).exponential(np.exp(2 - pseudotime))
    >>> result = core.survival(np.minimum(time, 5), time < 5, pseudotime, branch)
    >>> bool(result.pseudotime.p_value[0] < 0.001), bool(result.branch.p_value[0] < 0.001)
    (True, False)
    >>> [group.n for group in result.branches]
    [150, 150]
    """
    n_stretches = check.count(n_stretches, "n_stretches")
    if horizon is not None:
        horizon = check.number(horizon, "horizon", above=0)
    time, pseudotime = check.vector(time, "time"), check.vector(pseudotime, "pseudotime")
    event, branch = check.vector(event, "event"), check.codes(branch, "branch")
    if reference is not None:
        reference = check.count(reference, "reference", at_least=0)
    Z, names = _covariates(covariates, covariate_names, len(time))
    samples = Samples.used_of(time, event, pseudotime, branch, Z)
    if horizon is not None and horizon > samples.time.max():
        raise ValueError(
            f"horizon={in_full(horizon)} is beyond the longest time, {in_full(samples.time.max())}; wanted at most "
            "that."
        )
    called = _branch_names(branch_names, samples.branch)
    if not samples.event.any():
        raise ValueError(f"event: none of the {len(samples.event)} samples used has it; wanted some.")
    refuse_constant(samples.place[:, None], ["pseudotime"], "pseudotime")
    refuse_constant(samples.Z, names, "covariates")
    codes, reference = _compared(samples.branch, samples.event, reference, called)
    others = [] if reference is None else [code for code in codes.tolist() if code != reference]
    warning = _events_for_coefficients(samples.event, samples.branch, len(names), len(others))

    time, event = samples.time, samples.event
    spread = float(samples.place.std(ddof=1))
    along = (samples.place - samples.place.mean()) / spread
    refuse_constant(samples.place[_at_risk(time, event), None], ["pseudotime"], "pseudotime", _UNTIL_FIRST)
    of_pseudotime = _model(time, event, along[:, None], ["pseudotime"], samples.Z, names)
    of_branches = None if reference is None else _branch_model(samples, others, called, names)
    bounds, stretch = _stretches(samples.place, n_stretches)
    groups = [(samples.branch, codes), (stretch, np.arange(len(bounds) - 1))]
    if horizon is None:
        horizon = min(float(time[code_of == code].max()) for code_of, those in groups for code in those)
    branches, stretches = (
        [_group(time[of == code], event[of == code], int(code), horizon) for code in those] for of, those in groups
    )
    # where events are few for a model, its p-values are said not to be reliable in any case
    few, few_in_stretches = (
        _few_for_log_rank(group[_in_log_rank(time, event, group)], what)
        for group, what in ((samples.branch, "branches"), (stretch, "stretches of pseudotime"))
    )
    of_models = [few, _outlier_warning(samples.place)] if warning is None else [warning]
    for message in (*of_models, few_in_stretches):
        if message is not None:
            warn(message)
    return Survival(
        used=samples.used,
        pseudotime=of_pseudotime,
        pseudotime_sd=spread,
        linearity=_linearity(time, event, along, samples.Z, of_pseudotime),
        branch=of_branches,
        reference=reference,
        log_rank=_log_rank(time, event, samples.branch),
        branches=branches,
        stretches=stretches,
        bounds=bounds,
        log_rank_of_stretches=_log_rank(time, event, stretch),
        horizon=horizon,
    )


def _branch_model(samples: Samples, others: list[int], called: dict[int, str], names: list[str]) -> CoxModel:
    """The model of the other branches beside the reference, by the names they are `called`."""
    on = samples.branch >= 0
    Z = samples.Z[on]
    refuse_constant(Z, names, "covariates", "on the branches compared")
    indicator = (samples.branch[on][:, None] == others).astype(float)
    return _model(samples.time[on], samples.event[on], indicator, [called[code] for code in others], Z, names)


def _covariates(covariates: np.ndarray | None, names: Sequence[str] | None, n: int) -> tuple[np.ndarray, list[str]]:
    Z = np.empty((n, 0)) if covariates is None else check.coordinates(covariates, "covariates")
    given = check.words(names, "covariate_names", Z.shape[1], "columns")
    names = [f"x{j + 1}" for j in range(Z.shape[1])] if given is None else given
    if Z.size and np.isinf(Z).any():
        raise ValueError(f"covariates: {names[int(np.isinf(Z).any(axis=0).argmax())]!r} holds infinite values.")
    return Z, names


def _branch_names(names: Sequence[str] | None, branch: np.ndarray) -> dict[int, str]:
    n = int(branch.max(initial=-1)) + 1
    if names is None:
        return {code: f"B{code + 1}" for code in np.unique(branch).tolist()}
    ordered = isinstance(names, Iterable) and not isinstance(names, str | Set | Mapping)
    if not ordered or getattr(names, "ndim", 1) != 1:
        raise TypeError(f"branch_names={check.in_message(names)} is a {type(names).__name__}; wanted a list of names.")
    names = list(names)
    if len(names) < n:
        raise ValueError(f"branch_names: {len(names)} names were given for codes up to {n - 1}.")
    return {code: str(name) for code, name in enumerate(names)}


def _compared(
    branch: np.ndarray, event: np.ndarray, reference: int | None, names: dict[int, str]
) -> tuple[np.ndarray, int | None]:
    """The codes of the branches that have samples, and which is the reference (None if there is nothing to compare)."""
    codes, count = np.unique(branch[branch >= 0], return_counts=True)
    if reference is not None and reference not in codes:
        raise ValueError(f"reference={reference!r} is no branch with samples; wanted one of {codes.tolist()}.")
    if len(codes) < 2:
        return codes, None
    without = [names[code] for code in codes if not event[branch == code].any()]
    if without:
        raise ValueError(
            f"branches without events: {without}, so they have no finite hazard ratio. Name the branches to compare; "
            f"those with events are {[names[code] for code in codes if names[code] not in without]}."
        )
    return codes, int(codes[count.argmax()]) if reference is None else int(reference)


def _events_for_coefficients(event: np.ndarray, branch: np.ndarray, n_covariates: int, n_others: int) -> str | None:
    """A warning if there are few events for the coefficients of a model; raises if there are no more than these."""
    models = [("pseudotime", int(event.sum()), 1 + n_covariates)]
    if n_others:
        models.append(("branches", int(event[branch >= 0].sum()), n_others + n_covariates))
    for what, n_events, n_coefficients in models:
        if n_events <= n_coefficients:
            raise ValueError(
                f"{n_events} events for the {n_coefficients} coefficients of the model of {what}; wanted more events, "
                f"at best {_FEW_EVENTS} for each."
            )
    few = [model for model in models if model[1] < _FEW_EVENTS * model[2]]
    if not few:
        return None
    what, n_events, n_coefficients = min(few, key=lambda model: model[1] / model[2])
    return (
        f"{n_events} events for the {n_coefficients} coefficients of the model of {what}: with fewer than "
        f"{_FEW_EVENTS} for each, estimates and p-values are not reliable."
    )


def _few_for_log_rank(group: np.ndarray, what: str) -> str | None:
    """A warning if few samples are compared for so many groups; `group` is that of each of them."""
    k = len(np.unique(group))
    least = _FOR_LOG_RANK * np.sqrt(k)
    if k < 2 or len(group) >= k * least:
        return None
    return (
        f"{len(group)} samples in {k} {what} are {len(group) / k:.3g} for each: with fewer than {np.ceil(least):.0f} "
        "for each, the log-rank test of so many groups gives small p-values by chance too often."
    )


def _outlier_warning(place: np.ndarray) -> str | None:
    """A warning if one sample makes most of the spread of pseudotime."""
    squared = (place - place.mean()) ** 2
    far = int(squared.argmax())
    share = float(squared[far] / squared.sum())
    if share <= _ALONE:
        return None
    return (
        f"one sample, of pseudotime {place[far]:.4g}, makes {100 * share:.0f} % of the variance of pseudotime: Wald's "
        "test of pseudotime then rejects too often, the likelihood ratio test less so. Look at this sample, or leave "
        "it out."
    )


def _at_risk(time: np.ndarray, event: np.ndarray) -> np.ndarray:
    """Which samples are compared with others at some event, (n,): not those that leave before the first."""
    return np.asarray(time >= time[event].min())


def _model(
    time: np.ndarray, event: np.ndarray, X: np.ndarray, names: list[str], Z: np.ndarray, covariates: list[str]
) -> CoxModel:
    """The model of columns `X` adjusted for `Z`."""
    both, column_names = np.hstack([X, Z]), names + covariates
    refuse_collinear(both, column_names)
    compared = _at_risk(time, event)
    refuse_constant(Z[compared], covariates, "covariates", _UNTIL_FIRST)
    refuse_collinear(both[compared], column_names, _UNTIL_FIRST)
    risk = risk_sets(time, event)
    columns, scale = standardized(both[risk.order])
    fit, without = fit_cox(risk, columns), fit_cox(risk, columns[:, X.shape[1] :])
    if fit.runs_away.any():
        name = column_names[int(fit.runs_away.argmax())]
        raise ValueError(
            f"the coefficient of {name!r} runs to infinity: among the samples used, the event never or always comes "
            f"where {name!r} is high, or in the group with which it is compared. Leave it out, or join groups."
        )
    coefficients = fit.coefficients / scale
    error = np.sqrt(np.diag(fit.covariance)) / scale
    half = -ndtri((1 - LEVEL) / 2) * error
    constant = proportional_hazards(risk, columns, fit)
    in_question, every = np.arange(X.shape[1]), np.arange(len(column_names))
    sorted_time = time[risk.order]
    return CoxModel(
        names=column_names,
        log_hazard_ratio=coefficients,
        standard_error=error,
        low=coefficients - half,
        high=coefficients + half,
        z=coefficients / error,
        p_value=2 * ndtr(-np.abs(coefficients / error)),
        likelihood_ratio=_ratio(fit, without),
        proportional_slope=constant.slope / scale,
        proportional_chi2=constant.chi2,
        proportional_p_value=constant.p_value,
        proportional=ChiSquare(*constant.together(in_question)),
        proportional_all=ChiSquare(*constant.together(every)),
        log_likelihood=fit.log_likelihood,
        log_likelihood_covariates=without.log_likelihood,
        concordance=concordance(risk, fit.linear, sorted_time),
        concordance_covariates=concordance(risk, without.linear, sorted_time),
        n=len(time),
        n_events=risk.n_events,
    )


def _ratio(full: CoxFit, part: CoxFit) -> ChiSquare:
    """The likelihood ratio of two nested models."""
    value = max(0.0, 2 * (full.log_likelihood - part.log_likelihood))
    df = len(full.coefficients) - len(part.coefficients)
    return ChiSquare(value, df, float(chdtrc(df, value)))


def _linearity(
    time: np.ndarray, event: np.ndarray, along: np.ndarray, Z: np.ndarray, line: CoxModel
) -> ChiSquare | None:
    compared = _at_risk(time, event)  # of these the spline may be straight, between knots of all samples
    straight = np.hstack([along[:, None], Z])[compared]
    curved = beyond(restricted_cubic(along)[compared], straight)
    if not curved.shape[1]:
        return None
    risk = risk_sets(time[compared], event[compared])
    columns = standardized(np.hstack([straight, curved])[risk.order])[0]
    fit = fit_cox(risk, columns)
    value = max(0.0, 2 * (fit.log_likelihood - line.log_likelihood))
    return ChiSquare(value, curved.shape[1], float(chdtrc(curved.shape[1], value)))


def _in_log_rank(time: np.ndarray, event: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Which samples a log-rank test of groups compares, (n,): those in a group that are left at its first event."""
    on = group >= 0
    return np.asarray(on & (time >= time[on & event].min(initial=np.inf)))


def _log_rank(time: np.ndarray, event: np.ndarray, group: np.ndarray) -> ChiSquare | None:
    on = _in_log_rank(time, event, group)  # a group of which nobody is left takes no degree of freedom
    there, code = np.unique(group[on], return_inverse=True)
    return ChiSquare(*log_rank(time[on], event[on], code)) if len(there) > 1 else None


def _stretches(place: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of stretches of pseudotime with about as many samples each, and the stretch of each sample."""
    bounds = np.unique(np.quantile(place, np.arange(n + 1) / n, method="inverted_cdf"))
    return bounds, np.searchsorted(bounds[1:-1], place, side="left")


def _group(time: np.ndarray, event: np.ndarray, code: int, horizon: float) -> SurvivalGroup:
    own = curve(time, event, level=LEVEL)
    mean, error = own.restricted_mean(horizon) if own.reaches(horizon) else (np.nan, np.nan)
    half = -ndtri((1 - LEVEL) / 2) * error
    limits = np.clip([mean - half, mean + half], 0.0, horizon).tolist()
    return SurvivalGroup(code, len(time), int(event.sum()), own, *own.median(), mean, *limits)
