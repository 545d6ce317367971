"""Order along a skeleton: pseudotime, branches, lineages, and the choice of a root."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import interruptible

from .graph import Graph
from .join import by_coordinates
from .position import Position, locate, positions_on

_ROUNDING = 1e-9  # relative, of sums of weights
_MIN_NEAR_TIP = 10  # points nearest to a tip, at least, over which its score is a mean; chosen by eye


@dataclass(frozen=True, repr=False)
class Ordering(Printed):
    """Where n points lie on a skeleton, seen from a root.

    Parameters
    ----------
    root
        The node from which lengths are measured.
    position
        The points' exact nearest points of the skeleton.
    pseudotime
        Path length from the root to each position, (n,); NaN in components without the root.
    node_pseudotime
        The same for the nodes, (n_nodes,).
    branch
        Position in ``graph.branches`` of each point's branch, (n,); -1 for points at a node without edges.
    tips
        The tip at which each lineage ends, (n_lineages,).
    membership
        Share of each point's assignment that lies on the path from the root to the lineage's tip, (n, n_lineages);
        1 for a point held by a trunk that all lineages share.

    Examples
    --------
    >>> import numpy as np
    >>> from skeltraj import core
    >>> graph = core.Graph(np.array([[0.0, 0], [2, 0], [3, 0]]), np.array([[0, 1], [1, 2]]))
    >>> ordering = core.order(graph, np.array([[0.5, 0.2], [2.5, -0.1]]), root=0)
    >>> ordering.pseudotime.tolist(), ordering.position.distance.round(1).tolist()
    ([0.5, 2.5], [0.2, 0.1])
    """

    root: int
    position: Position
    pseudotime: np.ndarray
    node_pseudotime: np.ndarray
    branch: np.ndarray
    tips: np.ndarray
    membership: np.ndarray


@interruptible()
@shared_texts
def order(
    graph: Graph, points: np.ndarray | Position, root: int, assignment: sparse.csr_matrix | None = None
) -> Ordering:
    """Order points along a skeleton from a root.

    Parameters
    ----------
    <graph>
    points
        (n, n_components), in the space of its nodes; or their positions, where these are known.
    root
        A node.
    assignment
        Soft assignment to the nodes, (n, n_nodes), for the lineages' membership; None: each point belongs to the
        nearer end of its edge.

    Returns
    -------
    Positions on the skeleton, pseudotime, branch (a position in ``graph.branches``), the tips at which the lineages end
    and each point's membership in them.

    Raises
    ------
    TypeError, ValueError
        If `root` is not a node, or points, positions or assignment do not belong to the skeleton.

    Examples
    --------
    <example_tree>
    >>> ordering = core.order(graph, points, root=0)
    >>> ordering.pseudotime[[0, -1]].round(2).tolist()
    [0.0, 3.41]
    >>> graph.branch_names[ordering.branch[[0, -2, -1]]].tolist()
    ['B1', 'B3', 'B2']
    >>> # lineages, by the tips at which they end
    >>> ordering.tips.tolist(), ordering.membership[[0, -2, -1]].tolist()
    ([3, 2], [[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    """
    check.instance(graph, "graph", Graph)
    root = check.node(root, "root", graph.n_nodes)
    position = points.on(graph) if isinstance(points, Position) else locate(graph, points)
    n = len(position.edge)
    if assignment is None:
        nearest = position.nearest_end(graph)
        assignment = sparse.csr_matrix((np.ones(n), nearest, np.arange(n + 1)), shape=(n, graph.n_nodes))
    else:
        assignment = check.assignment(assignment, (n, graph.n_nodes))
    node_pseudotime = graph.distances_from(root)
    tips = np.array([tip for tip in graph.tips if tip != root and np.isfinite(node_pseudotime[tip])], dtype=np.int64)
    on_path = np.zeros((graph.n_nodes, len(tips)))
    for i, tip in enumerate(tips):
        on_path[graph.path(root, int(tip)), i] = 1.0
    return Ordering(
        root=root,
        position=position,
        pseudotime=position.distances_from(graph, root),
        node_pseudotime=node_pseudotime,
        branch=_branch(graph, position),
        tips=tips,
        membership=np.minimum(np.asarray(assignment @ on_path), 1.0),  # sums of shares, but for rounding
    )


def _branch(graph: Graph, position: Position) -> np.ndarray:
    branch = graph.branch_of_edge[position.edge]
    return branch if position.alone is None else np.where(position.alone < 0, branch, -1)


@interruptible()
@shared_texts
def rank_tips(graph: Graph, position: Position) -> tuple[np.ndarray, np.ndarray]:
    """Tips by the mean path length from them to all points, longest first.

    The tip from which the points are farthest on average is the likeliest end of the process, though nothing in the
    positions distinguishes a beginning from an end. If a graph is in several parts, the part with most points is used.

    Parameters
    ----------
    <graph>
    <position>

    Returns
    -------
    Tips and their mean path lengths, (n_tips,) each. In a part without tips (a circle) its nodes stand for them.

    Raises
    ------
    TypeError, ValueError
        If positions are not on the skeleton, or there are none.

    Examples
    --------
    <example_tree>
    >>> tips, length = core.rank_tips(graph, core.locate(graph, points))
    >>> sorted(tips.tolist()), bool(length[0] >= length[-1])
    ([0, 2, 3], True)
    """
    position = _not_empty(positions_on(graph, position))
    component = position.component(graph)
    part = int(np.bincount(component).argmax())
    ends = _ends(graph, part)
    mean = np.array([_mean_length(graph, position, int(end), component == part) for end in ends])
    longest_first = np.argsort(-mean, kind="stable")
    return ends[longest_first], mean[longest_first]


@interruptible()
@shared_texts
def tip_near(graph: Graph, position: Position, chosen: np.ndarray) -> int:
    """The tip with the smallest mean path length to the chosen points.

    If a graph is in several parts, the part with most of them is used; if that has no tips (a circle), its nodes.

    Parameters
    ----------
    <graph>
    <position>
    chosen
        Which points, boolean, (n,).

    Raises
    ------
    TypeError, ValueError
        If positions are not on the skeleton, or no point is chosen.

    Examples
    --------
    <example_tree>
    >>> position = core.locate(graph, points)
    >>> core.tip_near(graph, position, points[:, 0] < 0.5)
    0
    """
    position = _not_empty(positions_on(graph, position))
    chosen = check.chosen(chosen, "chosen", len(position.edge))
    component = position.component(graph)
    part = int(np.bincount(component[chosen]).argmax())
    ends = _ends(graph, part)
    in_part = chosen & (component == part)
    return int(ends[np.argmin([_mean_length(graph, position, int(end), in_part) for end in ends])])


def _not_empty(position: Position) -> Position:
    if not len(position.edge):
        raise ValueError("position holds no points; wanted at least one.")
    return position


def _ends(graph: Graph, part: int) -> np.ndarray:
    """The tips of a part of the graph, or else all its nodes, in the order of their coordinates."""
    tips = graph.tips[graph.component[graph.tips] == part]
    return tips if len(tips) else by_coordinates(graph, np.flatnonzero(graph.component == part))


def _mean_length(graph: Graph, position: Position, node: int, chosen: np.ndarray) -> float:
    # summed by size, so that the order of the points does not matter
    return float(np.mean(np.sort(position.distances_from(graph, node)[chosen])))


@interruptible()
@shared_texts
def tip_at_extreme(graph: Graph, position: Position, values: np.ndarray, *, highest: bool) -> int:
    """The tip around which a score is highest, or lowest.

    A tip's score is the mean over the twentieth of the points (at least 10, at most all) that are nearest to it
    along the skeleton. Points whose score is NaN do not count. In parts without tips (circles) the nodes stand for
    them; parts with fewer points than that are left out, unless all are.

    Parameters
    ----------
    <graph>
    <position>
    values
        Score of each point, (n,).
    highest
        Whether to look for the highest, or the lowest.

    Raises
    ------
    TypeError, ValueError
        If positions are not on the skeleton, or no point has a finite score.

    Examples
    --------
    <example_tree>
    >>> position = core.locate(graph, points)
    >>> core.tip_at_extreme(graph, position, points[:, 1], highest=True)
    2
    """
    position, highest = _not_empty(positions_on(graph, position)), check.flag(highest, "highest")
    values = check.vector(values, "values", len(position.edge))
    known = np.isfinite(values)
    if not known.any():
        raise ValueError(f"values: none of {len(values)} is finite; wanted some.")
    largest = np.abs(values[known]).max()
    values = values / (largest or 1.0)  # so that sums are numbers
    n_known = int(known.sum())
    n_near = min(n_known, max(_MIN_NEAR_TIP, n_known // 20))
    component = position.component(graph)
    count = np.bincount(component[known], minlength=graph.n_parts)
    parts = np.flatnonzero(count >= min(n_near, count.max()))
    ends = np.concatenate([_ends(graph, int(part)) for part in parts])
    score = []
    for end in ends:
        in_part = np.flatnonzero(known & (component == graph.component[end]))
        distance = position.distances_from(graph, int(end))[in_part]
        # all that are as near as the last of them, and summed by size, so that the order of the points does not matter
        last = np.sort(distance)[:n_near][-1]
        score.append(np.sort(values[in_part[distance <= last]]).mean())
    return int(ends[np.argmax(score) if highest else np.argmin(score)])


@shared_texts
def median_node(graph: Graph, weight: np.ndarray) -> int:
    """The node with the smallest weighted sum of path lengths to all nodes; of several parts, that of the heaviest.

    Of several such nodes, the first by its coordinates.

    Parameters
    ----------
    <graph>
    weight
        Of each node, (n_nodes,), >= 0.

    Raises
    ------
    TypeError, ValueError
        If weights are not one for each node, finite and from 0 up.

    Examples
    --------
    <example_tree>
    >>> core.median_node(graph, np.array([3, 0, 2, 2]))
    1
    """
    check.instance(graph, "graph", Graph)
    weight = check.vector(weight, "weight", graph.n_nodes, of="nodes")
    if not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError("weight holds NaN, infinite or negative values; wanted finite ones from 0 up.")
    weight = weight / (weight.max(initial=0.0) or 1.0)  # so that sums are numbers
    if not graph.is_tree:
        part = int(np.bincount(graph.component, weight).argmax())
        nodes = by_coordinates(graph, np.flatnonzero(graph.component == part))
        sums = [graph.distances_from(int(node))[nodes] @ weight[nodes] for node in nodes]
        return int(nodes[np.argmin(sums)])
    start = int(np.argmax(weight))
    order, parent = graph.breadth_first(start)
    weight_below = weight.copy()
    for node in order[:0:-1]:
        weight_below[parent[node]] += weight_below[node]
    half = weight_below[start] / 2
    below = lambda node: np.array([child for child in graph.neighbors(node) if parent[child] == node], dtype=np.int64)
    median, children = start, below(start)
    while (heavier := children[weight_below[children] > half * (1 + _ROUNDING)]).size:  # the side with more than half
        median = int(heavier[0])
        children = below(median)
    # where either side of an edge holds half, both its ends are medians: the first by its coordinates
    medians, beside = [median], [median]
    while beside:
        children = below(beside.pop())
        alike = children[weight_below[children] >= half * (1 - _ROUNDING)].tolist()
        medians, beside = medians + alike, beside + alike
    return int(by_coordinates(graph, np.array(medians))[0])
