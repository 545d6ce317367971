"""A skeleton as smooth curves among the same points in another space."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from skeltraj._docs import shared_texts
from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.mesh import Mesh
from skeltraj.core._graph.nodes_on import nodes_on
from skeltraj.core._graph.position import Position, at_nodes
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import interruptible

from .placed import PlacedSkeleton
from .tree_basis import BranchSpline, TreeBasis, shared_columns

# Measured on Paul 2015, METABRIC, krumsiek11 and two simulated trees on their UMAPs: of 0.1 to 0.8, the smallest at
# which no branch wiggles any more; from 0.3 on, curves leave the cells at bends.
_SPAN = 0.15
_KNOTS_PER_SPAN = 3  # more change nothing that can be seen
_STRETCH = 0.01  # of a point: holds ends that no point holds; far below the pull of the points where there are some
_DEGREE = 3
_MOST_STEPS = 1000  # more cannot be seen
_N_STEPS = 8  # of which the course of an edge is drawn
_END = 0.8  # share of the points at a tip up to which its branch is drawn on; chosen by eye
_MIN_AT_TIP = 5  # points below which nothing tells where they end; chosen by eye


@interruptible()
@shared_texts
def smooth_on(
    graph: Graph, assignment: sparse.csr_matrix, points: np.ndarray, *, n_steps: int = _N_STEPS
) -> PlacedSkeleton:
    """Draw a skeleton as smooth curves among the points, given in any space.

    The curve y minimises, with the places s of the nodes along the skeleton and lengths as they are there::

        sum_ik R_ik |x_i - y(s_k)|^2  +  a int |y''|^2 ds  +  b int |y'|^2 ds

    over the functions on the skeleton that are cubic splines along each branch and continuous where branches meet: so
    it passes through the middle of the points that are assigned near a place, not through the mean of each node's own
    few points. ``a = (0.15 L / 2 pi)^4 n / (sum of all lengths)``, L the longest path: where points lie as densely as
    on average, waves as long as 0.15 L are halved, and shorter ones vanish. ``b = 0.01 L + a / (0.15 L)^2`` keeps the
    curve straight where there are gaps between points. Branches with many points follow them more closely than those
    with few.

    The cells at a tip are those that lie at or beyond it. Its branch is extended through them, in the direction in
    which it ends, up to where four fifths of them lie behind.

    Parameters
    ----------
    <graph>
    assignment
        Of the points to its nodes, R, (n, n_nodes), >= 0.
    points
        x, (n, n_dimensions), in any space.
    n_steps
        Straight steps in which the course of each edge is given.

    Returns
    -------
    A :class:`PlacedSkeleton`. It rotates, moves and scales with the points. Where the nodes are joined by similarities
    (a :class:`Mesh`), and in parts of the skeleton without points or length, edges are straight between the places
    that :func:`nodes_on` gives the nodes.

    Raises
    ------
    TypeError, ValueError
        As :func:`nodes_on`, or if `n_steps` is no number from 1 up.

    Notes
    -----
    A smoothing spline in tension on a tree; of one branch and without tension that of Reinsch (1967), Numerische
    Mathematik 10.

    Examples
    --------
    <example_tree>
    >>> fit = core.principal_tree(points, n_nodes=15)
    >>> # another embedding of the points, in three dimensions
    >>> elsewhere = points @ [[0, 1, 0], [1, 0, 1]]
    >>> placed = core.smooth_on(fit.graph, fit.assignment, elsewhere)
    >>> placed.courses.shape  # of each edge 9 points
    (14, 9, 3)
    >>> placed.along(fit.graph.path(0, 1)).shape
    (9, 3)
    """
    n_steps = check.count(n_steps, "n_steps", at_most=_MOST_STEPS)
    check.instance(graph, "graph", Graph)
    points = check.dense(points, "points")
    assignment = check.assignment(assignment, (len(points), graph.n_nodes))
    places = nodes_on(graph, assignment, points)
    span = _SPAN * _longest_path(graph)
    if isinstance(graph, Mesh) or not span > 0:
        return PlacedSkeleton.straight(graph, places)
    mass = np.asarray(assignment.sum(axis=0)).ravel()
    branch, along, basis = _basis(graph, span / _KNOTS_PER_SPAN, n_steps)
    rows = basis.at(branch, along)
    curve = np.einsum("ij,ijk->ik", rows.value, _coefficients(basis, places, mass, span)[rows.index])
    _draw_on(graph, (branch, along, curve), assignment, points, span)
    courses = curve.reshape(len(graph.edges), n_steps + 1, -1)
    nodes = places.copy()  # those without edges stay there
    nodes[graph.edges[:, 0]], nodes[graph.edges[:, 1]] = courses[:, 0], courses[:, -1]
    courses[:, 0], courses[:, -1] = nodes[graph.edges[:, 0]], nodes[graph.edges[:, 1]]  # the same to the last digit
    return PlacedSkeleton(graph, nodes, courses)


def _longest_path(graph: Graph) -> float:
    """About the length of the longest of the shortest paths between nodes: in a tree exactly."""
    longest = 0.0
    for part in range(graph.n_parts if len(graph.edges) else 0):
        far = int(np.flatnonzero(graph.component == part)[0])
        for _ in range(2):  # the node farthest from any node ends a longest path of a tree
            distance = np.nan_to_num(graph.distances_from(far), nan=-1.0)
            far = int(distance.argmax())
        longest = max(longest, float(distance[far]))
    return longest


def _basis(graph: Graph, step: float, n_steps: int) -> tuple[np.ndarray, np.ndarray, TreeBasis]:
    """Places along all edges, by their branch and how far along it, and cubic splines whose knots lie `step` apart."""
    lengths = np.bincount(graph.branch_of_edge, graph.edge_length, minlength=len(graph.branches))
    column_of, n_columns = shared_columns(graph, lengths)
    splines = []
    for path, length in zip(graph.branches, lengths.tolist(), strict=True):
        n_pieces = max(1, int(np.ceil(length / step)))
        degree = _DEGREE if length > 0 else 1
        own = np.arange(n_columns, n_columns + n_pieces + degree - 2)
        n_columns += len(own)
        columns = np.r_[column_of[path[0]], own, column_of[path[-1]]]
        splines.append(BranchSpline(length, degree, np.linspace(0.0, length, n_pieces + 1), columns))
    basis = TreeBasis(graph, tuple(splines), n_columns)
    n_edges = len(graph.edges)
    edge, fraction = np.repeat(np.arange(n_edges), n_steps + 1), np.tile(np.linspace(0.0, 1.0, n_steps + 1), n_edges)
    branch, along = basis.along(Position(edge, fraction, np.zeros(len(edge))))
    return branch, along, basis


def _coefficients(basis: TreeBasis, places: np.ndarray, mass: np.ndarray, span: float) -> np.ndarray:
    """Coefficients of the curve, (n_columns, n_dimensions)."""
    graph = basis.graph
    # nodes of parts without points hold their own places
    part_mass = np.bincount(graph.component, mass, minlength=graph.n_parts)
    weight = np.where(part_mass[graph.component] > 0, mass, 1.0)
    held = np.flatnonzero((weight > 0) & (graph.degree > 0))
    length = sum(spline.length for spline in basis.splines)
    bend = (span / (2 * np.pi)) ** 4 * mass.sum() / length
    stretch = _STRETCH * span / _SPAN + bend / span**2
    rows, columns, values = [], [], []
    for path, spline in zip(graph.branches, basis.splines, strict=True):
        penalty = bend * spline.roughness(2) + stretch * spline.roughness(1)
        if path[0] == path[-1] and graph.degree[path[0]] == 2 and len(spline.knots) > 2:
            penalty += bend * _closing_penalty(spline)
        rows.append(np.repeat(spline.columns, len(penalty)))
        columns.append(np.tile(spline.columns, len(penalty)))
        values.append(penalty.ravel())
    pairs = (np.concatenate(rows), np.concatenate(columns))
    penalties = sparse.coo_matrix((np.concatenate(values), pairs), shape=(basis.n_columns, basis.n_columns))
    X = basis.rows(at_nodes(graph, held)).sparse()
    system = X.T @ sparse.diags(weight[held]) @ X + penalties
    center = places[held].mean(axis=0)
    return center + splu(system.tocsc()).solve(X.T @ (weight[held, None] * (places[held] - center)))


def _closing_penalty(spline: BranchSpline) -> np.ndarray:
    """Squared turn where a circle closes, over the distance of knots: the bending there, as a quadratic form."""
    gap = spline.knots[1]
    turn = np.zeros(len(spline.columns))
    turn[[0, 1, -2, -1]] = np.array([-1.0, 1.0, 1.0, -1.0]) * _DEGREE / gap  # slope at the start less that at the end
    return np.outer(turn, turn) / gap


def _draw_on(
    graph: Graph,
    drawn: tuple[np.ndarray, np.ndarray, np.ndarray],
    assignment: sparse.csr_matrix,
    points: np.ndarray,
    span: float,
) -> None:
    """Lead the branches that end in tips on through the points there, in place: the last `span` of each, more and more.

    Parameters
    ----------
    drawn
        Places along all edges: branch, how far along it, and where they are drawn, (n,), (n,) and (n, n_dimensions).
    """
    branch, along, curve = drawn
    by_branch = np.argsort(branch, kind="stable")
    bounds = np.searchsorted(branch[by_branch], np.arange(len(graph.branches) + 1))
    columns = assignment.tocsc()
    for b, path in enumerate(graph.branches):
        here = by_branch[bounds[b] : bounds[b + 1]]
        length = along[here].max()
        for tip, from_tip in ((path[0], along[here]), (path[-1], length - along[here])):
            at_tip = slice(columns.indptr[tip], columns.indptr[tip + 1])
            weight = columns.data[at_tip]
            if graph.degree[tip] != 1 or weight.sum() < _MIN_AT_TIP:
                continue
            reach = min(span, length)
            end, before = curve[here[from_tip.argmin()]], curve[here[np.abs(from_tip - reach / 2).argmin()]]
            way = end - before
            size = np.sqrt(way @ way)
            if not size > 0:
                continue
            way /= size
            beyond = (points[columns.indices[at_tip]] - end) @ way
            order = np.argsort(beyond, kind="stable")
            reached = np.cumsum(weight[order])
            lead = beyond[order[np.searchsorted(reached, _END * reached[-1])]]
            if lead > 0:
                share = np.clip(1 - from_tip / reach, 0.0, 1.0)
                curve[here] += (share**2)[:, None] * lead * way
