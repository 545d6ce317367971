"""Where points lie on a skeleton."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._geometry.kdtree import distances_to
from skeltraj.core._geometry.neighbors import PointTree
from skeltraj.core._runtime import check
from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.threads import interruptible, ordered_map

from .graph import Graph

_FRACTION_AT_NODE = 1e-9  # nearer to an end of its edge, as a share of that, a point is at the node; for rounding
_POINTS_AT_ONCE = 1024  # that a thread places; chosen by eye
# By how much squared distances may be wrong: for each dimension a share of them, and what is lost of small numbers. An
# edge whose squared length is below the last is taken for a point at first, which is less.
_ROUNDING, _LOST, _POINT = 4 * float(np.finfo(np.float64).eps), 1e-280, 1e-300


@dataclass(frozen=True, repr=False)
class Position(Printed):
    """The exact nearest point of a skeleton for each of n points.

    Parameters
    ----------
    edge
        Number of the edge that it lies on, (n,).
    fraction
        How far along that edge, 0 at its first node and 1 at its second, (n,).
    distance
        Distance to the skeleton, (n,).
    alone
        For points that are nearer to a node without edges than to any edge, that node, else -1, (n,); None if there are
        no such nodes. `edge` and `fraction` are then still those of the nearest edge.

    Examples
    --------
    >>> import numpy as np
    >>> from skeltraj import core
    >>> graph = core.Graph(np.array([[0.0, 0], [2, 0], [3, 0]]), np.array([[0, 1], [1, 2]]))
    >>> position = core.locate(graph, np.array([[0.5, 0.2], [2.5, -0.1]]))
    >>> position.edge.tolist(), position.fraction.round(2).tolist()
    ([0, 1], [0.25, 0.5])
    >>> position.places(graph).round(1).tolist()
    [[0.5, 0.0], [2.5, 0.0]]
    >>> position.distances_from(graph, 2).round(1).tolist()
    [2.5, 0.5]
    """

    edge: np.ndarray
    fraction: np.ndarray
    distance: np.ndarray
    alone: np.ndarray | None = None

    def on(self, graph: Graph) -> Position:
        """The positions, their arrays checked, or an error if they cannot be on this graph."""
        check.instance(graph, "graph", Graph)
        edge = check.numbers(self.edge, "position.edge", len(graph.edges), "edges")
        fraction = check.column(self.fraction, "position.fraction", len(edge), 0.0, 1.0)
        distance = check.column(self.distance, "position.distance", len(edge), 0.0)
        if self.alone is None:
            return Position(edge, fraction, distance)
        alone = check.codes(self.alone, "position.alone", len(edge))
        check.numbers(alone[alone >= 0], "position.alone", graph.n_nodes, "nodes")
        return Position(edge, fraction, distance, alone)

    def component(self, graph: Graph) -> np.ndarray:
        """Connected component of the graph in which each point lies, (n,)."""
        component = graph.component[graph.edges[self.edge, 0]]
        return component if self.alone is None else np.where(self.alone < 0, component, graph.component[self.alone])

    def part(self, rows: slice | np.ndarray) -> Position:
        """Positions of some of the points."""
        alone = None if self.alone is None else self.alone[rows]
        return Position(self.edge[rows], self.fraction[rows], self.distance[rows], alone)

    def places(self, graph: Graph) -> np.ndarray:
        """The points of the skeleton themselves, (n, n_components)."""
        a, b = graph.nodes[graph.edges[self.edge, 0]], graph.nodes[graph.edges[self.edge, 1]]
        places = a + self.fraction[:, None] * (b - a)
        return places if self.alone is None else np.where(self.alone[:, None] < 0, places, graph.nodes[self.alone])

    def nearest_end(self, graph: Graph) -> np.ndarray:
        """The end of its edge that each point is nearer to along it, or the node without edges that it is at, (n,).

        From the middle of an edge, the end that comes first by its coordinates.
        """
        second = self.fraction > 0.5
        middle = np.flatnonzero(self.fraction == 0.5)
        second[middle] = graph.edge_order[1][self.edge[middle]]
        end = graph.edges[self.edge, second.astype(np.int64)]
        return end if self.alone is None else np.where(self.alone < 0, end, self.alone)

    def on_path(self, graph: Graph, path: np.ndarray) -> np.ndarray:
        """Whether each point lies on a path of nodes, its edges and ends, (n,)."""
        path = check.numbers(path, "path", graph.n_nodes, "nodes")
        on_path = np.isin(self.edge, graph.edges_along(path)) | self.at_one_of(graph, path)
        return on_path if self.alone is None else np.where(self.alone < 0, on_path, np.isin(self.alone, path))

    def at_one_of(self, graph: Graph, nodes: np.ndarray) -> np.ndarray:
        """Whether each point is, but for rounding, at the end of its edge that is one of some nodes, (n,)."""
        first, second = np.isin(graph.edges[self.edge], nodes).T
        return (first & (self.fraction <= _FRACTION_AT_NODE)) | (second & (self.fraction >= 1 - _FRACTION_AT_NODE))

    def distances_from(self, graph: Graph, node: int) -> np.ndarray:
        """Path length along the skeleton from `node` to every point, (n,); NaN where no path leads."""
        of_node = graph.distances_from(node)
        (first, second), length = graph.edges[self.edge].T, graph.edge_length[self.edge]
        distance = np.minimum(of_node[first] + self.fraction * length, of_node[second] + (1 - self.fraction) * length)
        return distance if self.alone is None else np.where(self.alone < 0, distance, of_node[self.alone])


def positions_on(graph: Graph, position: Position) -> Position:
    """Positions as arguments of a public call, checked; a `Position` whose arrays are what they should be."""
    return check.instance(position, "position", Position).on(graph)


@interruptible()
@shared_texts
def locate(graph: Graph, points: np.ndarray) -> Position:
    """Put each point on its nearest point of the skeleton, over all edges.

    Parameters
    ----------
    <graph>
    points
        (n, n_components), in the space of the nodes.

    Returns
    -------
    Positions. A point equally near to two edges, as at a fork, is put on the one whose ends come first in the order of
    their coordinates, however edges are stored.

    Raises
    ------
    ValueError
        If coordinates are NaN or infinite, in another number of dimensions, or the skeleton has no edges.

    Examples
    --------
    <example_tree>
    >>> position = core.locate(graph, np.array([[0.5, 0.3]]))
    >>> position.edge.tolist(), position.fraction.round(2).tolist()
    ([0], [0.25])
    >>> position.distance.round(2).tolist()
    [0.3]
    """
    check.instance(graph, "graph", Graph)
    if not len(graph.edges):
        raise ValueError(
            f"the skeleton has {graph.n_nodes} nodes but no edges, so nothing lies along it; wanted at least one (a "
            "graph that falls apart wants more candidates, a larger eta or a smaller min_weight)."
        )
    points = check.coordinates(points, "points", graph.nodes.shape[1])
    n_unknown = int((~np.isfinite(points)).any(axis=1).sum())
    if n_unknown:
        raise ValueError(
            f"{n_unknown} of {len(points)} points have coordinates that are NaN or infinite; wanted points in the "
            "embedding (cells that the fit has not seen have none)."
        )
    check.squares(points, "points")
    order, backwards = graph.edge_order
    in_order = np.where(backwards[order, None], graph.edges[order, ::-1], graph.edges[order])
    edge, fraction, squared = on_edges(points, graph.nodes, in_order)
    edge, distance = order[edge], np.sqrt(squared)
    fraction = np.rint(fraction * 2.0**52) / 2.0**52  # so that 1 - fraction is exact, however the edge is stored
    fraction = np.where(backwards[edge], 1 - fraction, fraction)
    single = np.flatnonzero(graph.degree == 0)
    if not len(single):
        return Position(edge, fraction, distance)
    nearest, to_single = PointTree(graph.nodes[single]).nearest(points)
    alone = np.where(to_single < distance, single[nearest], -1)
    return Position(edge, fraction, np.minimum(to_single, distance), alone)


@shared_texts
def at_nodes(graph: Graph, nodes: np.ndarray) -> Position:
    """Put each point on a node of the skeleton, for points that are its nodes, two of which may be at the same place.

    Parameters
    ----------
    <graph>
    nodes
        The node of each point, (n,).

    Raises
    ------
    ValueError
        If the skeleton has no edges, or not that many nodes.

    Examples
    --------
    <example_tree>
    >>> position = core.at_nodes(graph, np.array([0, 2, 2, 3]))
    >>> position.places(graph).round(1).tolist()
    [[0.0, 0.0], [3.0, 1.0], [3.0, 1.0], [3.0, -1.0]]
    """
    check.instance(graph, "graph", Graph)
    if not len(graph.edges):
        raise ValueError(f"the skeleton has {graph.n_nodes} nodes but no edges, so nothing lies along it.")
    nodes = check.numbers(nodes, "nodes", graph.n_nodes, "nodes")
    edge_of_node = np.zeros(graph.n_nodes, dtype=np.int64)
    for i in graph.edge_order[0][::-1]:  # so that the first, as in `locate`, is written last
        edge_of_node[graph.edges[i]] = i
    edge = edge_of_node[nodes]
    alone = np.where(graph.degree[nodes] == 0, nodes, -1)
    fraction = (graph.edges[edge, 1] == nodes).astype(np.float64)
    return Position(edge, fraction, np.zeros(len(nodes)), alone if (alone >= 0).any() else None)


def on_edges(
    points: np.ndarray, nodes: np.ndarray, edges: np.ndarray, some: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nearest edge of each point, how far along it, and the squared distance, each (n,).

    `some`: numbers of the edges to be looked at, ascending; None: all.
    """
    some = np.arange(len(edges)) if some is None else some
    near, fraction, squared = np.empty((len(points), 1), dtype=np.int32), *np.empty((2, len(points), 1))
    one_group = np.zeros(1, dtype=np.int64), np.array([0, len(some)])
    _nearest_of_groups(points, nodes, edges, some, *one_group, near, squared, fraction)
    return near[:, 0].astype(np.int64), fraction[:, 0], squared[:, 0]


def nearest_on_branches(
    points: np.ndarray,
    nodes: np.ndarray,
    edges: np.ndarray,
    some: np.ndarray,
    branch: np.ndarray,
    near: np.ndarray,
    squared: np.ndarray,
) -> None:
    """Fill in the nearest edge of each point on each branch, the first of equally near ones, and its squared distance.

    Parameters
    ----------
    points, nodes, edges
        As in `on_edges`.
    some
        Numbers of the edges to be looked at, ascending.
    branch
        Number of the branch of each edge, (n_edges,).
    near, squared
        (n, n_branches). Columns of branches without such edges stay.
    """
    of_some = branch[some]
    order = np.argsort(of_some, kind="stable")
    which, first = np.unique(of_some[order], return_index=True)
    _nearest_of_groups(
        points, nodes, edges, some[order], which, np.append(first, len(some)), near, squared, np.empty((0, 0))
    )


def _nearest_of_groups(
    points: np.ndarray,
    nodes: np.ndarray,
    edges: np.ndarray,
    numbers: np.ndarray,
    which: np.ndarray,
    first: np.ndarray,
    near: np.ndarray,
    squared: np.ndarray,
    fraction: np.ndarray,
) -> None:
    """The same for groups of edges, and how far along the nearest edge, if that is wanted: if `fraction` has rows.

    The edges `numbers` ``first[g]`` to ``first[g + 1]`` are group g, whose column is ``which[g]``.
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    places, columns, ends, vectors, reach = _ends_of(np.asarray(nodes, dtype=np.float64), edges, numbers)
    squared_lengths = (vectors**2).sum(axis=1)
    halves = np.divide(0.5, squared_lengths, out=np.zeros_like(reach), where=squared_lengths > _POINT)
    of_edges = numbers, ends, vectors, squared_lengths, halves, reach

    def fill(start: int) -> None:
        part = slice(start, start + _POINTS_AT_ONCE)
        _nearest(points[part], places, columns, *of_edges, which, first, near[part], squared[part], fraction[part])

    ordered_map(fill, range(0, len(points), _POINTS_AT_ONCE))


@compiled
def _ends_of(
    nodes: np.ndarray, edges: np.ndarray, numbers: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The first two and `ends`, `vectors` and `reach` of `_nearest`, for some edges and the nodes at their ends."""
    d = nodes.shape[1]
    place = np.full(len(nodes), -1)
    for e in numbers:
        place[edges[e, 0]] = place[edges[e, 1]] = 0
    n_used = 0
    for i in range(len(nodes)):
        if place[i] == 0:
            place[i] = n_used
            n_used += 1
    places, columns = np.empty((n_used, d)), np.empty((d, n_used))
    for i in range(len(nodes)):
        if place[i] >= 0:
            for j in range(d):
                places[place[i], j] = columns[j, place[i]] = nodes[i, j]
    n = len(numbers)
    ends, vectors, reach = np.empty((n, 2), dtype=np.int64), np.empty((n, d)), np.zeros(n)
    for i in range(n):
        start, end = place[edges[numbers[i], 0]], place[edges[numbers[i], 1]]
        ends[i, 0], ends[i, 1] = start, end
        for j in range(d):  # the sums that a point at the end of an edge has, to the last bit
            vectors[i, j] = places[end, j] - places[start, j]
            reach[i] += vectors[i, j] * vectors[i, j]
    return places, columns, ends, vectors, reach


@compiled
def _nearest(
    points: np.ndarray,
    nodes: np.ndarray,
    columns: np.ndarray,
    numbers: np.ndarray,
    ends: np.ndarray,
    vectors: np.ndarray,
    squared_lengths: np.ndarray,
    halves: np.ndarray,
    reach: np.ndarray,
    which: np.ndarray,
    first: np.ndarray,
    near: np.ndarray,
    squared: np.ndarray,
    fraction: np.ndarray,
) -> None:
    """Fills in the columns `which` of the last three: the nearest of the edges ``first[g]`` to ``first[g + 1]``.

    The squared distances from the two ends of an edge tell that from the edge but for rounding, so that only few edges
    have to be looked at.

    Parameters
    ----------
    nodes, columns
        (n_nodes, d), and the same as (d, n_nodes).
    numbers, ends, vectors, squared_lengths
        Of the edges.
    halves
        Half of the inverse of these lengths, which takes less time than to divide by them; 0 where there is none.
    reach
        Squared lengths as well, summed as the products here are: a point that is at an end, as cells that a single node
        holds are, is there to the last bit, and equally far from all edges at that node.
    """
    d, n_nodes = columns.shape
    to, low = np.empty(n_nodes), np.empty(len(numbers))
    rounding = _ROUNDING * (d + 10)
    for i in range(len(points)):
        point = points[i]
        distances_to(point, columns, np.int64(0), n_nodes, to)
        for g in range(len(which)):
            limit = np.inf
            for e in range(np.uint64(first[g]), np.uint64(first[g + 1])):
                from_start, from_end = to[np.uint64(ends[e, 0])], to[np.uint64(ends[e, 1])]
                length = squared_lengths[e]
                twice = from_start - from_end + length  # the product of the edge and what leads to the point
                share = min(max(halves[e] * twice, 0.0), 1.0)
                about = from_start - share * (twice - share * length)
                error = rounding * (from_start + from_end + length) + _LOST
                low[e] = about - error
                limit = min(limit, about + error)
            best = np.inf
            for e in range(np.uint64(first[g]), np.uint64(first[g + 1])):
                if low[e] > limit:
                    continue
                start = np.uint64(ends[e, 0])
                product = 0.0
                for j in range(d):
                    product += (point[j] - nodes[start, j]) * vectors[e, j]
                share = min(max(product / squared_lengths[e], 0.0), 1.0) if squared_lengths[e] > 0 else 0.0
                # at an end from the end itself: edges that share it are then equally far, to the last bit
                if share == 1.0 or product >= reach[e] > 0:
                    share, away = 1.0, to[np.uint64(ends[e, 1])]
                elif share == 0.0:
                    away = to[start]
                else:
                    away = 0.0
                    for j in range(d):
                        difference = point[j] - nodes[start, j] - share * vectors[e, j]
                        away += difference * difference
                if away < best:
                    best, near[i, which[g]] = away, numbers[e]
                    if len(fraction) > 0:
                        fraction[i, which[g]] = share
            squared[i, which[g]] = best
