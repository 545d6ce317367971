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
        If they have not as many columns as the nodes.
    """
    name = Keys(key).coordinates
    if name not in adata.obsm:
        raise KeyError(f"adata.obsm has no {name!r}, which the fit stored. Available: {available(adata.obsm)}.")
    points = np.asarray(adata.obsm[name], dtype=np.float64)
    if points.shape[1:] != nodes.shape[1:]:
        raise ValueError(
            f"adata.obsm[{name!r}] is of shape {points.shape}, and the nodes in adata.uns[{key!r}] have "
            f"{nodes.shape[1]} coordinates; wanted {nodes.shape[1]} columns. Something has replaced one of them: "
            "fit again."
        )
    return points
