"""How a fitted skeleton is stored, for every method alike."""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData
from scipy import sparse

from skeltraj._keys import Keys, names
from skeltraj.core import Denoised, Graph, Pruned
from skeltraj.core._runtime.warn import warn
from skeltraj.tl._inputs.of_stored_fit import READ_AGAIN, record
from skeltraj.tl._inputs.pick import Input

from .denoiser import DENOISER

METHODS = ("ddrtree", "drtree", "principal_tree", "principal_graph", "mpme", "spl")  # what stores under its own name


def refuse_foreign(adata: AnnData, keys: Keys, source: Input) -> None:
    """Raise if storing would overwrite what no fit has stored."""
    there = adata.uns.get(keys.uns)
    own_input = keys.similarity in (
        source.recorded.get(name) for name in ("kernel_key", "distances_key", "neighbors_key")
    )
    # what is left of a fit without its `uns`, as by concat: more than coordinates, or under a name of ours
    left = keys.key in METHODS or keys.assignment in adata.obsm or keys.position in adata.obsm
    what = None
    if own_input or (there is None and keys.similarity in adata.obsp):
        what = f"adata.obsp[{keys.similarity!r}], which is no fit's"
    elif there is not None and not (hasattr(there, "keys") and "nodes" in there):
        what = f"adata.uns[{keys.uns!r}]"
    elif source.recorded.get("use_rep") == keys.coordinates:
        what = f"the input, adata.obsm[{keys.coordinates!r}]"
    elif there is None and keys.coordinates in adata.obsm and not left:
        what = f"adata.obsm[{keys.coordinates!r}], which is no fit's"
    if what is not None:
        raise ValueError(f"key_added={keys.key!r} would overwrite {what}; wanted another name.")


def store_skeleton(
    adata: AnnData, keys: Keys, fit: Any, source: Input, *, method: str, smooth: Denoised | None = None
) -> None:
    """Store `fit`, a :class:`skeltraj.core.Skeleton`, and remove what an earlier fit of that name left.

    `smooth` is how its input was denoised, if it was.
    """
    if hasattr(fit, "certificate"):
        _warn_of_gap(fit, method)
    elif not fit.converged and fit.n_iter == fit.params["max_iter"]:
        last, before = fit.objective[-1], fit.objective[-2]
        warn(
            f"{method} stopped after max_iter={fit.n_iter} rounds, before its objective settled (last relative change "
            f"{abs(before - last) / max(abs(before), abs(last)):.1e}, tol={fit.params['tol']:g}).",
        )
    known = record(adata, source) if method in READ_AGAIN and "kernel_key" not in source.recorded else None
    clear_order(adata, keys)
    clear_ingested(adata, keys)
    adata.obsm[keys.coordinates] = fit.embedding
    if hasattr(fit, "assignment"):
        adata.obsm[keys.assignment] = fit.assignment
    elif keys.assignment in adata.obsm:
        del adata.obsm[keys.assignment]
    stored: dict[str, Any] = {
        # h5ad has no None
        "params": {"method": method, "version": version("skeltraj"), **source.recorded}
        | {name: value for name, value in fit.params.items() if value is not None},
        "nodes": fit.nodes,
        "edges": fit.edges,
        "edge_length": fit.edge_length,
        "objective": fit.objective,
        "converged": np.bool_(fit.converged),
        "n_iter": int(fit.n_iter),
    }
    stored |= {name: getattr(fit, name) for name in ("weights", "mean", "loadings", "value") if hasattr(fit, name)}
    if hasattr(fit, "certificate"):
        stored["certificate"] = asdict(fit.certificate)
    if hasattr(fit, "similarity"):
        adata.obsp[keys.similarity] = fit.similarity
    elif keys.similarity in adata.obsp:
        del adata.obsp[keys.similarity]
    if known is not None:
        stored["input"] = known
    if smooth is not None:
        stored["denoise"] = {name: getattr(smooth, name) for name in DENOISER}
    if keys.loadings in adata.varm:
        del adata.varm[keys.loadings]
    if source.per_gene and "loadings" in stored:
        adata.varm[keys.loadings] = stored.pop("loadings")
    adata.uns[keys.uns] = stored


def _warn_of_gap(fit: Any, method: str) -> None:
    if not fit.converged:
        warn(
            f"{method} stopped after {fit.n_iter} steps with its maximum not proved: value {fit.value:g}, which is at most "
            f"{fit.certificate.duality_gap:.1e} below it, tol={fit.params['tol']:g}, max_iter={fit.params['max_iter']}.",
        )


def store_pruning(adata: AnnData, keys: Keys, whole: Graph, pruning: Pruned) -> None:
    """Store what was pruned from the tree `whole`, and that tree."""
    columns: dict[str, Any] = {
        name: [getattr(each, name) for each in pruning.removed]
        for name in ("what", "start", "end", "length", "n_points", "gain")
    }
    report = pd.DataFrame(columns).rename(columns={"n_points": "n_cells"})
    report = report.astype({"what": str, "start": np.int64, "end": np.int64, "length": float, "n_cells": np.int64})
    report.index = pd.Index(names("P", len(report)), name="pruned")
    adata.uns[keys.uns]["pruned"] = {
        "report": report.astype({"gain": float}),
        "nodes": whole.nodes,
        "edges": whole.edges,
        "place": pruning.place,
        "min_gain": float(pruning.min_gain),
        "resolution": float(pruning.resolution),
    }


# what a fit recorded of itself, whatever becomes of its tree
OF_THE_FIT = (
    "params",
    "input",
    "objective",
    "converged",
    "n_iter",
    "mean",
    "loadings",
    "denoise",
    "agreement",
    "ingested",
)


def replace_skeleton(
    adata: AnnData,
    keys: Keys,
    graph: Graph,
    *,
    weights: np.ndarray | None = None,
    assignment: sparse.csr_matrix | None = None,
    **more: Any,
) -> None:
    """Put a skeleton made from a fitted one in its place, and remove its order and all else that belonged to it.

    `weights` and `assignment` are stored where they are given, and `more` beside the skeleton.
    """
    clear_order(adata, keys)
    found = adata.uns[keys.uns]
    stored = {name: found[name] for name in OF_THE_FIT if name in found}
    if "n_nodes" in stored.get("params", {}):
        stored["params"] = dict(stored["params"]) | {"n_nodes": graph.n_nodes}
    stored |= {"nodes": graph.nodes, "edges": graph.edges, "edge_length": graph.edge_length}
    if weights is not None:
        stored["weights"] = weights
    if assignment is not None:
        adata.obsm[keys.assignment] = assignment
    adata.uns[keys.uns] = stored | more


def clear_order(adata: AnnData, keys: Keys) -> None:
    """Remove an order: it belongs to the tree on which it was made."""
    for column in (keys.pseudotime, keys.branch, keys.component, keys.pseudotime_sd):
        if column in adata.obs:
            del adata.obs[column]
    for key in (keys.position, keys.lineages, keys.branch_probability):
        if key in adata.obsm:
            del adata.obsm[key]
    there = adata.uns.get(keys.uns)
    if hasattr(there, "items"):  # in a dictionary of its own: that of a view is its parent's
        adata.uns[keys.uns] = {k: v for k, v in there.items() if k not in ("order", "composition", "stability")}


def clear_ingested(adata: AnnData, keys: Keys) -> None:
    """Remove what was said of cells that were put on another's tree."""
    for column in (keys.distance, keys.far):
        if column in adata.obs:
            del adata.obs[column]
