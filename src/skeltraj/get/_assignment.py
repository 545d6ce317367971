from __future__ import annotations

import numpy as np
from anndata import AnnData
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj._keys import Keys
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.lazy import loaded
from skeltraj.get._reading.assignment import shares
from skeltraj.get._reading.checks import available, method_of
from skeltraj.get._reading.coordinates import cells_in_embedding

from ._graph import graph
from ._stored import stored


@as_declared
@shared_texts
def assignment(adata: AnnData, key: str = "ddrtree") -> sparse.csr_matrix:
    """Assignment of the cells to the nodes of a stored skeleton.

    Parameters
    ----------
    <adata_fitted>
    <key>

    Returns
    -------
    A copy, (n_obs, n_nodes), rows sum to 1; it is computed if the fit left it to dask. If the nodes are the cells
    themselves (`tl.drtree`), each cell has its own node, found by its coordinates.

    Raises
    ------
    KeyError
        If no skeleton is stored under `key`, or what the fit stored of the cells is gone.
    ValueError
        If it is damaged: of another shape, or with rows that do not sum to 1.

    Examples
    --------
    <example_fitted>
    >>> assignment = st.get.assignment(adata)
    >>> assignment.shape == (adata.n_obs, st.get.graph(adata).n_nodes)
    True
    >>> bool(abs(assignment.sum(axis=1) - 1).max() < 1e-6)
    True
    """
    keys, method = Keys(key), method_of(stored(adata, key))
    if method is not None and not method.stores_assignment:
        tree = graph(adata, key)
        own = tree.nearest_node(cells_in_embedding(adata, key, tree.nodes))
        return sparse.csr_matrix((np.ones(len(own)), own, np.arange(len(own) + 1)), shape=(len(own), tree.n_nodes))
    if keys.assignment not in adata.obsm:
        raise KeyError(
            f"adata.obsm has no {keys.assignment!r}, which the fit stored. Available: {available(adata.obsm)}."
        )
    values = adata.obsm[keys.assignment]
    rows = shares(adata, loaded(values), key)
    return rows.copy() if rows is values else rows
