"""Another stored skeleton that lives in the same space, to be grafted onto a skeleton."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData
from scipy import sparse

from skeltraj import core, get
from skeltraj._keys import Entry, InputEntry, Keys, Param
from skeltraj.core._geometry.assign import assign_rows
from skeltraj.get._reading.checks import method_of
from skeltraj.tl._inputs.of_stored_fit import columns_of_fit, input_of, stored_input
from skeltraj.tl._inputs.pick import entry

from .denoiser import stored_denoiser


def branch_of(adata: AnnData, branch: str, key: str) -> core.Graph:
    """The skeleton `branch`, if it can be grafted onto `key`."""
    if branch == key:
        raise ValueError(f"branch={branch!r} is the skeleton itself; wanted another.")
    for name in (branch, key):
        refuse_ingested(adata, name)
    added, whole = get.graph(adata, branch), get.graph(adata, key)
    method = method_of(get.stored(adata, key))
    if method is None or method.nodes_are_rows:
        name = get.stored(adata, key).get(Entry.PARAMS, {}).get(Param.METHOD)
        attachable = [other.name for other in core.METHODS.values() if not other.nodes_are_rows]
        raise ValueError(
            f"the skeleton {key!r} is of method {name!r}, to whose nodes no cell can be assigned anew; wanted one of "
            f"{attachable}."
        )
    n_parts = added.n_parts
    if n_parts > 1:
        raise ValueError(f"branch={branch!r} is in {n_parts} parts; wanted one. Join them first.")
    space, other_space = _space(adata, key), _space(adata, branch)
    same_space = space == other_space or _same_loadings(adata, key, branch)
    n_dimensions, n_others = whole.nodes.shape[1], added.nodes.shape[1]
    if not same_space or n_dimensions != n_others:
        raise ValueError(
            f"the nodes of branch={branch!r} live in {other_space} ({n_others} dimensions), those of {key!r} in "
            f"{space} ({n_dimensions} dimensions); wanted the same space."
        )
    unmixing = {name: _unmixing(adata, name) for name in (branch, key)}
    if not _alike(*unmixing.values()):
        compressed = [name for name, directions in unmixing.items() if directions is not None]
        raise ValueError(
            f"heavy tails were not compressed alike for branch={branch!r} and {key!r}; wanted {compressed} fitted anew "
            "with denoise={'compress': False}."
        )
    # of what lives in the columns of an input, these in the order in which the fit had them; an error if it has changed
    in_input = [name for name in (key, branch) if _in_input(adata, name)]
    columns = [columns_of_fit(adata, name, input_of(adata, name)) for name in in_input]
    if len(in_input) == 2:
        own_columns, branch_columns = (
            pd.RangeIndex(n_dimensions) if chosen is None else pd.Index(chosen) for chosen in columns
        )
        order = branch_columns.get_indexer(own_columns)
        if (order < 0).any():
            raise ValueError(f"branch={branch!r} was fitted on other genes than {key!r}; wanted the same.")
        added = core.Graph(added.nodes[:, order], added.edges)
    return added


def _in_input(adata: AnnData, key: str) -> bool:
    """Whether the nodes have coordinates in the space of the input."""
    method = method_of(get.stored(adata, key))
    return method is not None and method.node_space == "input"


def refuse_ingested(adata: AnnData, key: str) -> None:
    """Raise if the cells are not those from which the tree was learned: their input need not be here."""
    if Entry.INGESTED in get.stored(adata, key):
        raise ValueError(
            f"the cells were put on the skeleton {key!r} by skeltraj.tl.ingest; wanted those from which it was learned."
        )


def assign_again(adata: AnnData, key: str, nodes: np.ndarray) -> tuple[sparse.csr_matrix, np.ndarray | None]:
    """Assignment of the cells to `nodes`, with the fit's bandwidth; and coordinates, where these follow from it."""
    sigma = float(get.stored(adata, key)[Entry.PARAMS].get("sigma", 0.0))
    if _in_input(adata, key):
        source, _ = stored_input(adata, key)
        smooth = stored_denoiser(adata, key)
        if smooth is None:
            assignment = assign_rows(source.matrix, nodes, sigma)
        else:
            metric = smooth.metric
            seen = lambda rows: rows if metric is None else rows @ metric
            assignment = assign_rows(source.matrix, seen(nodes), sigma, lambda rows: seen(smooth.rows(rows)))
        return assignment, assignment @ nodes
    return assign_rows(entry(adata, "obsm", Keys(key).coordinates, "key"), nodes, sigma), None


def _space(adata: AnnData, key: str) -> str:
    """The matrix in whose space the nodes of a skeleton live, in words."""
    if not _in_input(adata, key):
        return f"adata.obsm[{Keys(key).coordinates!r}]"
    params = get.stored(adata, key)[Entry.PARAMS]
    if Param.LAYER in params:
        return f"adata.layers[{params[Param.LAYER]!r}]"
    rep = params[Param.USE_REP]
    return "adata.X" if rep == "X" else f"adata.obsm[{rep!r}]"


def _alike(mine: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Whether nodes lie among the same rows: as measured, or drawn in alike."""
    if mine is None or other is None:
        return mine is other
    return mine.shape == other.shape and bool(np.abs(mine - other).max() <= 1e-9 * np.abs(mine).max())


def _unmixing(adata: AnnData, key: str) -> np.ndarray | None:
    """By what heavy tails were compressed, directions and medians; None: they were not."""
    smooth = stored_denoiser(adata, key)
    if smooth is None or smooth.unmixing is None or smooth.medians is None:
        return None
    return np.vstack([smooth.unmixing, smooth.medians])


def _same_loadings(adata: AnnData, key: str, branch: str) -> bool:
    mine, other = (_linear_here(adata, name) for name in (key, branch))
    return all(
        a is not None and b is not None and np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-9, atol=1e-12)
        for a, b in zip(mine, other, strict=True)
    )


def _linear_here(adata: AnnData, key: str) -> tuple[Any, Any]:
    """Loadings and mean with the genes in the order in which they are now."""
    loadings, mean = linear(adata, key)
    names = pd.Index(get.stored(adata, key).get(Entry.INPUT, {}).get(InputEntry.VAR_NAMES, []))
    if mean is not None and len(names) == adata.n_vars and names.is_unique:
        order = names.get_indexer(adata.var_names.astype(str))
        mean = np.asarray(mean)[order] if (order >= 0).all() else mean
    return loadings, mean


def linear(adata: AnnData, key: str) -> tuple[Any, Any]:
    """Loadings and mean of an embedding, where it has some."""
    stored, name = get.stored(adata, key), Keys(key).loadings
    of_genes = adata.varm[name] if name in adata.varm else None
    return stored.get(Entry.LOADINGS, of_genes), stored.get(Entry.MEAN)
