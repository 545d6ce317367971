from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import (
    Column,
    DenoiseEntry,
    Entry,
    IngestedEntry,
    Keys,
    OrderEntry,
    Param,
    PrunedEntry,
    StabilityEntry,
)
from skeltraj._printing import WIDTH, listed, several, told_apart
from skeltraj.core import EmptyStretch, Graph, Mesh
from skeltraj.core._branches.starts import LITTLE_AGREEMENT, LITTLE_ORDER, MOST
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.certainty import (
    agreement_of,
    doubts,
    empty_stretch_warnings,
    not_done,
    order_agreement,
    pruning_text,
    value_of,
)
from skeltraj.get._reading.checks import columns_in_memory, method_of, with_key
from skeltraj.get._reading.close_calls import CloseCall, close_calls
from skeltraj.get._reading.lost_cells import n_then_and_now
from skeltraj.get._reading.order import order_with_cells
from skeltraj.get._reading.positions import positions
from skeltraj.get._reading.unexplained import unexplained_stretches

from ._graph import graph
from ._stability import stability
from ._stored import stored

_ROWS = 12  # branches that are printed; chosen by eye
_CLOSE = 4  # close calls that are; chosen by eye
_LITTLE_SUPPORT = 0.5  # of a branch by replicates, below which it is in doubt


@dataclass(frozen=True, repr=False, eq=False)
class Summary:
    """What was learned, and how certain it is.

    Parameters
    ----------
    key, method
        Name of the fit, and the method by which it was made.
    n_cells
        Number of cells.
    graph
        The skeleton as it is now.
    converged, n_iter
        Whether the fit converged, and its rounds.
    n_starts, agreement
        Number of starts, and how similar its branches are to those of the trees from other starts and from parts of the
        cells, from 0 to 1; NaN if there were none. The agreement is that of the fit: if the tree was pruned again or
        changed since, it may differ.
    value
        Value of the number of tips that the fit chose (:class:`skeltraj.core.TipChoice`); NaN if the number was given.
    order
        For a line, how similarly the other lines order the cells, from 0 to 1 (rank correlation, whichever end is
        first); NaN for other trees.
    branches
        One row for each branch: ``start`` and ``end``, tips or forks by their names; ``length``; and as far as it is
        known ``n_cells`` (of ordered cells), ``gain`` (of a branch with a tip, see :func:`skeltraj.core.prune`),
        ``starts`` (the share of these other trees that have it), ``support`` and ``consensus`` (from
        :func:`skeltraj.tl.stability`: its support, and whether the consensus has it).
    close
        Borderline branches, which pruning narrowly kept or removed, each with the call that reverses the decision.
    root, root_rule
        Where pseudotime begins, by name, and how that was chosen; None before the cells are ordered.
    pseudotime
        Its smallest and largest value; None before.
    n_without
        Cells without pseudotime.
    n_replicates, consensus
        Number of replicates of :func:`skeltraj.tl.stability`, and the consensus tree; None before.
    doubts
        Reasons to doubt the tree as it is, and what to try.
    steps
        What was done around the fit, in words.
    """

    key: str
    method: str
    n_cells: int
    graph: Graph
    converged: bool
    n_iter: int
    n_starts: int
    agreement: float
    value: float
    order: float
    branches: pd.DataFrame
    close: tuple[CloseCall, ...]
    root: str | None
    root_rule: str | None
    pseudotime: tuple[float, float] | None
    n_without: int
    n_replicates: int | None
    consensus: Graph | None
    doubts: tuple[str, ...]
    steps: tuple[str, ...]

    def __repr__(self) -> str:
        facts = self._facts()
        wide = max(map(len, facts))
        lines = [self._title()]
        further = " " * (wide + 4)
        for name, fact in facts.items():
            lines += textwrap.wrap(fact, WIDTH, initial_indent=f"  {name:<{wide}}  ", subsequent_indent=further)
        if len(self.branches):
            table = self._table().head(_ROWS).to_string(line_width=None)
            lines += ["", *(f"  {line}" for line in table.splitlines())]
            if len(self.branches) > _ROWS:
                lines.append(f"  ... {len(self.branches) - _ROWS} more in .branches")
        for name, texts in self._remarks():
            lines += ["", f"  {name}", *(line for one in texts for line in _wrapped(one))]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        facts = "".join(
            f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(text)}</td></tr>"
            for name, text in self._facts().items()
        )
        html = [f"<div><b>{escape(self._title())}</b>", f"<table>{facts}</table>"]
        if len(self.branches):
            html.append(self._table().to_html(max_rows=_ROWS, notebook=True))
        for name, texts in self._remarks():
            html.append(f"<p><b>{escape(name)}</b></p><ul>{''.join(f'<li>{escape(one)}</li>' for one in texts)}</ul>")
        return "".join([*html, "</div>"])

    def _title(self) -> str:
        made = "similarities of" if isinstance(self.graph, Mesh) else "skeleton of"
        return f"{self.key!r}: {self.method}, {made} {self.n_cells:,} cells"

    def _facts(self) -> dict[str, str]:
        tree, facts = self.graph, {}
        if isinstance(tree, Mesh):
            facts["pairs"] = several(len(tree.edges), "similar pair")
        else:
            facts["tree" if tree.is_tree else "graph"] = ", ".join(
                [
                    several(len(tree.tips), "tip"),
                    several(len(tree.forks), "fork"),
                    several(len(tree.branches), "branch", "branches"),
                    f"{several(tree.n_nodes, 'node')} in {several(tree.nodes.shape[1], 'component')}",
                ]
            )
        if tree.n_parts > 1:
            facts["parts"] = f"{tree.n_parts:,} that are not joined"
        if tree.n_loops and not isinstance(tree, Mesh):
            facts["loops"] = f"{tree.n_loops:,}"
        facts["fit"] = "; ".join(
            [f"{several(self.n_iter, 'round')}, {'' if self.converged else 'not '}converged", *self.steps]
        )
        if not np.isnan(self.agreement):
            agreement, _ = told_apart(self.agreement, LITTLE_AGREEMENT, ".2f")
            since = "" if Column.STARTS in self.branches else ", as it was learned"  # a tree that was pruned again
            facts["starts"] = f"{self.n_starts}, agreement {agreement} with other starts and parts of the cells{since}"
            if not np.isnan(self.order):  # lines agree on their one branch, whatever they are lines of
                order, _ = told_apart(self.order, LITTLE_ORDER, ".2f")
                facts["starts"] += f"; rank correlation of the order {order}"
        if self.root is None:
            facts["root"] = f"none yet: st.tl.order(adata, root=...{with_key(self.key)})"
        else:
            facts["root"] = f"{self.root}: {self.root_rule}"
            low, high = self.pseudotime or (np.nan, np.nan)
            without = f"; {several(self.n_without, 'cell')} without" if self.n_without else ""
            facts["pseudotime"] = f"{low:.3g} to {high:.3g}{without}"
        if self.consensus is not None:
            tips, forks = several(len(self.consensus.tips), "tip"), several(len(self.consensus.forks), "fork")
            facts["stability"] = f"{several(self.n_replicates or 0, 'replicate')}; their consensus: {tips}, {forks}"
        return facts

    def _table(self) -> pd.DataFrame:
        """The branches as text."""
        table = self.branches.copy()

        def percent(limit: float) -> Callable[[float], str]:
            # as far as it takes to see on which side of the limit it is, as the doubts below the table say
            return lambda share: "" if np.isnan(share) else f"{told_apart(100 * share, 100 * limit, '.0f')[0]} %"

        shown = {
            "length": lambda value: f"{value:.3g}",
            Column.N_CELLS: lambda value: f"{value:,}",
            "gain": lambda value: "" if np.isnan(value) else f"{value:.3g}",
            Column.STARTS: percent(MOST),
            Column.SUPPORT: percent(_LITTLE_SUPPORT),
            StabilityEntry.CONSENSUS: lambda there: "yes" if there else "no",
        }
        for name, as_shown in shown.items():
            if name in table:
                table[name] = [as_shown(value) for value in table[name]]
        return table.rename_axis(None)

    def _remarks(self) -> list[tuple[str, list[str]]]:
        close = [str(one) for one in self.close[:_CLOSE]]
        if len(self.close) > _CLOSE:
            close.append(f"{len(self.close) - _CLOSE} more in .close")
        remarks = [("near the limit of pruning", close), ("in doubt", list(self.doubts))]
        return [(name, texts) for name, texts in remarks if texts]


def _wrapped(text: str) -> list[str]:
    """A remark in lines, calls left whole."""
    whole = re.sub(r"st\.[\w.]+\([^()]*\)", lambda call: call[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(
        whole, WIDTH, initial_indent="  - ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]


@as_declared
@shared_texts
def summary(adata: AnnData, key: str = "ddrtree") -> Summary:
    """What was learned, and how certain it is.

    After a fit, it gives the tips, forks and branches; how well the trees from other starts and from parts of the cells
    agree with the tree, and what share of them has each branch; and the borderline branches, which pruning narrowly
    kept or removed, with the call that reverses the decision. After :func:`skeltraj.tl.order` it also gives the root,
    and the pseudotime and cells of each branch; after :func:`skeltraj.tl.stability`, their support and the consensus.
    It prints as text, and as tables in notebooks.

    Parameters
    ----------
    <adata_fitted>
    <key>

    Returns
    -------
    A :class:`Summary`.

    Raises
    ------
    KeyError
        If no skeleton is stored under `key`.
    ValueError
        If what is stored is none, or the order is that of another skeleton.

    Examples
    --------
    <example_data>
    >>> st.tl.ddrtree(adata)
    >>> st.tl.order(adata, root={"cell_type": "progenitor"})
    >>> summary = st.get.summary(adata)
    >>> print(summary)
    'ddrtree': DDRTree, skeleton of 640 cells
      tree        5 tips, 3 forks, 7 branches, ... nodes in 11 components
      fit         ... rounds, converged; ...
      starts      5, agreement 0.9... with other starts and parts of the cells
      root        T3: the tip nearest to cell_type = progenitor
      ...
    >>> summary.branches.columns.tolist()
    ['start', 'end', 'length', 'n_cells', 'gain', 'starts']
    """
    fit, tree, keys = stored(adata, key), graph(adata, key), Keys(key)
    method = method_of(fit)
    agreement, n_starts = agreement_of(fit)
    order = order_with_cells(adata, fit, tree, key) if keys.pseudotime in adata.obs else None
    times: np.ndarray | None = None
    if order is not None:
        times = columns_in_memory(adata.obs, [keys.pseudotime])[keys.pseudotime].to_numpy(dtype=np.float64)
    replicates = stability(adata, key) if Entry.STABILITY in fit and order is not None else None
    known = times is not None and bool(np.isfinite(times).any())
    branches = _branches(adata, fit, tree, keys, order is not None)
    empty = () if order is None else _empty(adata, fit, tree, keys)
    return Summary(
        key=key,
        method=method.label if method is not None else str(fit.get(Entry.PARAMS, {}).get(Param.METHOD, "unknown")),
        n_cells=adata.n_obs,
        graph=tree,
        converged=bool(fit.get(Entry.CONVERGED, True)),
        n_iter=int(fit.get(Entry.N_ITER, 0)),
        n_starts=n_starts,
        agreement=agreement,
        value=value_of(fit),
        order=order_agreement(fit),
        branches=branches,
        close=tuple(close_calls(fit, key)),
        root=None if order is None else _named(tree, int(order[OrderEntry.ROOT])),
        root_rule=None if order is None else str(order[OrderEntry.RULE]),
        pseudotime=(float(np.nanmin(times)), float(np.nanmax(times))) if times is not None and known else None,
        n_without=0 if times is None else int(np.isnan(times).sum()),
        n_replicates=None if replicates is None else replicates.n_replicates,
        consensus=None if replicates is None else replicates.consensus,
        doubts=(*doubts(fit, tree, key, summed_up=True), *empty_stretch_warnings(empty), *_little_support(branches)),
        steps=tuple(_steps(fit)),
    )


def _empty(adata: AnnData, fit: Mapping[str, Any], tree: Graph, keys: Keys) -> tuple[EmptyStretch, ...]:
    """Long stretches without cells; none are known where cells have lost their places, or were taken out since."""
    before, now = n_then_and_now(adata, fit, keys.key)
    if before != now:
        return ()
    try:
        return unexplained_stretches(fit, tree, positions(adata, tree, keys.key))
    except (KeyError, ValueError):
        return ()


def _branches(adata: AnnData, fit: Mapping[str, Any], tree: Graph, keys: Keys, is_ordered: bool) -> pd.DataFrame:
    """What is known of each branch."""
    if isinstance(tree, Mesh):
        return pd.DataFrame()
    names = tree.branch_names
    columns: dict[str, Any] = {
        Column.START: [_named(tree, int(path[0])) for path in tree.branches],
        Column.END: [_named(tree, int(path[-1])) for path in tree.branches],
        "length": np.bincount(tree.branch_of_edge, tree.edge_length, minlength=len(names)),
    }
    table = pd.DataFrame(columns, index=pd.Index(names, name="branch"))
    if is_ordered and keys.branch in adata.obs:
        on = columns_in_memory(adata.obs, [keys.branch])[keys.branch]
        table[Column.N_CELLS] = on.value_counts().reindex(names, fill_value=0).to_numpy()
    kept = fit.get(Entry.PRUNED, {}).get(PrunedEntry.KEPT)
    if kept is not None:
        table["gain"] = kept["gain"].reindex(names).to_numpy(dtype=np.float64)
    if Entry.STARTS in fit:
        table[Column.STARTS] = fit[Entry.STARTS][Column.FOUND_AGAIN].reindex(names).to_numpy(dtype=np.float64)
    if Entry.STABILITY in fit and is_ordered:
        found = stability(adata, keys.key)
        table[Column.SUPPORT] = found.branches[Column.SUPPORT].reindex(names).to_numpy(dtype=np.float64)
        place = found.place
        # a branch that went has nodes without a place; the forks at the ends of one that was closed share theirs
        table[StabilityEntry.CONSENSUS] = [
            bool((place[path] >= 0).all() and place[path[0]] != place[path[-1]]) for path in tree.branches
        ]
    return table


def _little_support(branches: pd.DataFrame) -> list[str]:
    """What is to be said of branches that few replicates have."""
    if Column.SUPPORT not in branches:
        return []
    weak = branches.index[branches[Column.SUPPORT] < _LITTLE_SUPPORT].tolist()
    if not weak:
        return []
    return [
        f"{listed(weak)}: support below {100 * _LITTLE_SUPPORT:.0f} %. The consensus drops the branch that fewest "
        "replicates have, compares anew, and so on: it can keep such a branch once others are gone."
    ]


def _named(tree: Graph, node: int) -> str:
    """A node by its name, if it has one."""
    names = {} if isinstance(tree, Mesh) else tree.node_names
    return str(names.get(node, f"node {node}"))


def _steps(fit: Mapping[str, Any]) -> list[str]:
    """What was done around the fit."""
    steps = []
    if Entry.DENOISE in fit:
        denoised = fit[Entry.DENOISE]
        if DenoiseEntry.UNMIXING in denoised:
            steps.append("heavy tails compressed")
        steps.append(f"denoised by {int(denoised[DenoiseEntry.N_NEIGHBORS])} neighbours")
    if Entry.PRUNED in fit:
        steps.append(pruning_text(fit[Entry.PRUNED][PrunedEntry.REPORT]))
    steps += not_done(fit)
    if Entry.ATTACHED in fit:
        steps.append(f"{several(len(fit[Entry.ATTACHED]), 'edge')} added")
    if Entry.PATH in fit:
        steps.append("a path of a larger one")
    if Entry.INGESTED in fit:
        steps.append(f"learned from {several(int(fit[Entry.INGESTED][IngestedEntry.N_OBS]), 'other cell')}")
    return steps
