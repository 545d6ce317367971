"""A stored fit as the object that core made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from anndata import AnnData

from skeltraj import core, get
from skeltraj._keys import Entry, Keys, Param, PrunedEntry
from skeltraj.core._learning.ingest import Reference
from skeltraj.core._learning.learned import Learned, TreeFit
from skeltraj.get._reading.checks import method_of, refuse_empty
from skeltraj.get._reading.coordinates import cells_in_embedding

from .denoiser import stored_denoiser
from .graft import assign_again, linear, refuse_ingested


def stored_fit(adata: AnnData, key: str, columns: np.ndarray | None = None) -> Learned:
    """The fit stored under `key`, with the tree as it was fitted; what is left of it after pruning is not told apart.

    `columns` are those of its input that it had, see `stored_input`.

    Raises
    ------
    KeyError
        If what the fit stored is gone.
    ValueError
        See `unchanged`.
    """
    stored = unchanged(adata, key)
    nodes, edges = _tree(stored.get(Entry.PRUNED, stored))
    assignment = assign_again(adata, key, nodes)[0] if Entry.PRUNED in stored else get.assignment(adata, key)
    fit = _fit(adata, key, nodes, edges, assignment, columns)
    return Learned(fit, fit, stored_denoiser(adata, key))


def stored_reference(adata: AnnData, key: str, columns: np.ndarray | None = None) -> Reference:
    """The tree stored under `key` as it is now, with its cells, for others to be put on it; see `stored_fit`."""
    stored = unchanged(adata, key)
    nodes, edges = _tree(stored)
    fit = _fit(adata, key, nodes, edges, get.assignment(adata, key), columns)
    whole, pruning = nodes, None
    if Entry.PRUNED in stored:
        whole, _ = _tree(stored[Entry.PRUNED])
        place = np.asarray(stored[Entry.PRUNED][PrunedEntry.PLACE], dtype=np.int64)
        pruning = core.Pruned(fit.graph, place, ())
    return Reference(fit, cells_in_embedding(adata, key, nodes), whole, stored_denoiser(adata, key), pruning)


def _tree(entry: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and edges, of any precision in the file."""
    return np.asarray(entry[Entry.NODES], dtype=np.float64), np.asarray(entry[Entry.EDGES], dtype=np.int64)


def _fit(
    adata: AnnData, key: str, nodes: np.ndarray, edges: np.ndarray, assignment: Any, columns: np.ndarray | None
) -> TreeFit:
    """What core made, with these nodes, edges and assignment, and the loadings of these columns."""
    stored = get.stored(adata, key)
    result = core.METHODS[stored[Entry.PARAMS][Param.METHOD]].result
    fields: dict[str, Callable[[], Any]] = {
        "nodes": lambda: nodes,
        "edges": lambda: edges,
        "objective": lambda: np.asarray(stored[Entry.OBJECTIVE]),
        "converged": lambda: bool(stored[Entry.CONVERGED]),
        "n_iter": lambda: int(stored[Entry.N_ITER]),
        "params": lambda: dict(stored[Entry.PARAMS]) | {"n_nodes": len(nodes)},
        "assignment": lambda: assignment,
        "weights": lambda: np.ones(len(edges)),
        "metric": lambda: getattr(stored_denoiser(adata, key), "metric", None),
        "embedding": lambda: cells_in_embedding(adata, key, nodes),
        "loadings": lambda: _loadings(adata, key, columns),
        "mean": lambda: np.asarray(linear(adata, key)[1], dtype=np.float64),
    }
    field_names = [field.name for field in dataclasses.fields(result)]
    values = {name: fields[name]() if name in fields else stored[name] for name in field_names}
    return result(**values)  # type: ignore[return-value]


def _loadings(adata: AnnData, key: str, columns: np.ndarray | None) -> np.ndarray:
    loadings, _ = linear(adata, key)
    if loadings is None:
        raise KeyError(f"adata.varm has no {Keys(key).loadings!r}, which the fit stored.")
    loadings = np.asarray(loadings, dtype=np.float64)
    return loadings if columns is None else loadings[columns]


def unchanged(adata: AnnData, key: str) -> dict[str, Any]:
    """The dictionary of a fit whose tree is one that can be pruned, and is that of its cells."""
    stored = get.stored(adata, key)
    method = method_of(stored)
    refuse_empty(adata)
    if method is None or not method.can_be_relearned:
        name = stored[Entry.PARAMS].get(Param.METHOD)
        relearnable = [other.name for other in core.METHODS.values() if other.can_be_relearned]
        raise ValueError(
            f"the skeleton {key!r} is of method {name!r}, whose skeletons cannot be learned again; wanted one of "
            f"{relearnable}."
        )
    refuse_ingested(adata, key)
    for entry, function in ((Entry.ATTACHED, "attach"), (Entry.PATH, "select_path")):
        if entry in stored:
            raise ValueError(f"the skeleton {key!r} was changed by skeltraj.tl.{function}; wanted a tree as fitted.")
    return stored
