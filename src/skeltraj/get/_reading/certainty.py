"""What the dictionary of a fit says of how sure its tree is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np
import pandas as pd

from skeltraj._keys import Column, Entry, Param, PrunedEntry
from skeltraj._printing import several, side_by_side
from skeltraj.core import EmptyStretch, Graph, Mesh
from skeltraj.core._branches.starts import LITTLE_AGREEMENT, LITTLE_ORDER, MOST, NEAR_ENDS, between_ends
from skeltraj.core._branches.tips import LITTLE_VALUE

from .close_calls import call, close_calls, dropping, pruning

_MAX_NAMED = 5  # branches in a sentence; chosen by eye
OTHERS = "the trees from other starts and from parts of the cells"  # with which a tree is compared as it is learned


def agreement_of(fit: Mapping[str, Any]) -> tuple[float, int]:
    """How well the tree agrees with those from other starts and parts of the cells, and the number of starts.

    NaN where there were no other trees.
    """
    agreement = np.atleast_1d(np.asarray(fit.get(Entry.AGREEMENT, []), dtype=np.float64))
    return (float(agreement.max()), len(agreement)) if len(agreement) else (float("nan"), 1)


def order_of(fit: Mapping[str, Any]) -> float:
    """How alike the other trees have the cells in order, of a line; NaN of other trees, or where there were none."""
    starts = fit.get(Entry.STARTS)
    if starts is None or Column.ORDER not in starts or not len(starts):
        return float("nan")
    return float(starts[Column.ORDER].iloc[0])


def value_of(fit: Mapping[str, Any]) -> float:
    """The value of the number of tips that the fit chose; NaN if it was given."""
    return float(fit[Entry.TIP_CHOICE][Column.VALUE].max()) if Entry.TIP_CHOICE in fit else float("nan")


def lacking(fit: Mapping[str, Any]) -> list[str]:
    """The branches that most of the other trees lack, by name."""
    starts = fit.get(Entry.STARTS)
    return [] if starts is None else [str(name) for name in starts.index[starts[Column.FOUND_AGAIN] < MOST]]


def doubts(fit: Mapping[str, Any], graph: Graph, key: str, *, summed_up: bool = False) -> list[str]:
    """What speaks against a tree as it is, each with what to try next; `summed_up`: as part of `get.summary`."""
    if agreement_of(fit)[1] == 1:  # few trees are compared, and smaller ones
        return []
    return [*_of_branches(fit, graph, key, summed_up=summed_up), *_of_line(fit, graph, key)]


def _of_line(fit: Mapping[str, Any], graph: Graph, key: str) -> list[str]:
    """What is to be said of a line if it may be none: other lines have its branch, whatever they are lines of."""
    order, ends = order_of(fit), between_ends(graph)
    method = fit.get(Entry.PARAMS, {}).get(Param.METHOD, key)
    look = _as_learned(fit)
    if _is_own(fit):
        look = f" {call('pl.graph', key)} draws a cycle as a ring that is open somewhere."
    if order < LITTLE_ORDER:
        said, _ = side_by_side(order, LITTLE_ORDER, ".2f")
        return [
            f"{method}: the tree is a line, but {OTHERS} have the cells in other orders: rank correlation {said} on "
            f"average, where 1 is the same; below {LITTLE_ORDER} the data as they were given show no order from one "
            "end to the other. The cells may be one cloud, whose order means nothing, or a cycle, which has no ends."
            f"{look}"
        ]
    if Entry.STARTS in fit and ends < NEAR_ENDS:
        return [
            f"{method}: the tree is a line whose ends are near each other, {100 * ends:.0f} % of its length apart. The "
            f"cells may lie on a cycle, which has no ends and is cut open where they happen to be few.{look}"
        ]
    return []


def _of_branches(fit: Mapping[str, Any], graph: Graph, key: str, *, summed_up: bool) -> list[str]:
    """What is to be said of branches that other trees lack."""
    agreement, n_starts = agreement_of(fit)
    # where all others have all its branches, they only add to them
    shared = Entry.STARTS in fit and bool((fit[Entry.STARTS][Column.FOUND_AGAIN] == 1).all())
    lost, method = lacking(fit), fit.get(Entry.PARAMS, {}).get(Param.METHOD, key)
    if agreement < LITTLE_AGREEMENT and not shared:
        summary = "" if summed_up else f" {call('get.summary', key)} tells what they share."
        said = _trees_differ(fit, agreement, n_starts, lost, summary)
    elif lost:
        said = _branches_lacked(fit, graph, key, agreement, lost)
    elif (value := _doubtful_values(fit)) is not None:
        said = _number_doubtful(fit, key, value)
    else:
        return []
    stability = ""
    if Entry.STABILITY not in fit and _is_own(fit) and Param.KERNEL not in fit.get(Entry.PARAMS, {}):
        stability = f" After st.tl.order, {call('tl.stability', key)} judges each branch."
    return [f"{method}: {said}{stability}"]


def _is_own(fit: Mapping[str, Any]) -> bool:
    """Whether it is the tree of its own cells: others are neither learned again nor pruned."""
    return not any(entry in fit for entry in (Entry.INGESTED, Entry.ATTACHED, Entry.PATH))


def _trees_differ(fit: Mapping[str, Any], agreement: float, n_starts: int, lost: list[str], summary: str) -> str:
    """That the other trees differ from the tree and from one another."""
    branches = f" Most of them lack {listed(lost)}." if lost else ""
    of_another = "" if _is_own(fit) and Entry.STARTS in fit else _as_learned(fit)  # as one that was pruned again
    again = (
        " Try another preparation (normalised, log-transformed, other genes, another number of principal "
        f"components), or n_starts={2 * n_starts}."
    )
    said, _ = side_by_side(agreement, LITTLE_AGREEMENT, ".2f")
    return (
        f"{OTHERS} differ: agreement {said}, where 1 is the same; below {LITTLE_AGREEMENT} the data as they were "
        f"given do not settle the tree.{branches}{summary}{of_another}{again if _is_own(fit) else ''}"
    )


def _branches_lacked(fit: Mapping[str, Any], graph: Graph, key: str, agreement: float, lost: list[str]) -> str:
    """That the other trees lack some branches of the tree."""
    gains = fit.get(Entry.PRUNED, {}).get(PrunedEntry.KEPT, pd.DataFrame({"gain": []}))["gain"]
    with_tip = {name: float(gains[name]) for name in lost if name in gains.index and gains[name] > 0}
    drop = ""
    if with_tip and _is_own(fit):
        weakest = min(with_tip, key=lambda name: with_tip[name])
        which = "it" if len(lost) == 1 else weakest
        before = [str(name) for name in gains.index[gains < with_tip[weakest]]]
        with_less = f" with {listed(before)}, of less gain" if before else ""
        drop = f", or drop {which}{with_less}: {dropping(fit, key, weakest)}"
    return (
        f"most of {OTHERS} lack {listed(lost)} (of {several(len(graph.branches), 'branch', 'branches')}; agreement on "
        f"all {agreement:.2f}). Look whether known groups or genes part there{drop}."
        f"{'' if _is_own(fit) else _as_learned(fit)}"
    )


def _doubtful_values(fit: Mapping[str, Any]) -> pd.Series | None:
    """By which the number of tips was chosen, the largest value first, where it is in doubt; None: it is not.

    Nor is one that was given, or chosen again since, which leaves no support from starts.
    """
    if Entry.TIP_CHOICE not in fit or Entry.STARTS not in fit:
        return None
    value = fit[Entry.TIP_CHOICE][Column.VALUE].sort_values(ascending=False, kind="stable")
    return value if int(value.index[0]) > 2 and value.iloc[0] < LITTLE_VALUE else None


def _number_doubtful(fit: Mapping[str, Any], key: str, value: pd.Series) -> str:
    """That the number of tips might be another, with the one that comes next."""
    (most, n_tips), *others = ((float(v), int(n)) for n, v in value.items())
    said, _ = side_by_side(most, LITTLE_VALUE, ".2f")
    next_one, look = "", _as_learned(fit)
    if _is_own(fit):
        look = " Look whether known groups part as the tree has them, or try another preparation."
    if others and others[0][0] > 0:
        next_one = f"; {others[0][1]} tips have {others[0][0]:.2f}"
        if _is_own(fit):
            next_one += f": {pruning(fit, key, n_tips=others[0][1])}"
    return (
        f"the number of tips, {n_tips}, is in doubt: its value is {said}, and below {LITTLE_VALUE} few simulated trees "
        "were right (value: agreement with the trees of parts of the cells beyond chance, times the share of all gains "
        f"that these branches keep{next_one}).{look}"
    )


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
