from __future__ import annotations

import numpy as np
from anndata import AnnData

from skeltraj import core
from skeltraj._docs import shared_texts
from skeltraj._keys import Keys

from ._assignment import assignment
from ._graph import graph
from ._stored import available


@shared_texts
def nodes_on_basis(adata: AnnData, basis: str, key: str = "ddrtree") -> np.ndarray:
    """Where the nodes of a stored skeleton stand in another embedding of the cells.

    Each node stands at the mean of the cells' coordinates, weighted by their assignment to it; where the nodes are the
    cells themselves (`tl.drtree`), at its cell. Nodes without cells are interpolated along the skeleton, see
    :func:`skeltraj.core.nodes_on`. In the embedding that the fit itself stored, the nodes stand where it put them.

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
    """
    skeleton = graph(adata, key)
    name = basis_key(adata, basis)
    if name == Keys(key).coordinates:
        return skeleton.nodes
    return core.nodes_on(skeleton, assignment(adata, key), on_basis(adata, basis))


def on_basis(adata: AnnData, basis: str) -> np.ndarray:
    """The cells' coordinates, (n_obs, n_dimensions), checked."""
    name = basis_key(adata, basis)
    entry = adata.obsm[name]
    entry = entry.to_numpy() if hasattr(entry, "to_numpy") else entry
    points = np.asarray(entry.toarray() if hasattr(entry, "toarray") else entry)
    if points.dtype.kind not in "fiub":
        raise TypeError(f"adata.obsm[{name!r}] has dtype {points.dtype}; wanted real numbers.")
    lost = int((~np.isfinite(points)).any(axis=1).sum())
    if lost:
        raise ValueError(
            f"adata.obsm[{name!r}] has coordinates that are NaN or infinite for {lost} of {adata.n_obs} cells; wanted "
            "all of them."
        )
    return points.astype(np.float64)


def basis_key(adata: AnnData, basis: str) -> str:
    """The key in `obsm` that a basis names, or an error that lists those there are."""
    for name in (basis, f"X_{basis}"):
        if name in adata.obsm:
            return name
    raise KeyError(
        f"basis={basis!r}: neither {basis!r} nor 'X_{basis}' is in adata.obsm. Available: {available(adata.obsm)}."
    )
