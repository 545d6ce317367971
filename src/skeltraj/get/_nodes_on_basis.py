from __future__ import annotations

import numpy as np
from anndata import AnnData

from skeltraj import core
from skeltraj._docs import shared_texts
from skeltraj._keys import Keys
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.basis import basis_key, on_basis
from skeltraj.get._reading.lost_cells import warn_of_lost_places

from ._assignment import assignment
from ._graph import graph
from ._stored import stored


@as_declared
@shared_texts
def nodes_on_basis(adata: AnnData, basis: str, key: str = "ddrtree") -> np.ndarray:
    """Where the nodes of a stored skeleton are in another embedding of the cells.

    Each node is at the mean of the cells' coordinates, weighted by their assignment to it; if the nodes are the cells
    themselves (`tl.drtree`), it is at its cell. Nodes without cells are interpolated along the skeleton, see
    :func:`skeltraj.core.nodes_on`. In the embedding that the fit itself stored, the nodes are where the fit put them.

    Parameters
    ----------
    <adata_fitted>
    basis
        Entry of `obsm`, as for scanpy: "umap" is ``obsm["umap"]`` or else ``obsm["X_umap"]``.
    <key>

    Returns
    -------
    (n_nodes, n_dimensions of the basis).

    Raises
    ------
    KeyError
        If no skeleton is stored under `key`, or there is no such basis.
    ValueError
        If coordinates are NaN or infinite.

    Warns
    -----
    UserWarning
        If cells were taken out since they were ordered, and nodes have none left near them.

    Examples
    --------
    <example_fitted>
    >>> sc.pp.pca(adata)
    >>> places = st.get.nodes_on_basis(adata, "pca")
    >>> places.shape == (st.get.graph(adata).n_nodes, adata.obsm["X_pca"].shape[1])
    True
    """
    skeleton = graph(adata, key)
    name = basis_key(adata, basis)
    if name == Keys(key).coordinates:
        return skeleton.nodes
    points, weights = on_basis(adata, basis), assignment(adata, key)
    warn_of_lost_places(adata, stored(adata, key), weights, name, key)
    return core.nodes_on(skeleton, weights, points)
