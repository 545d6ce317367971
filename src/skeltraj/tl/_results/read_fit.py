"""A stored fit as the object that core made."""

from __future__ import annotations

from typing import Any

import numpy as np
from anndata import AnnData

from skeltraj import core, get
from skeltraj._keys import Keys
from skeltraj.core._learning.ingest import Reference
from skeltraj.core._learning.learned import Fit, Learned
from skeltraj.get._stored import refuse_empty

from .denoiser import stored_denoiser
from .graft import assign_again, linear, refuse_ingested

METHODS = ("ddrtree", "principal_tree")


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
    found = unchanged(adata, key)
    tree = found.get("pruned", found)
    nodes, edges = np.asarray(tree["nodes"], dtype=np.float64), np.asarray(tree["edges"], dtype=np.int64)
    assignment = assign_again(adata, key, nodes)[0] if "pruned" in found else get.assignment(adata, key)
    fit = _fit(adata, key, nodes, edges, assignment, columns)
    return Learned(fit, fit, stored_denoiser(adata, key))


def stored_reference(adata: AnnData, key: str, columns: np.ndarray | None = None) -> Reference:
    """The tree stored under `key` as it is now, with its cells, for others to be put on it; see `stored_fit`."""
    found = unchanged(adata, key)
    nodes, edges = np.asarray(found["nodes"], dtype=np.float64), np.asarray(found["edges"], dtype=np.int64)
    fit = _fit(adata, key, nodes, edges, get.assignment(adata, key), columns)
    whole, pruning = nodes, None
    if "pruned" in found:
        whole = np.asarray(found["pruned"]["nodes"], dtype=np.float64)
        pruning = core.Pruned(fit.graph, np.asarray(found["pruned"]["place"], dtype=np.int64), ())
    return Reference(fit, _coordinates(adata, Keys(key)), whole, stored_denoiser(adata, key), pruning)


def _fit(
    adata: AnnData, key: str, nodes: np.ndarray, edges: np.ndarray, assignment: Any, columns: np.ndarray | None
) -> Fit:
    """What core made, with these nodes, edges and assignment, and the loadings of these columns."""
    found = get.stored(adata, key)
    common: dict[str, Any] = dict(
        nodes=nodes,
        edges=edges,
        objective=np.asarray(found["objective"]),
        converged=bool(found["converged"]),
        n_iter=int(found["n_iter"]),
        params=dict(found["params"]) | {"n_nodes": len(nodes)},
        assignment=assignment,
    )
    if found["params"]["method"] == "principal_tree":
        return core.PrincipalFit(**common, weights=np.ones(len(edges)))
    loadings, mean = linear(adata, key)
    if loadings is None:
        raise KeyError(f"adata.varm has no {Keys(key).loadings!r}, which the fit stored.")
    loadings = np.asarray(loadings, dtype=np.float64)
    return core.DDRTreeFit(
        **common,
        embedding=_coordinates(adata, Keys(key)),
        loadings=loadings if columns is None else loadings[columns],
        mean=np.asarray(mean, dtype=np.float64),
    )


def unchanged(adata: AnnData, key: str) -> dict[str, Any]:
    """The dictionary of a fit whose tree is one that can be pruned, and is that of its cells."""
    found = get.stored(adata, key)
    refuse_empty(adata)
    method = found["params"].get("method")
    if method not in METHODS:
        raise ValueError(f"the skeleton {key!r} is of method {method!r}; wanted one of {list(METHODS)}.")
    refuse_ingested(adata, key)
    for name, function in (("attached", "attach"), ("path", "select_path")):
        if name in found:
            raise ValueError(f"the skeleton {key!r} was changed by skeltraj.tl.{function}; wanted a tree as fitted.")
    return found


def _coordinates(adata: AnnData, keys: Keys) -> np.ndarray:
    if keys.coordinates not in adata.obsm:
        raise KeyError(f"adata.obsm has no {keys.coordinates!r}, which the fit stored.")
    return np.asarray(adata.obsm[keys.coordinates], dtype=np.float64)
