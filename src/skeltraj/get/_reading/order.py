"""A stored order, if it is that of the skeleton and of the cells with which it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._keys import Entry, Keys, OrderEntry
from skeltraj.core import Graph, Position

from .checks import columns_in_memory
from .entries import again, made

# All chosen by eye.
_JITTER = 0.1  # by how much coordinates may have been moved, as a share of the largest
_TOLERANCE = 1e-3  # of what is computed again, as a share of the largest: far above the rounding of float16
_PLACE = ("edge", "fraction", "distance")  # columns of the position of a cell
_N_COMPARED = 2000  # cells, evenly spaced: those of another skeleton come by whole data sets


def order_of(fit: Mapping[str, Any], tree: Graph, key: str) -> dict[str, Any] | None:
    """What `tl.order` recorded with a fit, None if it was not called; it must be what it would record now.

    The path lengths of the nodes from the root, and the tips, forks and branches, are made again from the skeleton.

    Raises
    ------
    ValueError
        If the record is damaged, or that of another skeleton.
    """
    record: dict[str, Any] | None = made(fit, Entry.ORDER, key)
    if record is None:
        return None
    stored, now = np.asarray(record[OrderEntry.NODE_PSEUDOTIME]), tree.distances_from(int(record[OrderEntry.ROOT]))
    same = _close(stored, now).all() and all(
        record[name].index.astype(str).tolist() == list(names)
        for name, names in (
            (OrderEntry.TIPS, tree.tip_names),
            (OrderEntry.FORKS, tree.fork_names),
            (OrderEntry.BRANCHES, tree.branch_names),
        )
    )
    nodes = [(OrderEntry.TIPS, tree.tips), (OrderEntry.FORKS, tree.forks)]
    if not same or any(record[name]["node"].tolist() != where.tolist() for name, where in nodes):
        raise ValueError(
            f"the order in adata.uns[{key!r}] is not that of its {tree.n_nodes} nodes: lengths from its root, node "
            f"{int(record[OrderEntry.ROOT])}, tips, forks or branches are others. {again(Entry.ORDER, key)}"
        )
    return record


def order_with_cells(adata: AnnData, fit: Mapping[str, Any], tree: Graph, key: str) -> dict[str, Any] | None:
    """`order_of`; where the cells still have a pseudotime, what is stored with them must belong to it as well."""
    record = order_of(fit, tree, key)
    if record is not None and Keys(key).pseudotime in adata.obs:
        check_cells(adata, tree, record, key)
    return record


def check_cells(adata: AnnData, tree: Graph, record: Mapping[str, Any], key: str) -> None:
    """Raise unless the columns that `tl.order` stored with the cells belong to the order `record` of the skeleton.

    Of some cells branch, order in pseudotime and distance are compared with their place on the skeleton. Pseudotime may
    have other units than path lengths, and coordinates may be jittered. Cells without a branch are not looked at: they
    are on none, or were added since.

    Raises
    ------
    KeyError
        If a column is gone.
    ValueError
        If a column is damaged, or that of another skeleton.
    """
    keys, remedy = Keys(key), again(Entry.ORDER, key)
    for name in (keys.pseudotime, keys.branch):
        if name not in adata.obs:
            raise KeyError(f"adata.obs has no {name!r}, which tl.order stored. {remedy}")
    obs = columns_in_memory(adata.obs, [keys.pseudotime, keys.branch])
    for name in (keys.pseudotime, keys.branch):
        if isinstance(obs[name], pd.DataFrame):
            raise ValueError(f"adata.obs has several columns {name!r}; wanted one. {remedy}")
    time, branch = obs[keys.pseudotime], obs[keys.branch]
    if time.dtype.kind != "f":
        raise ValueError(f"adata.obs[{keys.pseudotime!r}] has dtype {time.dtype}; wanted path lengths. {remedy}")
    if not isinstance(branch.dtype, pd.CategoricalDtype):
        raise ValueError(f"adata.obs[{keys.branch!r}] has dtype {branch.dtype}; wanted categories. {remedy}")
    if not set(branch.cat.categories) <= set(tree.branch_names):
        raise ValueError(
            f"adata.obs[{keys.branch!r}] names other branches than adata.uns[{key!r}] has: {list(tree.branch_names)}. "
            f"Names of your own belong in a column of their own. {remedy}"
        )
    table = adata.obsm.get(keys.position)
    if not isinstance(table, pd.DataFrame) or not set(_PLACE) <= set(table.columns):
        return  # who needs the positions asks for them
    points = adata.obsm.get(keys.coordinates)
    complexes = [f"obsm[{keys.position!r}]" for name in _PLACE if table[name].dtype.kind == "c"]
    complexes += [f"obsm[{keys.coordinates!r}]"] if isinstance(points, np.ndarray) and points.dtype.kind == "c" else []
    if complexes:
        raise ValueError(f"adata.{complexes[0]} holds complex numbers; wanted real ones. {remedy}")
    known = np.flatnonzero(branch.notna().to_numpy())
    rows = known[:: max(1, len(known) // _N_COMPARED)]
    edge, fraction, distance = (
        pd.to_numeric(table[column].iloc[rows], errors="coerce").to_numpy(dtype=np.float64) for column in _PLACE
    )
    there = (edge >= 0) & (edge < len(tree.edges)) & (edge == np.round(edge)) & (fraction >= 0) & (fraction <= 1)
    rows, edge, fraction, distance = rows[there], edge[there].astype(np.int64), fraction[there], distance[there]
    place = Position(edge, fraction, distance)
    own = tree.branch_names[tree.branch_of_edge[edge]] == branch.iloc[rows].astype(object).to_numpy()
    length, timed = place.distances_from(tree, int(record[OrderEntry.ROOT])), time.iloc[rows].to_numpy(dtype=np.float64)
    kept = own & _in_order(timed, length)
    if isinstance(points, np.ndarray) and points.shape[1:] == tree.nodes.shape[1:]:
        kept &= _as_far_as_stored(points[rows], place.places(tree), distance)
    if not kept.all():
        first = adata.obs_names[rows[~kept][0]]
        raise ValueError(
            f"{int((~kept).sum())} of {len(rows)} cells examined, such as {str(first)!r}, have another "
            f"pseudotime ({keys.pseudotime!r}), branch or distance than their place on the tree adata.uns[{key!r}]: "
            f"they were ordered along another tree, or they were changed since. {remedy} Cells that the fit has "
            "not seen need skeltraj.tl.ingest."
        )


def _close(stored: np.ndarray, now: np.ndarray) -> np.ndarray:
    """Which lengths are the same; NaN is the same as NaN."""
    size = float(np.nanmax(np.abs(now))) if np.isfinite(now).any() else 0.0
    lost = np.isnan(now)
    return np.where(lost, np.isnan(stored), np.abs(stored - np.where(lost, 0.0, now)) <= _TOLERANCE * size)


def _in_order(time: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Which cells have at least the pseudotime of all with a shorter path; those without one are left out."""
    by_length = np.argsort(length, kind="stable")
    ordered = np.where(np.isnan(time), -np.inf, time)[by_length]
    latest = np.maximum.accumulate(ordered)
    span = float(np.nanmax(time) - np.nanmin(time)) if np.isfinite(time).any() else 0.0
    kept = np.empty(len(time), dtype=bool)
    kept[by_length] = np.isneginf(ordered) | (ordered >= latest - _TOLERANCE * span)
    return kept


def _as_far_as_stored(points: np.ndarray, places: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Which points are as far from their places as is stored; those without coordinates are left out."""
    size = max(float(np.abs(places).max(initial=0.0)), float(np.nanmax(distance, initial=0.0))) or 1.0
    far = np.sqrt((((np.asarray(points, dtype=np.float64) - places) / size) ** 2).sum(axis=1))
    return ~np.isfinite(far) | (np.abs(far - distance / size) <= _JITTER)
