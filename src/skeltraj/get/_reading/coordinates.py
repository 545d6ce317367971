"""The coordinates of the cells, in the space in which the nodes of their skeleton have theirs."""

from __future__ import annotations

import numpy as np
from anndata import AnnData

from skeltraj._keys import Keys

from .checks import available


def cells_in_embedding(adata: AnnData, key: str, nodes: np.ndarray) -> np.ndarray:
    """The coordinates of the cells that the fit stored, (n_obs, n_components).

    Parameters
    ----------
    adata
        Annotated data with a fitted skeleton.
    key
        The name of the fit.
    nodes
        The nodes of the skeleton, (n_nodes, n_components).

    Raises
    ------
    KeyError
        If the coordinates are gone.
    ValueError
        If they have not as many columns as the nodes, or are not finite numbers.
    """
    name = Keys(key).coordinates
    if name not in adata.obsm:
        raise KeyError(f"adata.obsm has no {name!r}, which the fit stored. Available: {available(adata.obsm)}.")
    entry = adata.obsm[name]
    points = np.asarray(entry.toarray() if hasattr(entry, "toarray") else entry)
    if points.dtype.kind not in "fiu":
        raise ValueError(f"adata.obsm[{name!r}] has dtype {points.dtype}; wanted real numbers. Fit again.")
    points = points.astype(np.float64, copy=False)
    if points.shape[1:] != nodes.shape[1:]:
        raise ValueError(
            f"adata.obsm[{name!r}] is of shape {points.shape}, and the nodes in adata.uns[{key!r}] have "
            f"{nodes.shape[1]} coordinates; wanted {nodes.shape[1]} columns. Something has replaced one of them: "
            "fit again."
        )
    lost = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(lost):
        raise ValueError(
            f"{len(lost)} of {adata.n_obs} cells, such as {str(adata.obs_names[lost[0]])!r}, have no finite "
            f"coordinates in adata.obsm[{name!r}], as after anndata.concat with join='outer'. Leave them out; cells "
            "that the fit has not seen need skeltraj.tl.ingest."
        )
    return points
