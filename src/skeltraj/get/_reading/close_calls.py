"""Branches that pruning only just left or took, and the calls that decide otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor, isnan, log10
from typing import Any

import numpy as np

from skeltraj._keys import Column, Entry, PrunedEntry
from skeltraj._printing import Printed, several, told_apart
from skeltraj.core._branches.prune import NEAR

from .checks import with_key

_DIGITS = 2  # of a limit that is proposed; chosen by eye


@dataclass(frozen=True, repr=False)
class CloseCall(Printed):
    """A borderline branch: its gain is so close to the limit of pruning that little would have reversed the decision.

    Parameters
    ----------
    branch
        Its name; None: it was pruned.
    n_cells
        Number of cells on it, among those drawn for judging.
    gain, min_gain
        Its gain, and the limit; NaN if no limit gives this tree, because a branch was removed with a larger gain than
        that of another that stayed, as the number of tips was chosen.
    call
        The call that reverses the decision.
    """

    branch: str | None
    n_cells: int
    gain: float
    min_gain: float
    call: str

    @property
    def what(self) -> str:
        """What was decided, in words."""
        gain, limit = told_apart(self.gain, self.min_gain)
        limit = "the number of tips was chosen" if isnan(self.min_gain) else f"limit {limit}"
        gain = f"(gain {gain}, {limit})"
        if self.branch is None:
            return f"a branch of {several(self.n_cells, 'cell')} was pruned {gain}"
        return f"{self.branch} only just stayed {gain}"

    @property
    def turns(self) -> str:
        """What the call does, in words."""
        return "keeps it" if self.branch is None else "drops it"

    def __str__(self) -> str:
        return f"{self.what}: {self.call} {self.turns}"


def call(function: str, key: str, **arguments: Any) -> str:
    """How to call a function of `tl` or `get` for a fit."""
    given = ["adata", *(f"{name}={value!r}" for name, value in arguments.items())]
    return f"st.{function}({', '.join(given)}{with_key(key)})"


def close_calls(fit: Mapping[str, Any], key: str) -> list[CloseCall]:
    """The branches whose gain is near the limit of pruning, those that are left first."""
    record = fit.get(Entry.PRUNED, {})
    # not pruned, or by an earlier version; or not here, where nothing can be decided otherwise
    if PrunedEntry.KEPT not in record or Entry.INGESTED in fit:
        return []
    kept, gone, least = record[PrunedEntry.KEPT], record[PrunedEntry.REPORT], float(record[PrunedEntry.MIN_GAIN])
    if least <= 0:
        return []
    near, went = kept[kept["gain"] < NEAR * least], gone[gone["what"] == "branch"]
    went = went.assign(n_tips=len(kept) + np.arange(len(went), 0, -1))  # with how many tips a branch is there again
    limit = least
    if not _has_gain_limit(fit):
        limit, near = float("nan"), near.iloc[:1]  # with it gains change, and no limit says which goes next
    calls = [
        CloseCall(str(name), int(row[Column.N_CELLS]), row["gain"], limit, dropping(fit, key, str(name)))
        for name, row in near.iterrows()
    ]
    near = went[went["gain"] > least / NEAR]
    return calls + [
        CloseCall(
            None,
            int(row[Column.N_CELLS]),
            row["gain"],
            limit,
            prune_call(fit, key, n_tips=int(row["n_tips"]))
            if isnan(limit)
            else prune_call(fit, key, min_gain=_rounded_down(row["gain"])),
        )
        for _, row in near.iterrows()
    ]


def _has_gain_limit(fit: Mapping[str, Any]) -> bool:
    """Whether a limit of gains leaves the tree: no branch went with a gain as large as that of one that stayed."""
    kept, gone = fit[Entry.PRUNED][PrunedEntry.KEPT], fit[Entry.PRUNED][PrunedEntry.REPORT]
    went = gone["gain"][gone["what"] == "branch"]
    return not len(kept) or not len(went) or bool(went.max() < kept["gain"].min())


def dropping(fit: Mapping[str, Any], key: str, branch: str) -> str:
    """The call of `tl.prune` that drops a branch, and those of less gain."""
    gains = fit[Entry.PRUNED][PrunedEntry.KEPT]["gain"]
    if _has_gain_limit(fit):
        return prune_call(fit, key, min_gain=_rounded_up(float(gains[branch])))
    return prune_call(fit, key, n_tips=max(2, len(gains) - int((gains <= gains[branch]).sum())))


def prune_call(fit: Mapping[str, Any], key: str, **limits: float) -> str:
    """The call of `tl.prune` with a limit or a number of tips, and the resolution as it was."""
    resolution, sigma = float(fit[Entry.PRUNED][PrunedEntry.RESOLUTION]), float(fit[Entry.PARAMS].get("sigma", 0.0))
    usual = np.isclose(resolution, 3 * np.sqrt(sigma))
    return call("tl.prune", key, **limits, **({} if usual else dict(resolution=resolution)))


def _rounded_up(gain: float) -> float:
    """A number of few digits that is larger."""
    unit = _unit(gain)
    return float(f"{(floor(gain / unit) + 1) * unit:.{_DIGITS}g}")


def _rounded_down(gain: float) -> float:
    """A number of few digits that is smaller."""
    unit = _unit(gain)
    return float(f"{(ceil(gain / unit) - 1) * unit:.{_DIGITS}g}")


def _unit(gain: float) -> float:
    return float(10.0 ** (floor(log10(gain)) - _DIGITS + 1))
