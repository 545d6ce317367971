"""Another stored skeleton that lives in the same space, to be grafted onto a skeleton."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData
from scipy import sparse

from skeltraj import core, get
from skeltraj._keys import Keys
from skeltraj.core._geometry.assign import assign_rows
from skeltraj.tl._inputs.of_stored_fit import columns_of_fit, input_of, stored_input
from skeltraj.tl._inputs.pick import entry

from .denoiser import stored_denoiser

_IN_INPUT = ("principal_tree", "principal_graph")  # methods whose nodes live in the space of the input


def branch_of(adata: AnnData, branch: str, key: str) -> core.Graph:
    """The skeleton `branch`, if it can be grafted onto `key`."""
    if branch == key:
        raise ValueError(f"branch={branch!r} is the skeleton itself; wanted another.")
    for each in (branch, key):
        refuse_ingested(adata, each)
    found, whole = get.graph(adata, branch), get.graph(adata, key)
    method = get.stored(adata, key).get("params", {}).get("method")
    if method == "drtree" or method is None:
        raise ValueError(
            f"the skeleton {key!r} is of method {method!r}, to whose nodes no cell can be assigned anew; wanted one of "
            f"{['ddrtree', *_IN_INPUT]}."
        )
    if found.component.max() > 0:
        raise ValueError(
            f"branch={branch!r} is in {int(found.component.max()) + 1} parts; wanted one. Join them first."
        )
    spaces = [_space(adata, key), _space(adata, branch)]
    same_space = spaces[0] == spaces[1] or _same_loadings(adata, key, branch)
    if not same_space or found.nodes.shape[1] != whole.nodes.shape[1]:
        said = [f"{where} ({g.nodes.shape[1]} dimensions)" for where, g in zip(spaces, (whole, found), strict=True)]
        raise ValueError(
            f"the nodes of branch={branch!r} live in {said[1]}, those of {key!r} in {said[0]}; wanted the same space."
        )
    if method in _IN_INPUT and get.stored(adata, branch)["params"]["method"] in _IN_INPUT:
        # both live in the columns of one input, each in the order in which its fit had them
        columns = (columns_of_fit(adata, each, input_of(adata, each)) for each in (key, branch))
        ours, theirs = (pd.RangeIndex(whole.nodes.shape[1]) if each is None else pd.Index(each) for each in columns)
        order = theirs.get_indexer(ours)
        if (order < 0).any():
            raise ValueError(f"branch={branch!r} was fitted on other genes than {key!r}; wanted the same.")
        found = core.Graph(found.nodes[:, order], found.edges)
    return found


def refuse_ingested(adata: AnnData, key: str) -> None:
    """Raise if the cells are not those from which the tree was learned: their input need not be here."""
    if "ingested" in get.stored(adata, key):
        raise ValueError(
            f"the cells were put on the skeleton {key!r} by skeltraj.tl.ingest; wanted those from which it was learned."
        )


def assign_again(adata: AnnData, key: str, nodes: np.ndarray) -> tuple[sparse.csr_matrix, np.ndarray | None]:
    """Assignment of the cells to `nodes` with the bandwidth of a fit; and their coordinates, where these follow from it."""
    params = get.stored(adata, key)["params"]
    sigma = float(params.get("sigma", 0.0))
    if params["method"] in _IN_INPUT:
        source, _ = stored_input(adata, key)
        smooth = stored_denoiser(adata, key)
        assignment = assign_rows(source.matrix, nodes, sigma, None if smooth is None else smooth.rows)
        return assignment, assignment @ nodes
    return assign_rows(entry(adata, "obsm", Keys(key).coordinates, "key"), nodes, sigma), None


def _space(adata: AnnData, key: str) -> str:
    """The matrix in whose space the nodes of a skeleton live, in words."""
    params = get.stored(adata, key).get("params", {})
    if params.get("method") not in _IN_INPUT:
        return f"adata.obsm[{Keys(key).coordinates!r}]"
    if "layer" in params:
        return f"adata.layers[{params['layer']!r}]"
    return "adata.X" if params["use_rep"] == "X" else f"adata.obsm[{params['use_rep']!r}]"


def _same_loadings(adata: AnnData, key: str, branch: str) -> bool:
    mine, other = (_linear_here(adata, each) for each in (key, branch))
    return all(
        a is not None and b is not None and np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-9, atol=1e-12)
        for a, b in zip(mine, other, strict=True)
    )


def _linear_here(adata: AnnData, key: str) -> tuple[Any, Any]:
    """Loadings and mean with the genes in the order in which they are now."""
    loadings, mean = linear(adata, key)
    names = pd.Index(get.stored(adata, key).get("input", {}).get("var_names", []))
    if mean is not None and len(names) == adata.n_vars and names.is_unique:
        order = names.get_indexer(adata.var_names.astype(str))
        mean = np.asarray(mean)[order] if (order >= 0).all() else mean
    return loadings, mean


def linear(adata: AnnData, key: str) -> tuple[Any, Any]:
    """Loadings and mean of an embedding, where it has some."""
    found, name = get.stored(adata, key), Keys(key).loadings
    return found.get("loadings", adata.varm[name] if name in adata.varm else None), found.get("mean")
