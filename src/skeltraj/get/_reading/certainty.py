"""What the dictionary of a fit says of how sure its tree is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np
import pandas as pd

from skeltraj._keys import Column, Entry, Param, PrunedEntry
from skeltraj._printing import listed, several, told_apart
from skeltraj.core import EmptyStretch, Graph, Mesh
from skeltraj.core._branches.doubts import Doubt, Evidence
from skeltraj.core._branches.starts import LITTLE_AGREEMENT, between_ends

from .checks import method_of
from .close_calls import call, close_calls, dropping, prune_call

_MAX_NAMED = 5  # stretches and close calls; chosen by eye


def agreement_of(fit: Mapping[str, Any]) -> tuple[float, int]:
    """How well the tree agrees with those from other starts and parts of the cells, and the number of starts.

    NaN where there were no other trees.
    """
    agreement = np.atleast_1d(np.asarray(fit.get(Entry.AGREEMENT, []), dtype=np.float64))
    return (float(agreement.max()), len(agreement)) if len(agreement) else (float("nan"), 1)


def order_agreement(fit: Mapping[str, Any]) -> float:
    """How alike the other trees have the cells in order, of a line; NaN of other trees, or where there were none."""
    starts = fit.get(Entry.STARTS)
    if starts is None or Column.ORDER not in starts or not len(starts):
        return float("nan")
    return float(starts[Column.ORDER].iloc[0])


def value_of(fit: Mapping[str, Any]) -> float:
    """The value of the number of tips that the fit chose; NaN if it was given."""
    return float(fit[Entry.TIP_CHOICE][Column.VALUE].max()) if Entry.TIP_CHOICE in fit else float("nan")


def doubts(fit: Mapping[str, Any], graph: Graph, key: str, *, summed_up: bool = False) -> list[str]:
    """What speaks against a tree as it is, each with what to try next; `summed_up`: as part of `get.summary`."""
    agreement, n_starts = agreement_of(fit)
    if n_starts == 1:  # few trees are compared, and smaller ones
        return []
    evidence = _evidence(fit, graph, agreement)
    of_branches = evidence.of_branches(
        (lambda n_tips: prune_call(fit, key, n_tips=n_tips)) if _is_of_own_cells(fit) else None
    )
    of_line = evidence.of_line()
    texts = []
    if of_branches is not None:
        texts.append(_with_calls(fit, key, of_branches, evidence.lacked, summed_up=summed_up))
    if of_line is not None:
        look = _as_learned(fit)
        if _is_of_own_cells(fit):
            look = f" {call('pl.graph', key)} draws a cycle as a ring that is open somewhere."
        texts.append(of_line.text + look)
    method = fit.get(Entry.PARAMS, {}).get(Param.METHOD, key)
    return [f"{method}: {doubt}" for doubt in texts]


def _evidence(fit: Mapping[str, Any], graph: Graph, agreement: float) -> Evidence:
    starts = fit.get(Entry.STARTS)
    values = fit[Entry.TIP_CHOICE][Column.VALUE] if Entry.TIP_CHOICE in fit else pd.Series(dtype=float)
    return Evidence(
        agreement=agreement,
        branches=list(graph.branch_names) if starts is None else [str(name) for name in starts.index],
        found=None if starts is None else starts[Column.FOUND_AGAIN].to_numpy(),
        values={int(n): float(value) for n, value in values.items()},
        order=order_agreement(fit),
        ends=between_ends(graph),
        rows="cells",
    )


def _with_calls(fit: Mapping[str, Any], key: str, doubt: Doubt, lacked: list[str], *, summed_up: bool) -> str:
    """A doubt of branches, with what to try, as far as the tree is that of its own cells."""
    own = _is_of_own_cells(fit)
    text = doubt.text
    if doubt.kind == "differ" and not summed_up:
        text += f" {call('get.summary', key)} tells what they share."
    if not own or (doubt.kind == "differ" and Entry.STARTS not in fit):  # as one that was pruned again
        text += _as_learned(fit)
    if own:
        text += f" {doubt.advice}{_drop(fit, key, lacked) if doubt.kind == 'lacked' else ''}."
    elif doubt.kind == "lacked":
        text += f" {doubt.advice}."
    if Entry.STABILITY not in fit and own and Param.KERNEL not in fit.get(Entry.PARAMS, {}):
        text += f" After st.tl.order, {call('tl.stability', key)} judges each branch."
    return text


def _drop(fit: Mapping[str, Any], key: str, lacked: list[str]) -> str:
    """How to drop the weakest of the branches that others lack; "" if none of them ends in a tip."""
    gains = fit.get(Entry.PRUNED, {}).get(PrunedEntry.KEPT, pd.DataFrame({"gain": []}))["gain"]
    with_tip = {name: float(gains[name]) for name in lacked if name in gains.index and gains[name] > 0}
    if not with_tip:
        return ""
    weakest = min(with_tip, key=lambda name: with_tip[name])
    which = "it" if len(lacked) == 1 else weakest
    before = [str(name) for name in gains.index[gains < with_tip[weakest]]]
    with_less = f" with {listed(before)}, of less gain" if before else ""
    return f", or drop {which}{with_less}: {dropping(fit, key, weakest)}"


def _is_of_own_cells(fit: Mapping[str, Any]) -> bool:
    """Whether it is the tree of its own cells: others are neither learned again nor pruned."""
    return not any(entry in fit for entry in (Entry.INGESTED, Entry.ATTACHED, Entry.PATH))


def pruning_text(report: pd.DataFrame) -> str:
    """What pruning took, by its table."""
    gone = several(int((report["what"] == "branch").sum()), "branch", "branches")
    joined = int((report["what"] == "forks").sum())
    return f"{gone} pruned" + (f", {several(joined, 'pair')} of forks made one" if joined else "")


def not_done(fit: Mapping[str, Any]) -> list[str]:
    """What is done by default and was not: a number of nodes, a preset or an argument kept it from being done.

    Nothing is said of a path of a tree, nor of a tree that was learned from other cells: these do not record it.
    """
    method = method_of(fit)
    if method is None or not method.can_be_relearned or Entry.INGESTED in fit or Entry.PATH in fit:
        return []
    return ["one start"] * (Entry.AGREEMENT not in fit) + ["not pruned"] * (Entry.PRUNED not in fit)


def empty_stretch_warnings(stretches: Sequence[EmptyStretch]) -> list[str]:
    """What is to be said of stretches of a tree on which no cell lies, with what to try next; nothing if none is.

    One text for all of them: a time course has one between any two samples.
    """
    if not stretches:
        return []
    first, *others = stretches
    tips = f" ({listed(list(first.tips))})" if first.tips else ""
    text = (
        f"No cell lies on a stretch of {first.branch} that is {100 * first.share:.0f} % of the tree's length, with "
        f"{several(first.n_beyond, 'cell')} beyond it{tips}."
    )
    if others:
        n_more = len(others[_MAX_NAMED - 1 :])
        more = [_in_short(stretch) for stretch in others[: _MAX_NAMED - 1]] + ([f"{n_more} more"] if n_more else [])
        text += f" There are others: {listed(more)}."
    text += (
        f" Pseudotime grows along {'them' if others else 'it'}, but no cell shows the way. If the cells beyond are of "
        "another kind, leave them out and fit again; in a time course, such a stretch may lie between two samples."
    )
    return [text]


def _in_short(stretch: EmptyStretch) -> str:
    tips = f", {listed(list(stretch.tips))}" if stretch.tips else ""
    return f"{100 * stretch.share:.0f} % on {stretch.branch} ({several(stretch.n_beyond, 'cell')} beyond{tips})"


def _as_learned(fit: Mapping[str, Any]) -> str:
    """Which tree is in doubt, where it is not the one that is stored, or its cells are not here."""
    if Entry.INGESTED in fit:
        return " It was learned from other cells: look at the summary of these."
    return " This is said of the tree as it was learned."


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
    text, _ = told_apart(agreement, LITTLE_AGREEMENT, ".2f")
    of_starts = "" if isnan(agreement) else f"; agreement {text} ({several(n_starts, 'start')})"
    rounds = f"{int(fit[Entry.N_ITER]):,} rounds{'' if fit[Entry.CONVERGED] else ', not converged'}"
    method = fit[Entry.PARAMS].get(Param.METHOD, key)
    left_out = "".join(f", {what}" for what in not_done(fit))
    lines = [f"{method}: {', '.join(counts)} ({graph.n_nodes:,} nodes, {rounds}{left_out}){of_starts}"]
    close = close_calls(fit, key)
    lines += [f"    {one}" for one in close[:_MAX_NAMED]]
    if len(close) > _MAX_NAMED:
        lines.append(f"    {len(close) - _MAX_NAMED} more near the limit: {call('get.summary', key)}")
    return "\n".join(lines)
