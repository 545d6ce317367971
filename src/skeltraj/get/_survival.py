from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Entry, SurvivalEntry, SurvivalParam
from skeltraj._printing import Printed, ratios_as_text
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.entries import made

from ._ordered import ordered
from ._stored import stored


@dataclass(frozen=True, repr=False)
class SurvivalTables(Printed):
    """Time to event along the tree, as :func:`skeltraj.tl.survival` found it; printed, a summary.

    Parameters
    ----------
    time, event, covariates
        Columns of `obs`.
    coefficients
        One row for each model and term: ``model``, ``term``, ``log_hazard_ratio``, ``standard_error``,
        ``hazard_ratio``, ``low``, ``high``, ``z``, ``p_value``, ``proportional_slope``, ``proportional_chi2``,
        ``proportional_p_value``.
    tests
        One row for each test: ``of``, ``test``, ``chi2``, ``df``, ``p_value``.
    models
        One row for each model: ``model``, ``n_samples``, ``n_events``, ``n_coefficients``, ``log_likelihood``,
        ``log_likelihood_covariates``, ``concordance``, ``concordance_covariates``.
    branches
        One row for each branch that is compared: ``branch``, ``n_samples``, ``n_events``, ``median``, ``median_low``,
        ``median_high``, ``restricted_mean``, ``restricted_mean_low``, ``restricted_mean_high``.
    stretches
        The same for each ``stretch`` of pseudotime, with its ``start`` and ``end``.
    branch_curves, stretch_curves
        One row for each distinct time of a branch or stretch: ``branch`` or ``stretch``, ``time``, ``n_risk``,
        ``n_events``, ``n_censored``, ``survival``, ``low``, ``high``.
    reference
        The branch with which the others are compared; None without a model of branches.
    pseudotime_sd
        The unit of the hazard ratio of pseudotime.
    horizon
        Time up to which mean times are computed.
    n_samples, n_events
        Samples used, and events among them.
    left_out
        Numbers of samples left out, by what they lacked.
    """

    time: str
    event: str
    covariates: list[str]
    coefficients: pd.DataFrame
    tests: pd.DataFrame
    models: pd.DataFrame
    branches: pd.DataFrame
    stretches: pd.DataFrame
    branch_curves: pd.DataFrame
    stretch_curves: pd.DataFrame
    reference: str | None
    pseudotime_sd: float
    horizon: float
    n_samples: int
    n_events: int
    left_out: dict[str, int]

    def at_risk(self, times: Sequence[float] | np.ndarray, by: Literal["branch", "stretch"] = "branch") -> pd.DataFrame:
        """How many samples were still observed, without the event, just before each of some times.

        Parameters
        ----------
        times
            In the units of the column.
        by
            Groups: branches, or stretches of pseudotime.

        Returns
        -------
        A table with a row for each branch or stretch and a column for each time.
        """
        curves, groups = self.of(by)
        columns = np.asarray(times, dtype=np.float64)
        rows = {}
        for group in groups[by]:
            own = curves[curves[by] == group]
            left = np.append(own["n_risk"].to_numpy(), 0)
            rows[group] = left[np.searchsorted(own[Column.TIME].to_numpy(), columns, side="left")]
        table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
        return table.rename_axis(index=by, columns=self.time)

    def of(self, by: Literal["branch", "stretch"]) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The curves, and the table, of branches or of stretches."""
        if by not in ("branch", "stretch"):
            raise ValueError(f"by={by!r} is not known. Available: ['branch', 'stretch'].")
        return (self.branch_curves, self.branches) if by == "branch" else (self.stretch_curves, self.stretches)

    def p_value(self, of: str, test: str) -> float:
        """The p-value of a test; NaN if there is none."""
        rows = self.tests[(self.tests["of"] == of) & (self.tests["test"] == test)]
        return float(rows[Column.P_VALUE].iloc[0]) if len(rows) else np.nan

    def n_compared(self, by: Literal["branch", "stretch"]) -> int:
        """How many branches or stretches the log-rank test compares; 0 if there is none.

        Those of which nobody is left at the first event take no part in it.
        """
        rows = self.tests[(self.tests["of"] == by) & (self.tests["test"] == "log-rank")]
        return int(rows["df"].iloc[0]) + 1 if len(rows) else 0

    def __repr__(self) -> str:
        left_out = ", ".join(f"{n} without {name}" for name, n in self.left_out.items() if n)
        lines = [
            f"Time to event along the tree: time {self.time!r}, event {self.event!r}",
            f"{self.n_samples:,} samples, {self.n_events:,} events" + (f"; left out: {left_out}" if left_out else ""),
        ]
        for model in self.models.itertuples():
            rows = self.coefficients[self.coefficients["model"] == model.model]
            unit = (
                f"pseudotime per standard deviation ({self.pseudotime_sd:.4g})"
                if model.model == "pseudotime"
                else f"branches against {self.reference}"
            )
            lines += ["", f"Cox model of {unit}", _as_text(_ratios(rows)), self._of_model(model)]
        lines += ["", f"Branches (mean up to {self.horizon:g}); {self._log_rank('branch')}"]
        lines += [_as_text(_times(self.branches, "branch")), ""]
        lines += [f"Stretches of pseudotime; {self._log_rank('stretch')}", _as_text(_times(self.stretches, "stretch"))]
        return "\n".join(lines)

    def _of_model(self, model: object) -> str:
        of = model.model  # type: ignore[attr-defined]
        parts = [f"likelihood ratio: p = {_p_text(self.p_value(of, 'likelihood ratio'))}"]
        if of == "pseudotime" and not np.isnan(self.p_value(of, "linearity")):
            parts.append(f"linearity: p = {_p_text(self.p_value(of, 'linearity'))}")
        parts.append(f"proportional hazards: p = {_p_text(self.p_value(of, 'proportional hazards'))}")
        without = f" (covariates alone {model.concordance_covariates:.3f})" if self.covariates else ""  # type: ignore[attr-defined]
        parts.append(f"concordance {model.concordance:.3f}{without}")  # type: ignore[attr-defined]
        return "; ".join(parts)

    def _log_rank(self, of: Literal["branch", "stretch"]) -> str:
        p, (_, there) = self.p_value(of, "log-rank"), self.of(of)
        if not np.isnan(p):
            n = self.n_compared(of)
            some = f" (of the {n} that have samples left at the first event)" if n < len(there) else ""
            return f"log-rank p = {_p_text(p)}{some}"
        return "only one" if len(there) == 1 else "no log-rank test: only one has samples left at the first event"


def _p_text(value: float) -> str:
    return f"{value:.2g}"


def _as_text(table: pd.DataFrame) -> str:
    return table.to_string(index=False)


def _ratios(rows: pd.DataFrame) -> pd.DataFrame:
    ratio_texts = [ratios_as_text(*values) for values in rows[["hazard_ratio", "low", "high"]].to_numpy(float).tolist()]
    return pd.DataFrame(
        {
            "term": rows["term"],
            "hazard ratio": [ratio for ratio, _, _ in ratio_texts],
            "95 % interval": [f"{low} to {high}" for _, low, high in ratio_texts],
            "p": [_p_text(x) for x in rows[Column.P_VALUE]],
            "proportional p": [_p_text(x) for x in rows["proportional_p_value"]],
        }
    )


def _times(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    interval = lambda name: [
        "not known" if np.isnan(x) else f"{x:.4g} ({a:.4g} to {b:.4g})"
        for x, a, b in zip(table[name], table[f"{name}_low"], table[f"{name}_high"], strict=True)
    ]
    columns = {kind: table[kind], "samples": table[Column.N_SAMPLES], "events": table[Column.N_EVENTS]}
    return pd.DataFrame(columns | {"median": interval("median"), "restricted mean": interval("restricted_mean")})


@as_declared
@shared_texts
def survival(adata: AnnData, key: str = "ddrtree") -> SurvivalTables:
    """The stored models and curves of time to event.

    Parameters
    ----------
    adata
        Annotated data for which :func:`skeltraj.tl.survival` was run.
    <key>

    Returns
    -------
    A :class:`SurvivalTables`, of copies.

    Raises
    ------
    KeyError
        If nothing is stored.

    Examples
    --------
    <example_ordered>
    >>> import numpy as np
    >>> # times are simulated: the farther from the root, the shorter
    >>> time = np.random.default_rng(0).exponential(np.exp(3 - adata.obs["ddrtree_pseudotime"]))
    >>> adata.obs["months"], adata.obs["died"] = np.minimum(time, 12), time < 12
    >>> st.tl.survival(adata, "months", "died")
    >>> tables = st.get.survival(adata)
    >>> tables.n_samples, tables.branches["branch"].tolist()
    (640, ['B1', 'B2', 'B3', 'B4', 'B5', 'B6', 'B7'])
    """
    ordered(adata, key)
    record = made(stored(adata, key), Entry.SURVIVAL, key)
    if record is None:
        raise KeyError(
            f"no time to event is stored in adata.uns[{key!r}]. Run skeltraj.tl.survival(adata, time=..., event=..., "
            f"key={key!r}) first."
        )
    params, left_out = record[SurvivalEntry.PARAMS], record[SurvivalEntry.LEFT_OUT]
    table = lambda name: record[name].reset_index(drop=True).copy()
    return SurvivalTables(
        time=str(params[SurvivalParam.TIME]),
        event=str(params[SurvivalParam.EVENT]),
        covariates=[str(name) for name in params.get(SurvivalParam.COVARIATES, ())],
        coefficients=table(SurvivalEntry.COEFFICIENTS),
        tests=table(SurvivalEntry.TESTS),
        models=table(SurvivalEntry.MODELS),
        branches=table(SurvivalEntry.BRANCHES),
        stretches=table(SurvivalEntry.STRETCHES),
        branch_curves=table(SurvivalEntry.BRANCH_CURVES),
        stretch_curves=table(SurvivalEntry.STRETCH_CURVES),
        reference=str(params[SurvivalParam.REFERENCE]) if SurvivalParam.REFERENCE in params else None,
        pseudotime_sd=float(params[SurvivalParam.PSEUDOTIME_SD]),
        horizon=float(params[SurvivalParam.HORIZON]),
        n_samples=int(params[SurvivalParam.N_SAMPLES]),
        n_events=int(params[SurvivalParam.N_EVENTS]),
        left_out={str(name): int(n) for name, n in zip(left_out["lacks"], left_out[Column.N_SAMPLES], strict=True)},
    )
