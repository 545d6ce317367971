from __future__ import annotations

import numpy as np
from anndata import AnnData

from skeltraj.core import Graph

from ._stored import stored


def graph(adata: AnnData, key: str = "ddrtree") -> Graph:
    """The stored skeleton as an object.

    Parameters
    ----------
    adata
        Annotated data with a fitted skeleton.
    key
        `key_added` of the fit.

    Returns
    -------
    Its nodes, edges, lengths, tips, forks and branches.

    Raises
    ------
    KeyError
        If no skeleton is stored under `key`.
    """
    found = stored(adata, key)
    return Graph(np.asarray(found["nodes"], dtype=np.float64), np.asarray(found["edges"], dtype=np.int64))
