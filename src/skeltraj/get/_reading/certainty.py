"""What the dictionary of a fit says of how sure its tree is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, isnan, log10
from typing import Any

import numpy as np
import pandas as pd

from skeltraj._keys import Column, Entry, Param, PrunedEntry
from skeltraj._printing import Printed, several, side_by_side
from skeltraj.core import EmptyStretch, Graph, Mesh
from skeltraj.core._branches.prune import NEAR
from skeltraj.core._branches.starts import LITTLE_AGREEMENT, MOST

from .checks import with_key

_DIGITS = 2  # of a limit that is proposed; chosen by eye
_MAX_NAMED = 5  # branches in a sentence; chosen by eye
OTHERS = "the trees from other starts and from parts of the cells"  # with which a tree is compared as it is learned


@dataclass(frozen=True, repr=False)
class CloseCall(Printed):
    """A branch whose gain is so near to the limit of pruning that little else would have decided otherwise.

    Parameters
    ----------
    branch
        Its name; None: it was taken out.
    n_cells
        Cells that lay on it, of those that were drawn to judge by.
    gain, min_gain
        Its gain, and the limit; NaN where no limit leaves this tree: some branch went with a larger gain than another
        that stayed, as the number of tips was chosen.
    call
        The call that decides otherwise.
    """

    branch: str | None
    n_cells: int
    gain: float
    min_gain: float
    call: str

    @property
    def what(self) -> str:
        """What was decided, in words."""
        gain, limit = side_by_side(self.gain, self.min_gain)
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


def agreement_of(fit: Mapping[str, Any]) -> tuple[float, int]:
    """How well the tree agrees with those from other starts and parts of the cells, and the number of starts.

    NaN where there were no other trees.
    """
    agreement = np.atleast_1d(np.asarray(fit.get(Entry.AGREEMENT, []), dtype=np.float64))
    return (float(agreement.max()), len(agreement)) if len(agreement) else (float("nan"), 1)


def lacking(fit: Mapping[str, Any]) -> list[str]:
    """The branches that most of the other trees lack, by name."""
    starts = fit.get(Entry.STARTS)
    return [] if starts is None else [str(name) for name in starts.index[starts[Column.FOUND_AGAIN] < MOST]]


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
    if not _has_limit(fit):
        limit, near = float("nan"), near.iloc[:1]  # with it gains change, and no limit says which goes next
    calls = [
        CloseCall(str(name), int(row[Column.N_CELLS]), row["gain"], limit, _dropping(fit, key, str(name)))
        for name, row in near.iterrows()
    ]
    near = went[went["gain"] > least / NEAR]
    return calls + [
        CloseCall(
            None,
            int(row[Column.N_CELLS]),
            row["gain"],
            limit,
            _pruning(fit, key, n_tips=int(row["n_tips"]))
            if isnan(limit)
            else _pruning(fit, key, min_gain=_below(row["gain"])),
        )
        for _, row in near.iterrows()
    ]


def _has_limit(fit: Mapping[str, Any]) -> bool:
    """Whether a limit of gains leaves the tree: no branch went with a gain as large as that of one that stayed."""
    kept, gone = fit[Entry.PRUNED][PrunedEntry.KEPT], fit[Entry.PRUNED][PrunedEntry.REPORT]
    went = gone["gain"][gone["what"] == "branch"]
    return not len(kept) or not len(went) or bool(went.max() < kept["gain"].min())


def _dropping(fit: Mapping[str, Any], key: str, branch: str) -> str:
    """The call of `tl.prune` that drops a branch, and those of less gain."""
    gains = fit[Entry.PRUNED][PrunedEntry.KEPT]["gain"]
    if _has_limit(fit):
        return _pruning(fit, key, min_gain=_above(float(gains[branch])))
    return _pruning(fit, key, n_tips=max(2, len(gains) - int((gains <= gains[branch]).sum())))


def _pruning(fit: Mapping[str, Any], key: str, **how: float) -> str:
    resolution, sigma = float(fit[Entry.PRUNED][PrunedEntry.RESOLUTION]), float(fit[Entry.PARAMS].get("sigma", 0.0))
    usual = np.isclose(resolution, 3 * np.sqrt(sigma))
    return call("tl.prune", key, **how, **({} if usual else dict(resolution=resolution)))


def _above(gain: float) -> float:
    """A number of few digits that is larger."""
    unit = _unit(gain)
    return float(f"{(floor(gain / unit) + 1) * unit:.{_DIGITS}g}")


def _below(gain: float) -> float:
    """A number of few digits that is smaller."""
    unit = _unit(gain)
    return float(f"{(ceil(gain / unit) - 1) * unit:.{_DIGITS}g}")


def _unit(gain: float) -> float:
    return float(10.0 ** (floor(log10(gain)) - _DIGITS + 1))


def doubts(fit: Mapping[str, Any], graph: Graph, key: str, *, summed_up: bool = False) -> list[str]:
    """What speaks against a tree as it is, each with what to try next; `summed_up`: as part of `get.summary`."""
    agreement, n_starts = agreement_of(fit)
    if n_starts == 1:  # few trees are compared, and smaller ones
        return []
    lost, method = lacking(fit), fit.get(Entry.PARAMS, {}).get(Param.METHOD, key)
    # others than the tree of its own cells are neither learned again nor pruned
    own = not any(entry in fit for entry in (Entry.INGESTED, Entry.ATTACHED, Entry.PATH))
    can_be_relearned = own and Param.KERNEL not in fit.get(Entry.PARAMS, {})
    stability = ""
    if Entry.STABILITY not in fit and can_be_relearned:
        stability = f" After st.tl.order, {call('tl.stability', key)} judges each branch."
    # where all others have all its branches, they only add to them
    shared = Entry.STARTS in fit and bool((fit[Entry.STARTS][Column.FOUND_AGAIN] == 1).all())
    if agreement < LITTLE_AGREEMENT and not shared:
        branches = f" Most of them lack {listed(lost)}." if lost else ""
        summary = "" if summed_up else f" {call('get.summary', key)} tells what they share."
        again = (
            " Try another preparation (normalised, log-transformed, other genes, another number of principal "
            f"components), or n_starts={2 * n_starts}."
        )
        of_another = "" if own and Entry.STARTS in fit else _as_learned(fit)  # as one that was pruned again
        said, _ = side_by_side(agreement, LITTLE_AGREEMENT, ".2f")
        return [
            f"{method}: {OTHERS} differ: agreement {said}, where 1 is the same; below {LITTLE_AGREEMENT} the "
            f"data as they were given do not settle the tree.{branches}{summary}{of_another}{again if own else ''}"
            f"{stability}"
        ]
    if lost:
        gains = fit.get(Entry.PRUNED, {}).get(PrunedEntry.KEPT, pd.DataFrame({"gain": []}))["gain"]
        with_tip = {name: float(gains[name]) for name in lost if name in gains.index and gains[name] > 0}
        drop = ""
        if with_tip and own:
            weakest = min(with_tip, key=lambda name: with_tip[name])
            which = "it" if len(lost) == 1 else weakest
            before = [str(name) for name in gains.index[gains < with_tip[weakest]]]
            with_less = f" with {listed(before)}, of less gain" if before else ""
            drop = f", or drop {which}{with_less}: {_dropping(fit, key, weakest)}"
        return [
            f"{method}: most of {OTHERS} lack {listed(lost)} (of "
            f"{several(len(graph.branches), 'branch', 'branches')}; agreement on all {agreement:.2f}). Look whether "
            f"known groups or genes part there{drop}.{'' if own else _as_learned(fit)}{stability}"
        ]
    return []


def pruned_said(report: pd.DataFrame) -> str:
    """What pruning took, by its table."""
    gone = several(int((report["what"] == "branch").sum()), "branch", "branches")
    joined = int((report["what"] == "forks").sum())
    return f"{gone} pruned" + (f", {several(joined, 'pair')} of forks made one" if joined else "")


def empty_said(stretches: Sequence[EmptyStretch]) -> list[str]:
    """What is to be said of stretches of a tree on which no cell lies, each with what to try next."""
    told = []
    for stretch in stretches[:_MAX_NAMED]:
        tips = f" ({listed(list(stretch.tips))})" if stretch.tips else ""
        told.append(
            f"No cell lies on a stretch of {stretch.branch} that is {100 * stretch.share:.0f} % of the tree's length; "
            f"beyond it are {several(stretch.n_beyond, 'cell')}{tips}. Pseudotime grows along it, but no cell shows "
            "the way. If these are of another kind, leave them out and fit again; in a time course it may be what lies "
            "between two samples."
        )
    return told


def _as_learned(fit: Mapping[str, Any]) -> str:
    """Which tree is in doubt, where it is not the one that is stored, or its cells are not here."""
    if Entry.INGESTED in fit:
        return " It was learned from other cells: look at the summary of these."
    return " This is said of the tree as it was learned."


def listed(names: list[str]) -> str:
    """Names in a sentence, the first few of many."""
    shown = names[:_MAX_NAMED] if len(names) > _MAX_NAMED + 1 else names
    more = len(names) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def in_a_line(fit: Mapping[str, Any], graph: Graph, key: str) -> str:
    """What was learned, in a line, and in further ones what is borderline."""
    agreement, n_starts = agreement_of(fit)
    counts = [
        several(len(graph.tips), "tip"),
        several(len(graph.forks), "fork"),
        several(len(graph.branches), "branch", "branches"),
    ]
    if isinstance(graph, Mesh):
        counts = [several(len(graph.edges), "similar pair")]
    said, _ = side_by_side(agreement, LITTLE_AGREEMENT, ".2f")
    of_starts = "" if isnan(agreement) else f"; agreement {said} ({several(n_starts, 'start')})"
    rounds = f"{int(fit[Entry.N_ITER]):,} rounds{'' if fit[Entry.CONVERGED] else ', not converged'}"
    method = fit[Entry.PARAMS].get(Param.METHOD, key)
    lines = [f"{method}: {', '.join(counts)} ({graph.n_nodes:,} nodes, {rounds}){of_starts}"]
    close = close_calls(fit, key)
    lines += [f"    {one}" for one in close[:_MAX_NAMED]]
    if len(close) > _MAX_NAMED:
        lines.append(f"    {len(close) - _MAX_NAMED} more near the limit: {call('get.summary', key)}")
    return "\n".join(lines)
