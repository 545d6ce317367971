from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core, get
from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Keys, SurvivalEntry, SurvivalParam
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.get._reading.checks import holds_numbers, obs_column
from skeltraj.tl._inputs.copies import refuse_copy_on_disk
from skeltraj.tl._inputs.covariates import Covariates, covariates_of
from skeltraj.tl._results.write_survival import store_survival, tables

_MAX_SAID = 6  # values of a column in a message


@interruptible()
@as_declared
@shared_texts
def survival(
    adata: AnnData,
    time: str,
    event: str,
    *,
    covariates: Sequence[str] | str | None = None,
    key: str = "ddrtree",
    branches: Sequence[str] | None = None,
    reference: str | None = None,
    n_stretches: int = 3,
    horizon: float | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Relate the time to an event (death, relapse) to the position of samples on the tree.

    Two Cox models (Cox 1972; tied times after Efron 1977) are fitted, each adjusted for the covariates: one of
    pseudotime, and one of branches, each compared with a reference branch. Whether their hazard ratios stay the same
    over time is tested after Grambsch and Therneau (1994). In addition, Kaplan-Meier curves are computed for every
    branch and for stretches of pseudotime.

    Samples are assumed to be independent: one row for each patient.

    Parameters
    ----------
    <adata_ordered>
    time
        Column of `obs`: time from the start of observation to the event or to the end of observation, from 0 up.
    event
        Column of `obs`: whether observation ended with the event; True and False, or 1 and 0.
    covariates
        Columns of `obs` by which to adjust: numbers as they are; groups by a column of 0 and 1 for each but the first
        that occurs in the samples used.
    <key>
    branches
        The branches to compare. None: all that have samples. The model of pseudotime takes the samples of all branches.
    reference
        The branch with which the others are compared. None: the one with the most samples.
    n_stretches
        Number of stretches, with equal numbers of samples, into which pseudotime is divided for the curves.
    horizon
        Time up to which mean times are computed, in the units of `time`, at most the longest. None: the longest time of
        the branch or stretch for which it is shortest.
    <copy>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets ``.uns[key]["survival"]``, a dict that :func:`skeltraj.get.survival`
    reads back:

    ``coefficients`` : DataFrame
        For each ``term`` of the ``model`` "pseudotime" (pseudotime, per standard deviation, and covariates) and
        "branch" (branches against the reference, and covariates): ``log_hazard_ratio`` with its ``standard_error``;
        ``hazard_ratio`` with the 95 % interval from ``low`` to ``high``; Wald's ``z`` and ``p_value``;
        ``proportional_chi2`` and ``proportional_p_value`` of the test of whether it stays the same over time, and
        ``proportional_slope``, approximately how much the log hazard ratio changes from the first event to the last.
    ``tests`` : DataFrame
        ``chi2``, ``df`` and ``p_value`` of each ``test``: "likelihood ratio" ``of`` "pseudotime" and "branch", each
        against the covariates alone; "linearity", a spline in pseudotime against a line; "proportional hazards" of
        pseudotime or the branches, and "proportional hazards, with covariates" of the whole model; "log-rank", without
        covariates, of "branch" and "stretch".
    ``models`` : DataFrame
        For each ``model``: ``n_samples``, ``n_events``, ``n_coefficients``, ``log_likelihood`` and Harrell's
        ``concordance``, and both for the covariates alone (``log_likelihood_covariates``,
        ``concordance_covariates``).
    ``branches``, ``stretches`` : DataFrame
        For each ``branch``, and each ``stretch`` of pseudotime (numbered from the root on, from ``start`` to ``end``):
        ``n_samples``, ``n_events``; ``median`` time to the event, with its 95 % interval from ``median_low`` to
        ``median_high`` (infinite if never half had it); ``restricted_mean``, the mean time up to the horizon, with its
        interval (missing if nobody was observed that long).
    ``branch_curves``, ``stretch_curves`` : DataFrame
        For each distinct ``time`` of a branch or stretch: ``n_risk`` observed until then, ``n_events``, ``n_censored``,
        and ``survival``, the share without the event, with its 95 % interval from ``low`` to ``high``.
    ``left_out`` : DataFrame
        How many samples (``n_samples``) were left out because of a missing value (``lacks``: time, event, pseudotime, a
        covariate); each is counted under the first that it lacks.
    ``params`` : dict
        The columns (``time``, ``event``, ``covariates``), ``reference``, ``ties``, ``n_stretches``, ``horizon``,
        ``pseudotime_sd`` (the unit of the hazard ratio of pseudotime), ``n_samples`` and ``n_events``.

    With fewer than two branches to compare, there is no model of branches. :func:`skeltraj.tl.order` removes all this,
    since it belongs to an order.

    Raises
    ------
    KeyError
        If the cells have not been ordered, or there is no such column or branch.
    TypeError, ValueError
        If times are negative or events are other than 0 and 1; if nobody, or nobody of a branch, had the event; if
        pseudotime or a covariate is constant or follows from others, in all samples or in those that are observed until
        the first event, or a covariate has no value, or is the time or the event; if there are no more events than
        coefficients; if `horizon` is beyond all times.
        `adata` is then unchanged.

    Warns
    -----
    UserWarning
        If there are fewer than 10 events for each coefficient; if there are so few samples for the number of branches
        or stretches (fewer than ``4 * sqrt(k)`` for each of k) that the log-rank test rejects by chance more than twice
        as often as it should; if one sample accounts for more than half of the variance of pseudotime.

    Examples
    --------
    <example_ordered>
    >>> import numpy as np
    >>> # times are simulated: the farther from the root, the shorter
    >>> time = np.random.default_rng(0).exponential(np.exp(3 - adata.obs["ddrtree_pseudotime"]))
    >>> adata.obs["months"], adata.obs["died"] = np.minimum(time, 12), time < 12
    >>> st.tl.survival(adata, "months", "died")
    >>> table = st.get.survival(adata).coefficients.set_index("term")
    >>> # 95 % interval of the hazard ratio
    >>> bool(table.loc["pseudotime", "low"] > 1)
    True
    """
    refuse_copy_on_disk(adata, copy)
    get.ordered(adata, key)
    keys = Keys(key)
    times, events = _times(adata, time), _events(adata, event)
    pseudotime = adata.obs[keys.pseudotime].to_numpy(dtype=np.float64)
    branch = adata.obs[keys.branch].cat
    names = [str(name) for name in branch.categories]
    compared = _compared(names, branch.codes.to_numpy(), branches, reference)
    usable = ~np.isnan(times) & ~np.isnan(events) & ~np.isnan(pseudotime)
    adjusted = covariates_of(adata, covariates, usable)
    complete = usable & adjusted.known
    if complete.any():  # without groups of samples that lack another covariate
        adjusted = covariates_of(adata, covariates, complete)
    outcome = [name for name in adjusted.columns if name in (time, event)]
    if outcome:
        raise ValueError(f"covariates: {outcome[0]!r} is the time or the event itself; wanted other columns.")
    taken = [name for name in adjusted.names if name in ("pseudotime", *names)]
    if taken:
        raise ValueError(
            f"covariates: {taken[0]!r} is what the models call a term of the tree; wanted another name (rename it)."
        )
    result = core.survival(
        times,
        events,
        pseudotime,
        compared,
        covariates=adjusted.values,
        covariate_names=adjusted.names,
        branch_names=names,
        reference=None if reference is None else names.index(reference),
        n_stretches=n_stretches,
        horizon=horizon,
    )
    params: dict[str, Any] = {
        SurvivalParam.TIME: time,
        SurvivalParam.EVENT: event,
        SurvivalParam.TIES: "efron",
        SurvivalParam.N_STRETCHES: len(result.stretches),
        SurvivalParam.HORIZON: result.horizon,
        SurvivalParam.PSEUDOTIME_SD: result.pseudotime_sd,
        SurvivalParam.N_SAMPLES: result.pseudotime.n,
        SurvivalParam.N_EVENTS: result.pseudotime.n_events,
    }
    if adjusted.columns:
        params[SurvivalParam.COVARIATES] = np.array(adjusted.columns, dtype=object)
    if result.reference is not None:
        params[SurvivalParam.REFERENCE] = names[result.reference]
    record: dict[str, Any] = dict(tables(result, names))
    record[SurvivalEntry.LEFT_OUT] = _left_out(times, events, pseudotime, adjusted)
    record[SurvivalEntry.PARAMS] = params
    adata = adata.copy() if copy else adata
    store_survival(adata, keys, record)
    return adata if copy else None


def _times(adata: AnnData, name: str) -> np.ndarray:
    column = obs_column(adata, name, "time")
    if not holds_numbers(column):
        raise TypeError(
            f"time: adata.obs[{name!r}] is of type {column.dtype}; wanted numbers (days, months), from 0 up."
        )
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _events(adata: AnnData, name: str) -> np.ndarray:
    """0, 1 and NaN of a column, or an error that says how to make them."""
    column = obs_column(adata, name, "event")
    if isinstance(column.dtype, pd.CategoricalDtype) or column.dtype == object:
        there = list(column.dropna().unique())
        if not all(isinstance(value, bool | np.bool_ | int | np.integer | float | np.floating) for value in there):
            raise TypeError(_to_convert(name, there))
        column = column.astype(object)
    elif not pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        raise TypeError(_to_convert(name, list(column.dropna().unique())))
    return pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)


def _to_convert(name: str, values: list[Any]) -> str:
    """What is wrong with a column of texts, and what to write: with numbers where the texts begin with these."""
    found = sorted(str(value) for value in values)[:_MAX_SAID]
    code = lambda text: text[0] if text[:1] in ("0", "1") else "..."
    spelled = ", ".join(f"{text!r}: {code(text)}" for text in found)
    more = ", ..." if len(values) > _MAX_SAID else ""
    return (
        f"event: adata.obs[{name!r}] holds {found}{' and more' if more else ''}; wanted 1 where observation ended with "
        f"the event and 0 where it ended without, for example adata.obs['event'] = adata.obs[{name!r}].astype(object)"
        f".map({{{spelled}{more}}}).astype(float)."
    )


def _compared(names: list[str], codes: np.ndarray, branches: Sequence[str] | None, reference: str | None) -> np.ndarray:
    """The codes of the branches that are to be compared, -1 for others."""
    chosen = names if branches is None else check.texts(branches, "branches")
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise KeyError(f"branches: there is no {unknown[0]!r}. Available: {names}.")
    if reference is not None and reference not in chosen:
        raise KeyError(f"reference={reference!r} is none of the branches to compare. Available: {chosen}.")
    wanted = np.array([name in chosen for name in names] + [False])  # the last for -1
    return np.where(wanted[codes], codes, -1)


def _left_out(times: np.ndarray, events: np.ndarray, pseudotime: np.ndarray, adjusted: Covariates) -> pd.DataFrame:
    """Numbers of samples without a time and so on; each counts for the first that it lacks."""
    lacking = [("time", np.isnan(times)), ("event", np.isnan(events)), ("pseudotime", np.isnan(pseudotime))]
    lacking += list(zip(adjusted.columns, adjusted.missing.T, strict=True))
    usable, rows = np.ones(len(times), dtype=bool), []
    for name, without in lacking:
        rows.append((name, int((usable & without).sum())))
        usable &= ~without
    table = pd.DataFrame(rows, columns=["lacks", Column.N_SAMPLES])
    table.index = table.index.astype(str)
    return table
