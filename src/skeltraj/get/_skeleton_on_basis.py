from __future__ import annotations

from anndata import AnnData

from skeltraj import core
from skeltraj._docs import shared_texts
from skeltraj._keys import Keys
from skeltraj.core import PlacedSkeleton
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.basis import basis_key, on_basis
from skeltraj.get._reading.lost_cells import warn_of_lost_places

from ._assignment import assignment
from ._graph import graph
from ._stored import stored


@as_declared
@shared_texts
def skeleton_on_basis(adata: AnnData, basis: str, key: str = "ddrtree", *, smooth: bool = True) -> PlacedSkeleton:
    """How a stored skeleton runs in another embedding of the cells.

    Each node has its own few cells, and their means zigzag in an embedding that the tree was not learned in. Smooth
    curves pass through the middle of the cells along each branch, meet at the forks, and end where the cells end.

    Parameters
    ----------
    <adata_fitted>
    basis
        Entry of `obsm`, as for scanpy: "umap" is ``obsm["umap"]`` or else ``obsm["X_umap"]``.
    <key>
    smooth
        Smooth curves, see :func:`skeltraj.core.smooth_on`; False: straight edges between the nodes, each at the mean
        of its cells, see :func:`skeltraj.get.nodes_on_basis`.

    Returns
    -------
    A :class:`skeltraj.core.PlacedSkeleton`: ``nodes``, ``courses`` of the edges, ``along`` paths of nodes. In the
    embedding that the fit itself stored, and of learned similarities (`tl.mpme`, `tl.spl`), edges are always straight.

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
    >>> placed = st.get.skeleton_on_basis(adata, "pca")
    >>> # each edge is a course of points
    >>> n_edges, n_points, n_dimensions = placed.courses.shape
    >>> n_edges == len(placed.graph.edges), n_points
    (True, 9)
    """
    skeleton = graph(adata, key)
    name = basis_key(adata, basis)
    if name == Keys(key).coordinates:
        return PlacedSkeleton.straight(skeleton, skeleton.nodes)
    points, weights = on_basis(adata, basis), assignment(adata, key)
    warn_of_lost_places(adata, stored(adata, key), weights, name, key)
    if smooth:
        return core.smooth_on(skeleton, weights, points)
    return PlacedSkeleton.straight(skeleton, core.nodes_on(skeleton, weights, points))
