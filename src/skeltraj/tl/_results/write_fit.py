"""How a fitted skeleton is stored, for every method alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData
from scipy import sparse

from skeltraj import core
from skeltraj._keys import Entry, Keys, Param, PrunedEntry, names
from skeltraj.core import Graph, Pruned
from skeltraj.core._runtime.warn import warn
from skeltraj.tl._inputs.of_stored_fit import record
from skeltraj.tl._inputs.pick import Input

from .denoiser import DENOISER


def refuse_foreign(adata: AnnData, keys: Keys, source: Input) -> None:
    """Raise if storing would overwrite what no fit has stored."""
    there = adata.uns.get(keys.uns)
    own_input = keys.similarity in (
        source.recorded.get(name) for name in (Param.KERNEL, Param.DISTANCES, Param.NEIGHBORS)
    )
    # a fit that has lost its `uns`, as by concat, is known by other entries, or by the name of a method
    left = keys.key in core.METHODS or keys.assignment in adata.obsm or keys.position in adata.obsm
    what = None
    if own_input or (there is None and keys.similarity in adata.obsp):
        what = f"adata.obsp[{keys.similarity!r}], which is no fit's"
    elif there is not None and not (hasattr(there, "keys") and Entry.NODES in there):
        what = f"adata.uns[{keys.uns!r}]"
    elif source.recorded.get(Param.USE_REP) == keys.coordinates:
        what = f"the input, adata.obsm[{keys.coordinates!r}]"
    elif there is None and keys.coordinates in adata.obsm and not left:
        what = f"adata.obsm[{keys.coordinates!r}], which is no fit's"
    if what is not None:
        raise ValueError(f"key_added={keys.key!r} would overwrite {what}; wanted another name.")


def store_skeleton(
    adata: AnnData,
    keys: Keys,
    fit: Any,
    source: Input,
    *,
    method: core.Method,
    smooth: core.Denoised | None = None,
    agreement: np.ndarray | None = None,
) -> None:
    """Store `fit`, and remove what an earlier fit of that name left.

    Parameters
    ----------
    adata, keys
        Where to store, and under which name.
    fit
        The fit, a :class:`skeltraj.core.Skeleton` with an embedding.
    source
        Its input.
    method
        By which it was made.
    smooth
        How its input was denoised, if it was.
    agreement
        Of several starts.
    """
    shortfall = fit.shortfall()
    if shortfall is not None:
        warn(f"{method.name} {shortfall}")
    recorded = method.reads_input_again and Param.KERNEL not in source.recorded
    known = record(adata, source) if recorded else None
    clear_order(adata, keys)
    clear_ingested(adata, keys)
    adata.obsm[keys.coordinates] = fit.embedding
    _put(adata.obsm, keys.assignment, fit.assignment if method.stores_assignment else None)
    _put(adata.obsp, keys.similarity, fit.similarity if method.joins_rows else None)
    stored: dict[str, Any] = {
        # h5ad has no None
        Entry.PARAMS: {Param.METHOD: method.name, Param.VERSION: version("skeltraj"), **source.recorded}
        | {name: value for name, value in fit.params.items() if value is not None},
        Entry.NODES: fit.nodes,
        Entry.EDGES: fit.edges,
        Entry.EDGE_LENGTH: fit.edge_length,
        Entry.OBJECTIVE: fit.objective,
        Entry.CONVERGED: np.bool_(fit.converged),
        Entry.N_ITER: int(fit.n_iter),
    }
    for name in fit.also_stored:
        value = getattr(fit, name)
        stored[name] = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    loadings = stored.pop(Entry.LOADINGS) if source.per_gene and Entry.LOADINGS in stored else None
    _put(adata.varm, keys.loadings, loadings)
    if known is not None:
        stored[Entry.INPUT] = known
    if smooth is not None:
        stored[Entry.DENOISE] = {name: getattr(smooth, name) for name in DENOISER}
    if agreement is not None:
        stored[Entry.AGREEMENT] = agreement
    adata.uns[keys.uns] = stored


def _put(slot: Any, name: str, value: Any) -> None:
    """Store a value, or remove what an earlier fit left in its place."""
    if value is not None:
        slot[name] = value
    elif name in slot:
        del slot[name]


def store_pruning(adata: AnnData, keys: Keys, whole: Graph, pruning: Pruned) -> None:
    """Store what was pruned from the tree `whole`, and that tree."""
    fields = ("what", "start", "end", "length", "n_points", "gain")
    columns: dict[str, Any] = {name: [getattr(removal, name) for removal in pruning.removed] for name in fields}
    report = pd.DataFrame(columns).rename(columns={"n_points": "n_cells"})
    report = report.astype({"what": str, "start": np.int64, "end": np.int64, "length": float, "n_cells": np.int64})
    report.index = pd.Index(names("P", len(report)), name="pruned")
    adata.uns[keys.uns][Entry.PRUNED] = {
        PrunedEntry.REPORT: report.astype({"gain": float}),
        PrunedEntry.NODES: whole.nodes,
        PrunedEntry.EDGES: whole.edges,
        PrunedEntry.PLACE: pruning.place,
        PrunedEntry.MIN_GAIN: float(pruning.min_gain),
        PrunedEntry.RESOLUTION: float(pruning.resolution),
    }


# what stays when the tree of a fit is replaced by another
OF_THE_FIT = (
    Entry.PARAMS,
    Entry.INPUT,
    Entry.OBJECTIVE,
    Entry.CONVERGED,
    Entry.N_ITER,
    Entry.MEAN,
    Entry.LOADINGS,
    Entry.DENOISE,
    Entry.AGREEMENT,
    Entry.INGESTED,
)


def replace_skeleton(
    adata: AnnData,
    keys: Keys,
    graph: Graph,
    *,
    weights: np.ndarray | None = None,
    assignment: sparse.csr_matrix | None = None,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Put a skeleton made from a fitted one in its place, and remove its order and all else that belonged to it.

    `weights` and `assignment` are stored where they are given, and `more` beside the skeleton.
    """
    clear_order(adata, keys)
    before = adata.uns[keys.uns]
    stored = {name: before[name] for name in OF_THE_FIT if name in before}
    if "n_nodes" in stored.get(Entry.PARAMS, {}):
        stored[Entry.PARAMS] = dict(stored[Entry.PARAMS]) | {"n_nodes": graph.n_nodes}
    stored |= {Entry.NODES: graph.nodes, Entry.EDGES: graph.edges, Entry.EDGE_LENGTH: graph.edge_length}
    if weights is not None:
        stored[Entry.WEIGHTS] = weights
    if assignment is not None:
        adata.obsm[keys.assignment] = assignment
    adata.uns[keys.uns] = stored | dict(more or {})


def clear_order(adata: AnnData, keys: Keys) -> None:
    """Remove an order: it belongs to the tree on which it was made."""
    for column in (keys.pseudotime, keys.branch, keys.component, keys.pseudotime_sd):
        if column in adata.obs:
            del adata.obs[column]
    for table in (keys.position, keys.lineages, keys.branch_probability):
        if table in adata.obsm:
            del adata.obsm[table]
    there = adata.uns.get(keys.uns)
    if hasattr(there, "items"):  # a new dictionary: that of a view belongs to its parent
        of_the_order = (Entry.ORDER, Entry.COMPOSITION, Entry.STABILITY)
        adata.uns[keys.uns] = {name: value for name, value in there.items() if name not in of_the_order}


def clear_ingested(adata: AnnData, keys: Keys) -> None:
    """Remove what was said of cells that were put on another's tree."""
    for column in (keys.distance, keys.far):
        if column in adata.obs:
            del adata.obs[column]
