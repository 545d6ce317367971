"""The node at which an order begins, in every way in which a root can be given."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core, get
from skeltraj._keys import Column
from skeltraj.core._runtime.lazy import column_of
from skeltraj.core._runtime.warn import warn
from skeltraj.get._reading.checks import available, holds_numbers, one_column
from skeltraj.get._reading.close_calls import call

from .node_ids import ids_of

_POINT_EXTENT = 1e-8  # share of the embedding's extent below which a part is a single point, by eye
_MAX_P_VALUE = 0.05  # of a direction that is taken without a warning: the usual level; chosen by eye
# All chosen by eye.
_SHARE_AROUND, _MIN_AROUND = 0.05, 10  # of all cells: as many count as around a root; at least this many
_MOSTLY = 0.5  # of these are to be of the group for which the root was taken
Root = int | str | Mapping[str, Any] | None


def root_node(
    adata: AnnData, root: Root, graph: core.Graph, position: core.Position, points: np.ndarray, key: str
) -> tuple[int, str]:
    """The root's node, and in words how it was found."""
    if root is None:
        return int(core.rank_tips(graph, position)[0][0]), "guessed: the tip farthest from all cells on average"
    if isinstance(root, Integral) and not isinstance(root, bool):
        node = int(root)
        if not 0 <= node < graph.n_nodes:
            raise ValueError(f"root={root} is not a node; wanted a number from 0 to {graph.n_nodes - 1}.")
        return node, f"node {node}"
    if isinstance(root, str):
        at, ids = np.flatnonzero(adata.obs_names == root), ids_of(graph)
        if not len(at) and root in ids:
            return ids[root], f"{'tip' if ids[root] in graph.tips else 'fork'} {root}"
        if not len(at) and root == "direction":
            return _of_direction(adata, graph, key)
        if len(at) != 1:
            raise KeyError(
                f"root={root!r} names {len(at)} cells; wanted exactly one of adata.obs_names, a tip or fork of "
                f"{list(ids)}, 'direction', a node (an int), or a category ({{'column': 'value'}})."
            )
        node = int(((graph.nodes - points[at[0]]) ** 2).sum(axis=1).argmin())
        if ids.get(root, node) != node and not isinstance(graph, core.Mesh):
            kind = "tip" if ids[root] in graph.tips else "fork"
            warn(
                f"root={root!r} names a cell and a {kind}: the cell was taken (node {node}). root={ids[root]} begins "
                f"at the {kind}, root={node} at the cell's node."
            )
        return node, f"cell {root}"
    if isinstance(root, Mapping) and len(root) == 1:
        (name, value), *_ = root.items()
        return _from_values(adata, str(name), value, graph, position, key)
    raise TypeError(
        f"root={root!r} is not understood; wanted a node (int), a cell, tip or fork (str), {{'column': 'value'}}, "
        "{'score': 'min' or 'max'}, or None."
    )


def refuse_point(graph: core.Graph, root: int, key: str) -> None:
    """Raise if the part of a mesh in which the root lies is a single point of the embedding."""
    part = graph.component == graph.component[root]
    extent = lambda nodes: float(np.ptp(nodes, axis=0).max())
    if part.sum() > 1 and extent(graph.nodes[part]) <= _POINT_EXTENT * extent(graph.nodes):
        raise ValueError(
            f"the root, node {root}, lies in a part of {int(part.sum())} cells that is a single point of the "
            f"embedding of {key!r}: its components hold {graph.n_parts} parts apart. Wanted more "
            "components than parts, or fewer parts (skeltraj.tl.mpme with a smaller lam; skeltraj.tl.spl with more "
            "neighbours or a larger scale)."
        )


def _of_direction(adata: AnnData, graph: core.Graph, key: str) -> tuple[int, str]:
    """The root that agrees best with the stored direction of the branches."""
    found = get.direction(adata, key)
    again = f"Run skeltraj.tl.direction(adata, ..., key={key!r}) again."
    if not len(found.roots):
        raise ValueError(
            "root='direction': the part of the skeleton with most cells has neither tips nor forks among which to "
            "choose; wanted another root."
        )
    name, best = found.roots.index[0], found.roots.iloc[0]
    node = int(best["node"])
    if ids_of(graph).get(str(name)) != node:
        raise ValueError(
            f"root='direction': {name} (node {node}) is not on the skeleton {key!r} that is stored. {again}"
        )
    p_value = float(best[Column.P_VALUE])
    if p_value > _MAX_P_VALUE:
        warn(
            f"root='direction': {name} agrees best with the direction of the branches, but by chance some root has an "
            f"agreement as large ({best[Column.AGREEMENT]:.2f}) with p = {p_value:.2g}."
        )
    kind = "tip" if node in graph.tips else "fork"
    next_best = f", {found.margin:.2f} more than the next" if np.isfinite(found.margin) else ""
    return node, (
        f"the {kind} {name} that agrees best with the direction of the branches (agreement "
        f"{best[Column.AGREEMENT]:.2f}{next_best}, p = {p_value:.2g})"
    )


def _from_values(
    adata: AnnData, name: str, value: Any, graph: core.Graph, position: core.Position, key: str
) -> tuple[int, str]:
    if name in adata.obs:
        column = one_column(adata.obs, name, "root")
        if not holds_numbers(column):
            chosen = _equal(column, value)
            if not chosen.any():
                raise KeyError(
                    f"root={{{name!r}: {value!r}}}: adata.obs[{name!r}] has no {value!r}. Available: "
                    f"{available(column.dropna().unique())}."
                )
            node = core.tip_near(graph, position, chosen)
            _warn_of_others(column, chosen, f"{name} = {value}", graph, position, node, key)
            return _described(graph, node, f"nearest to {name} = {value}")
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        known = column if pd.api.types.is_float_dtype(column) else pd.Series(values)
    elif name in adata.var_names:
        at = np.flatnonzero(adata.var_names == name)
        if len(at) > 1:
            raise KeyError(f"root={{{name!r}: {value!r}}}: {len(at)} genes are called {name!r}; wanted one.")
        if adata.X is None:
            raise ValueError(f"root={{{name!r}: {value!r}}}: adata.X is None, so {name!r} has no values.")
        known = pd.Series(column_of(adata.X, at[0]))
        values = known.to_numpy(dtype=np.float64)
        known = known if pd.api.types.is_float_dtype(known) else pd.Series(values)
    else:
        raise KeyError(
            f"root={{{name!r}: {value!r}}}: {name!r} is neither a column of adata.obs nor a gene. Columns: "
            f"{available(adata.obs.columns)}."
        )
    if not (isinstance(value, str) and value in ("min", "max")):
        chosen = _equal(known, value)
        if chosen.any():
            node = core.tip_near(graph, position, chosen)
            _warn_of_others(pd.Series(values, name=name), chosen, f"{name} = {value}", graph, position, node, key)
            return _described(graph, node, f"nearest to {name} = {value}")
        raise ValueError(
            f"root={{{name!r}: {value!r}}}: {name!r} is numeric, and no cell has that; wanted 'min', 'max' or a value "
            "that some cells have."
        )
    if not np.isfinite(values).any():
        raise ValueError(f"root={{{name!r}: {value!r}}}: {name!r} holds no finite value.")
    if np.ptp(values[np.isfinite(values)]) == 0:
        only = values[np.isfinite(values)][0]
        raise ValueError(
            f"root={{{name!r}: {value!r}}}: {name!r} is {only:g} wherever it is known; wanted values that differ."
        )
    node = core.tip_at_extreme(graph, position, values, highest=value == "max")
    return _described(graph, node, f"where {name} is {'highest' if value == 'max' else 'lowest'}")


def _warn_of_others(
    column: pd.Series,
    chosen: np.ndarray,
    place: str,
    graph: core.Graph,
    position: core.Position,
    root: int,
    key: str,
) -> None:
    """Warn if the cells around a root that was taken for a group are mostly of other groups.

    As many cells along the tree count as around it as the group has, at most a twentieth of all, but at least 10; of
    smaller groups nothing is said.
    """
    n = min(int(chosen.sum()), max(_MIN_AROUND, round(_SHARE_AROUND * len(chosen))))
    if n < _MIN_AROUND:
        return
    length = position.distances_from(graph, root)
    length = np.where(np.isnan(length), np.inf, length)
    # all at one distance, as those at the tip itself, count alike; cells without a group are of no other
    # in a part with fewer cells than that, those of the part
    near = (length <= np.partition(length, n - 1)[n - 1]) & np.isfinite(length) & column.notna().to_numpy()
    n_near, n_own = int(near.sum()), int((near & chosen).sum())
    if not n_near or n_own >= _MOSTLY * n_near:
        return
    most = column[near & ~chosen].value_counts()
    common = f"{most.index[0]:g}" if isinstance(most.index[0], float) else most.index[0]
    name = lambda node: graph.node_names.get(node, f"node {node}")
    middle = core.median_node(graph, np.bincount(position.nearest_end(graph)[chosen], minlength=graph.n_nodes))
    there = "" if middle == root else f" The middle of the group is at {name(middle)}: root={middle} begins there."
    own = f"only {n_own:,} {'is' if n_own == 1 else 'are'}" if n_own else "none is"
    those = f"{int(most.iloc[0]):,} {'is' if most.iloc[0] == 1 else 'are'}"
    warn(
        f"The root, {name(root)}, is nearest to {place}, but of the {n_near:,} cells around it {own} of "
        f"that group; {those} {common}.{there} Look at "
        f"{call('pl.graph', key, color=column.name)}."
    )


def _described(graph: core.Graph, node: int, why: str) -> tuple[int, str]:
    """A node, and in words how it was found."""
    return node, f"the {'tip' if node in graph.tips else 'node'} {why}"


def _equal(column: pd.Series, value: Any) -> np.ndarray:
    """Where a column has a value; one written as text matches what it spells."""
    if np.ndim(value) > 0:
        raise TypeError(f"root: {value!r} is a {type(value).__name__}; wanted one value.")
    if pd.api.types.is_float_dtype(column) and isinstance(value, Real):
        value = float(value)  # which numpy compares in the precision of the column: in float32, 8.3 is no other number
    chosen = (column == value).fillna(False).to_numpy(dtype=bool)
    if not chosen.any() and isinstance(value, str):
        if pd.api.types.is_float_dtype(column):
            spelled = float(pd.to_numeric(value, errors="coerce")) if value.strip() else np.nan
            return (column == spelled).fillna(False).to_numpy(dtype=bool)
        chosen = (column.astype(str) == value).to_numpy(dtype=bool) & column.notna().to_numpy()
    return chosen
