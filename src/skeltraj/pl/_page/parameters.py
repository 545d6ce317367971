"""Parameters and versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pandas as pd

from skeltraj._keys import Entry, IngestedEntry, Param, TestEntry

from .section import Section, Study

_PACKAGES = ("skeltraj", "anndata", "scanpy", "numpy", "scipy", "pandas", "numba", "scikit-learn", "matplotlib")


def parameters(study: Study) -> Section:
    """The parameters of the fit as resolved, and the versions as stored and as running."""
    section, params = Section("parameters", "Parameters and versions"), study.fit.get(Entry.PARAMS, {})
    texts = {str(name): _value_text(value) for name, value in params.items() if name != Param.VERSION}
    section.table(
        lambda: _frame(texts, "parameter", "value"), "Parameters of the fit, as resolved.", f"{study.key} params"
    )
    section.table(
        lambda: _versions(study), "Versions: as stored with the results, and as this page was made.", "versions"
    )
    return section


def _frame(values: Mapping[str, str], *columns: str) -> pd.DataFrame:
    return pd.DataFrame(list(values.items()), columns=list(columns))


def _value_text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray) and value.size > 12:
        return f"array of shape {value.shape}"
    return str(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)


def _versions(study: Study) -> pd.DataFrame:
    rows = [(name, _stored(study) if name == "skeltraj" else "", _version_text(name)) for name in _PACKAGES]
    rows.append(("Python", "", platform.python_version()))
    return pd.DataFrame(rows, columns=["package", "stored", "running"])


def _stored(study: Study) -> str:
    """Versions of this package that are stored with results: one, or which result has which."""
    fit = study.fit
    made = {"fit": fit.get(Entry.PARAMS, {}).get(Param.VERSION)}
    for name in (Entry.ASSOCIATION, Entry.CONDITION_TEST, Entry.TRENDS):
        made[name] = fit.get(name, {}).get(TestEntry.VERSION)
    made |= {str(test): record.get(TestEntry.VERSION) for test, record in fit.get(Entry.BRANCH_TEST, {}).items()}
    made["tree of others"] = fit.get(Entry.INGESTED, {}).get(IngestedEntry.VERSION)
    made = {what: str(of) for what, of in made.items() if of is not None}
    if len(set(made.values())) == 1:
        return next(iter(made.values()))
    return ", ".join(f"{what} {of}" for what, of in made.items())


def _version_text(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
