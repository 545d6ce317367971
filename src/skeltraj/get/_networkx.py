from __future__ import annotations

from typing import TYPE_CHECKING

from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, OrderEntry
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.order import order_of

from ._graph import graph
from ._stored import stored

if TYPE_CHECKING:
    from networkx import Graph


@as_declared
@shared_texts
def networkx(adata: AnnData, key: str = "ddrtree") -> Graph:
    """The stored skeleton as a networkx graph.

    Parameters
    ----------
    <adata_fitted>
    <key>

    Returns
    -------
    An undirected graph whose nodes are numbered as the stored ones. Nodes have ``pos`` (coordinates), and
    ``pseudotime`` once the cells have been ordered; edges have ``length`` (use ``weight="length"`` for paths),
    ``branch`` (its id), and ``weight`` where the method learns one.

    Raises
    ------
    KeyError
        If no skeleton is stored under `key`.

    Examples
    --------
    >>> import networkx
    <example_ordered>
    >>> graph = st.get.networkx(adata)
    >>> networkx.is_tree(graph)
    True
    >>> sorted(graph.nodes[0]), sorted(next(iter(graph.edges.values())))
    (['pos', 'pseudotime'], ['branch', 'length'])
    """
    from networkx import Graph

    fit, skeleton = stored(adata, key), graph(adata, key)
    branch = skeleton.branch_names[skeleton.branch_of_edge]
    result = Graph()
    result.add_nodes_from((i, {"pos": place}) for i, place in enumerate(skeleton.nodes))
    for i, (a, b) in enumerate(skeleton.edges.tolist()):
        result.add_edge(a, b, length=float(skeleton.edge_length[i]), branch=str(branch[i]))
        if Entry.WEIGHTS in fit:
            result.edges[a, b]["weight"] = float(fit[Entry.WEIGHTS][i])
    order = order_of(fit, skeleton, key)
    if order is not None:
        for i, time in enumerate(order[OrderEntry.NODE_PSEUDOTIME]):
            result.nodes[i]["pseudotime"] = float(time)
    return result
