from __future__ import annotations

import numpy as np
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Entry
from skeltraj.core import Graph, Mesh
from skeltraj.get._reading.checks import method_of

from ._stored import stored


@shared_texts
def graph(adata: AnnData, key: str = "ddrtree") -> Graph:
    """The stored skeleton as an object.

    Parameters
    ----------
    <adata_fitted>
    <key>

    Returns
    -------
    Its nodes, edges, lengths, tips, forks and branches. Of learned similarities (`tl.mpme`, `tl.spl`) a
    :class:`skeltraj.core.Mesh`: the cells, joined where they are similar, without tips and forks.

    Raises
    ------
    KeyError
        If no skeleton is stored under `key`.
    ValueError
        If what is stored is none: edges between nodes that are not there, or coordinates that are not finite.
    """
    fit = stored(adata, key)
    method = method_of(fit)
    graph_type = Mesh if method is not None and method.joins_rows else Graph
    nodes, edges = np.asarray(fit[Entry.NODES], dtype=np.float64), np.asarray(fit[Entry.EDGES], dtype=np.int64)
    try:
        return graph_type(nodes, edges)
    except (TypeError, ValueError) as error:
        raise ValueError(f"adata.uns[{key!r}] holds no skeleton: {error}") from error
