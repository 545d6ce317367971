"""How time to event along a tree is stored: tables with the names of branches and of coefficients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core
from skeltraj._keys import Column, Entry, Keys, SurvivalEntry
from skeltraj.get._reading.entries import mark

from .changes import Changes

_PSEUDOTIME, _BRANCH, _STRETCH = "pseudotime", "branch", "stretch"


def store_survival(adata: AnnData, keys: Keys, record: dict[str, Any]) -> None:
    """Store the tables, in place of earlier ones."""
    changes, fit = Changes(), dict(adata.uns[keys.uns])
    changes.put("uns", keys.uns, fit | {Entry.SURVIVAL: record | {Entry.MADE_OF: mark(fit, Entry.SURVIVAL)}})
    changes.make(adata)


def tables(result: core.Survival, branches: list[str]) -> dict[str, pd.DataFrame]:
    """The result as tables; rows are named by their numbers, as h5ad wants it.

    Parameters
    ----------
    result
        What was found, branches as codes.
    branches
        The names of the codes.
    """
    models = {_PSEUDOTIME: result.pseudotime}
    if result.branch is not None:
        models[_BRANCH] = result.branch
    of_branches = pd.Categorical([branches[group.code] for group in result.branches], categories=branches)
    of_branches = of_branches.remove_unused_categories()
    of_stretches = np.arange(1, len(result.stretches) + 1)
    stretches = _groups(_STRETCH, of_stretches, result.stretches)
    stretches.insert(1, Column.START, result.bounds[:-1])
    stretches.insert(2, Column.END, result.bounds[1:])
    written = {
        SurvivalEntry.COEFFICIENTS: pd.concat([_coefficients(*model) for model in models.items()], ignore_index=True),
        SurvivalEntry.TESTS: _tests(result, models),
        SurvivalEntry.MODELS: pd.DataFrame([_model(*model) for model in models.items()]),
        SurvivalEntry.BRANCHES: _groups(_BRANCH, of_branches, result.branches),
        SurvivalEntry.STRETCHES: stretches,
        SurvivalEntry.BRANCH_CURVES: _curves(_BRANCH, of_branches, result.branches),
        SurvivalEntry.STRETCH_CURVES: _curves(_STRETCH, of_stretches, result.stretches),
    }
    for table in written.values():
        table.index = table.index.astype(str)
    return written


def _coefficients(name: str, model: core.CoxModel) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "model": name,
            "term": model.names,
            "log_hazard_ratio": model.log_hazard_ratio,
            "standard_error": model.standard_error,
            "hazard_ratio": np.exp(model.log_hazard_ratio),
            "low": np.exp(model.low),
            "high": np.exp(model.high),
            "z": model.z,
            Column.P_VALUE: model.p_value,
            "proportional_slope": model.proportional_slope,
            "proportional_chi2": model.proportional_chi2,
            "proportional_p_value": model.proportional_p_value,
        }
    )


def _tests(result: core.Survival, models: dict[str, core.CoxModel]) -> pd.DataFrame:
    tests: list[tuple[str, str, core.ChiSquare | None]] = []
    for name, model in models.items():
        tests += [
            (name, "likelihood ratio", model.likelihood_ratio),
            (name, "proportional hazards", model.proportional),
            (name, "proportional hazards, with covariates", model.proportional_all),
        ]
    tests.insert(1, (_PSEUDOTIME, "linearity", result.linearity))
    tests += [(_BRANCH, "log-rank", result.log_rank), (_STRETCH, "log-rank", result.log_rank_of_stretches)]
    rows = [(of, test, found.chi2, found.df, found.p_value) for of, test, found in tests if found is not None]
    return pd.DataFrame(rows, columns=["of", "test", "chi2", "df", Column.P_VALUE])


def _model(name: str, model: core.CoxModel) -> dict[str, Any]:
    fields = ("log_likelihood", "log_likelihood_covariates", "concordance", "concordance_covariates")
    numbers = {Column.N_SAMPLES: model.n, Column.N_EVENTS: model.n_events, "n_coefficients": len(model.names)}
    return {"model": name} | numbers | {field: getattr(model, field) for field in fields}


def _groups(kind: str, names: Any, groups: list[core.SurvivalGroup]) -> pd.DataFrame:
    counts = {Column.N_SAMPLES: [group.n for group in groups], Column.N_EVENTS: [group.n_events for group in groups]}
    measures = [f"{name}{limit}" for name in ("median", "restricted_mean") for limit in ("", "_low", "_high")]
    return pd.DataFrame(
        {kind: names} | counts | {name: [getattr(group, name) for group in groups] for name in measures}
    )


def _curves(kind: str, names: Any, groups: Iterable[core.SurvivalGroup]) -> pd.DataFrame:
    curves = [group.curve for group in groups]
    size = [len(curve.time) for curve in curves]
    fields = (Column.TIME, "n_risk", Column.N_EVENTS, "n_censored", "survival", "low", "high")
    columns = {field: np.concatenate([getattr(curve, field) for curve in curves]) for field in fields}
    return pd.DataFrame({kind: names.repeat(size)} | columns)
