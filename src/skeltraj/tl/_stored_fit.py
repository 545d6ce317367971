"""A stored fit as the object that core made."""

from __future__ import annotations

from typing import Any

import numpy as np
from anndata import AnnData

from skeltraj import core, get
from skeltraj._keys import Keys
from skeltraj.core._ingest import Reference
from skeltraj.core._learned import Fit, Learned

from ._branch import assign_again, refuse_ingested
from ._denoising import stored_denoiser

METHODS = ("ddrtree", "principal_tree")


def stored_fit(adata: AnnData, key: str) -> Learned:
    """The fit stored under `key`, with the tree as it was fitted; what is left of it after pruning is not told apart.

    Raises
    ------
    KeyError
        If what the fit stored is gone.
    ValueError
        See `unchanged`.
    """
    found, keys = unchanged(adata, key), Keys(key)
    method = found["params"]["method"]
    tree = found.get("pruned", found)
    nodes, edges = np.asarray(tree["nodes"], dtype=np.float64), np.asarray(tree["edges"], dtype=np.int64)
    smooth = stored_denoiser(adata, key)
    common: dict[str, Any] = dict(
        nodes=nodes,
        edges=edges,
        objective=np.asarray(found["objective"]),
        converged=bool(found["converged"]),
        n_iter=int(found["n_iter"]),
        params=dict(found["params"]) | {"n_nodes": len(nodes)},
        assignment=assign_again(adata, key, nodes)[0] if "pruned" in found else get.assignment(adata, key),
    )
    if method == "principal_tree":
        principal = core.PrincipalFit(**common, weights=np.ones(len(edges)))
        return Learned(principal, principal, smooth)
    loadings, mean = linear_of(adata, key)
    fit = core.DDRTreeFit(**common, embedding=_coordinates(adata, keys), loadings=loadings, mean=mean)
    return Learned(fit, fit, smooth)


def stored_reference(adata: AnnData, key: str) -> Reference:
    """The tree stored under `key` as it is now, with its cells, for others to be put on it; errors as `stored_fit`."""
    found, keys = unchanged(adata, key), Keys(key)
    nodes, edges = np.asarray(found["nodes"], dtype=np.float64), np.asarray(found["edges"], dtype=np.int64)
    common: dict[str, Any] = dict(
        nodes=nodes,
        edges=edges,
        objective=np.asarray(found["objective"]),
        converged=bool(found["converged"]),
        n_iter=int(found["n_iter"]),
        params=dict(found["params"]),
        assignment=get.assignment(adata, key),
    )
    embedding = _coordinates(adata, keys)
    fit: Fit
    if found["params"]["method"] == "principal_tree":
        fit = core.PrincipalFit(**common, weights=np.ones(len(edges)))
    else:
        loadings, mean = linear_of(adata, key)
        fit = core.DDRTreeFit(**common, embedding=embedding, loadings=loadings, mean=mean)
    whole, pruning = nodes, None
    if "pruned" in found:
        whole = np.asarray(found["pruned"]["nodes"], dtype=np.float64)
        pruning = core.Pruned(fit.graph, np.asarray(found["pruned"]["place"], dtype=np.int64), ())
    return Reference(fit, embedding, whole, stored_denoiser(adata, key), pruning)


def unchanged(adata: AnnData, key: str) -> dict[str, Any]:
    """The dictionary of a fit whose tree is one that can be pruned, and is that of its cells."""
    found = get.stored(adata, key)
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


def linear_of(adata: AnnData, key: str) -> tuple[np.ndarray, np.ndarray]:
    """Loadings and mean of a stored embedding."""
    found, name = get.stored(adata, key), Keys(key).loadings
    if "loadings" not in found and name not in adata.varm:
        raise KeyError(f"adata.varm has no {name!r}, which the fit stored.")
    loadings = found["loadings"] if "loadings" in found else adata.varm[name]
    return np.asarray(loadings, dtype=np.float64), np.asarray(found["mean"], dtype=np.float64)
