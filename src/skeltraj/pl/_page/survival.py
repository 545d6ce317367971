"""Time to event along the tree."""

from __future__ import annotations

from functools import partial

import pandas as pd

from skeltraj import get
from skeltraj._keys import Column, Entry
from skeltraj.pl._survival import survival as draw_survival

from .section import Section, Study
from .tables import number


def survival(study: Study) -> Section:
    """Time to event."""
    section = Section("survival", "Time to event")
    if Entry.SURVIVAL not in study.fit or study.order is None:
        section.missing("time to event along the tree", study.call("survival", "time=...", "event=..."))
        return section
    tables = get.survival(study.adata, study.key)
    adjusted = f", adjusted for {', '.join(tables.covariates)}" if tables.covariates else ""
    section.text(
        f"{tables.n_samples:,} samples with {tables.n_events:,} events ({tables.event}), time in "
        f"{tables.time}{adjusted}.{_units(tables)}"
    )
    for by in ("branch", "stretch"):
        if len(tables.of(by)[1]):
            section.picture(
                partial(draw_survival, study.adata, by, study.key),
                f"Curves of Kaplan and Meier by {by}, numbers at risk below, hazard ratios at the right",
                f"By {by}{' of pseudotime' if by == 'stretch' else ''}: Kaplan and Meier, and the Cox model.",
            )
    section.table(
        lambda: tables.coefficients,
        "Cox models: hazard ratios with 95 % intervals, and tests whether they stay the same in the course of time.",
        f"{study.key} hazard ratios",
        columns=(
            "model",
            "term",
            "log_hazard_ratio",
            "hazard_ratio",
            "low",
            "high",
            "z",
            Column.P_VALUE,
            "proportional_p_value",
        ),
    )
    section.table(lambda: tables.tests, "Tests of the models and of the curves.", f"{study.key} survival tests")
    for frame, what in ((tables.branches, "branches"), (tables.stretches, "stretches of pseudotime")):
        if len(frame):
            section.table(partial(_same, frame), f"Survival on {what}.", f"{study.key} survival {what}")
    return section


def _units(tables: get.SurvivalTables) -> str:
    """What hazard ratios and mean times refer to, and which samples were left out, in sentences."""
    text = f" Hazard ratios: per standard deviation of pseudotime ({number(tables.pseudotime_sd)})"
    if tables.reference is not None:
        text += f"; of branches, against {tables.reference}"
    text += f". Restricted means: up to {number(tables.horizon)}."
    lacking = [f"{n:,} without {what}" for what, n in tables.left_out.items() if n]
    return text + (f" Left out: {', '.join(lacking)}." if lacking else "")


def _same(frame: pd.DataFrame) -> pd.DataFrame:
    return frame
