"""Edges that join the parts of a skeleton."""

from __future__ import annotations

import numpy as np

from skeltraj._docs import shared_texts
from skeltraj.core._geometry.neighbors import PointTree
from skeltraj.core._geometry.spanning_tree import spanning_tree
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import interruptible

from .graph import Graph
from .position import locate


@interruptible()
@shared_texts
def joining_edges(graph: Graph, nodes: np.ndarray | None = None) -> np.ndarray:
    """The shortest edges that make the parts of a skeleton one: the minimum spanning tree over its parts.

    Two parts are as far apart as their nearest two nodes. Of equally long edges, the one whose ends come first by
    their coordinates is taken.

    Parameters
    ----------
    <graph>
    nodes
        Nodes that may be joined, and whose parts are; None: all.

    Returns
    -------
    Pairs of nodes, (n_parts - 1, 2), the smaller first, from the shortest to the longest; none where no nodes may join.

    Raises
    ------
    TypeError, ValueError
        If `nodes` contains something that is not a node.

    Examples
    --------
    >>> import numpy as np
    >>> from skeltraj import core
    >>> graph = core.Graph(np.array([[0.0], [1], [3], [4]]), np.array([[0, 1], [2, 3]]))
    >>> graph.n_parts
    2
    >>> core.joining_edges(graph).tolist()
    [[1, 2]]
    """
    check.instance(graph, "graph", Graph)
    chosen = np.arange(graph.n_nodes)
    if nodes is not None:
        chosen = np.unique(check.numbers(nodes, "nodes", graph.n_nodes, "nodes"))
    if not len(chosen):
        return np.empty((0, 2), dtype=np.int64)
    allowed = by_coordinates(graph, chosen)
    # the shortest edges between parts are edges of the minimum spanning tree of all nodes
    pairs = spanning_tree(graph.nodes[allowed])
    a, b = allowed[pairs].T
    squared = ((graph.nodes[a] - graph.nodes[b]) ** 2).sum(axis=1)
    # Kruskal's algorithm, over the parts
    part, joining = graph.component.copy(), []
    for i in np.lexsort((pairs[:, 1], pairs[:, 0], squared)):
        if part[a[i]] != part[b[i]]:
            part[part == part[b[i]]] = part[a[i]]
            joining.append(sorted((int(a[i]), int(b[i]))))
    return np.array(joining, dtype=np.int64).reshape(-1, 2)


def nearest_pair(graph: Graph, some: np.ndarray, others: np.ndarray) -> tuple[int, int]:
    """The nearest two nodes, one of each set; of equally near ones the first by their coordinates."""
    some, others = by_coordinates(graph, some), by_coordinates(graph, others)
    _, distance = PointTree(graph.nodes[others]).nearest(graph.nodes[some])
    first = some[distance.argmin()]
    second = others[((graph.nodes[others] - graph.nodes[first]) ** 2).sum(axis=1).argmin()]
    return int(first), int(second)


def by_coordinates(graph: Graph, nodes: np.ndarray) -> np.ndarray:
    """Some nodes in the order of their coordinates."""
    return np.asarray(nodes)[np.lexsort(graph.nodes[nodes].T[::-1])]


def ends_of_parts(graph: Graph) -> np.ndarray:
    """Tips and nodes without edges; in parts that have neither (circles), all nodes."""
    ends = np.flatnonzero(graph.degree < 2)
    closed = ~np.isin(graph.component, graph.component[ends])
    return np.union1d(ends, np.flatnonzero(closed))


@shared_texts
def parts_with_points(graph: Graph, points: np.ndarray) -> np.ndarray:
    """Components on which points lie, ascending.

    Parameters
    ----------
    <graph>
    points
        (n, n_components), in the space of its nodes.
    """
    if not len(graph.edges):
        return np.unique(graph.component[graph.nearest_node(points)])
    return np.unique(locate(graph, points).component(graph))
