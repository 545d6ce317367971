"""Where the nodes of a skeleton stand among the same points in another space."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from skeltraj._docs import shared_texts
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import interruptible
from skeltraj.core._solvers.laplacian import laplacian

from .graph import Graph

_MIN_LENGTH = 1e-9  # shorter edges, as a share of the mean length, count as so long: their weights stay finite


@interruptible()
@shared_texts
def nodes_on(graph: Graph, assignment: sparse.csr_matrix, points: np.ndarray) -> np.ndarray:
    """Place the nodes of a skeleton among the points, given in any space.

    A node is placed at the mean of the points, weighted by their assignment to it. Nodes to which no point is assigned
    are interpolated along the skeleton: between two nodes with points linearly in the path length; where several meet,
    so that each is the mean of its neighbours weighted by one over the edges' lengths; beyond the last one with points,
    at that one. In parts of the skeleton where no node has points, each stands with the node that is nearest to it in
    the skeleton's own space.

    Parameters
    ----------
    <graph>
    assignment
        Of the points to its nodes, (n, n_nodes), >= 0.
    points
        (n, n_dimensions), in any space.

    Returns
    -------
    (n_nodes, n_dimensions).

    Raises
    ------
    TypeError, ValueError
        If the points are not finite numbers, their number is not that of the assignment's rows, or no point is
        assigned.

    Examples
    --------
    <example_tree>
    >>> fit = core.principal_tree(points, n_nodes=15)
    >>> # another embedding of the points, in three dimensions
    >>> elsewhere = points @ [[0, 1, 0], [1, 0, 1]]
    >>> core.nodes_on(fit.graph, fit.assignment, elsewhere).shape
    (15, 3)
    """
    check.instance(graph, "graph", Graph)
    points = check.dense(points, "points")
    assignment = check.assignment(assignment, (len(points), graph.n_nodes))
    mass = np.asarray(assignment.sum(axis=0)).ravel()
    held = mass > 0
    if not held.any():
        raise ValueError(f"no point is assigned to any of the {graph.n_nodes} nodes; wanted at least one.")
    center = points.mean(axis=0)
    place = np.empty((graph.n_nodes, points.shape[1]))
    place[held] = center + (assignment.T @ (points - center))[held] / mass[held, None]
    if held.all():
        return place

    empty = np.flatnonzero(~held)
    reached = np.isin(graph.component[empty], graph.component[held])
    along, apart = empty[reached], empty[~reached]
    if len(along):
        length = np.maximum(graph.edge_length, _MIN_LENGTH * (graph.edge_length.mean() or 1.0))
        L = laplacian(graph.edges, graph.n_nodes, 1 / length)[along]
        place[along] = splu(L[:, along].tocsc()).solve(-L[:, held] @ place[held])
    place[apart] = place[graph.nearest_node(graph.nodes[apart], np.flatnonzero(held))]
    return place
