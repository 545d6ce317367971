from __future__ import annotations

import numpy as np
from anndata import AnnData

from skeltraj.core import Graph, Mesh

from ._stored import stored

_MESHES = ("mpme", "spl")  # methods that join the cells themselves


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
    Its nodes, edges, lengths, tips, forks and branches. Of learned similarities (`tl.mpme`, `tl.spl`) a
    :class:`skeltraj.core.Mesh`: the cells, joined where they are similar, without tips and forks.

    Raises
    ------
    KeyError
        If no skeleton is stored under `key`.
    """
    found = stored(adata, key)
    kind = Mesh if found.get("params", {}).get("method") in _MESHES else Graph
    return kind(np.asarray(found["nodes"], dtype=np.float64), np.asarray(found["edges"], dtype=np.int64))
