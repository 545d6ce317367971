"""How well the parts of a tree are found in other trees of the same points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._branches.comparison import Comparison, TreeWithPoints, compare
from skeltraj.core._data.sample import drawn
from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.position import locate
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing, ordered_map

_MAX_SAMPLE = 2000  # points by which edges are compared and the consensus is made; chosen by eye


@dataclass(frozen=True, repr=False, eq=False)
class Support(Printed):
    """How well parts of a tree are found in other trees.

    Parameters
    ----------
    branch_support
        Of each branch, in the order of ``graph.branches``, mean over the other trees, (n_branches,). For a branch that
        ends in a tip: how well its points separate from all others there, wherever they do so. For a branch between two
        forks on which hardly any point lies: how well the points on its two sides are kept apart. For other branches:
        as `branch_overlap`.
    branch_found
        The share of the other trees in which that is above 1/2, (n_branches,).
    branch_overlap
        The largest Jaccard index of each branch with a branch of the other tree (points on both over points on either),
        mean over the other trees, (n_branches,).
    fork_support
        For each fork, in the order of ``graph.forks``: the share of the other trees with a fork that divides the points
        in the same way, (n_forks,).
    fork_triplets
        For each fork: the share of triplets of points from its sides that also separate in the other tree, wherever
        they do so, mean over the other trees, (n_forks,).
    edge_support
        For each edge: how well it is found as a split of the points, mean over the other trees, (n_edges,).
    """

    branch_support: np.ndarray
    branch_found: np.ndarray
    branch_overlap: np.ndarray
    fork_support: np.ndarray
    fork_triplets: np.ndarray
    edge_support: np.ndarray


@shared_texts
@computing()
def support(graph: Graph, points: np.ndarray, others: Sequence[tuple[Graph, np.ndarray]]) -> Support:
    """How well the parts of a tree are found in other trees of the same points, as from other starts.

    Trees are compared by where the points lie on them, so their spaces may differ. For the meaning of the numbers, see
    `stability`.

    Parameters
    ----------
    <graph>
    points
        The points in the space of its nodes, (n, n_components).
    others
        At least one other tree with the same points, in the same order, in the space of its own nodes, (n, any).

    Raises
    ------
    ValueError
        If a skeleton is not one tree, there is no other, or it has another number of points.

    Examples
    --------
    <example_tree>
    >>> other = core.Graph(np.array([[0, 0], [1.9, 0], [3, 1], [3, -1]]), graph.edges)
    >>> result = core.support(graph, points, [(other, points)])
    >>> (result.branch_support > 0.5).tolist(), result.branch_found.tolist()
    ([True, True, True], [1.0, 1.0, 1.0])
    """
    check.instance(graph, "graph", Graph)
    if not isinstance(others, Sequence) or not all(isinstance(other, tuple) and len(other) == 2 for other in others):
        raise TypeError(
            f"others={check.in_message(others)} is a {type(others).__name__}; wanted pairs of a graph and points."
        )
    if not len(others):
        raise ValueError("others holds no tree; wanted at least one.")
    points = check.finite(check.coordinates(points, "points"), "points")
    others = [(tree, check.coordinates(there, f"others[{i}]'s points")) for i, (tree, there) in enumerate(others)]
    for i, (tree, there) in enumerate([(graph, points), *others]):
        name = "the skeleton" if i == 0 else f"the skeleton others[{i - 1}]"
        if not check.instance(tree, name, Graph).is_tree:
            raise ValueError(f"{name} has {tree.n_loops} loop(s) and {tree.n_parts} part(s); wanted one tree.")
        if len(there) != len(points):
            raise ValueError(f"{name} has {len(there)} points; wanted {len(points)}, as many as the first.")
    mine = TreeWithPoints(graph, locate(graph, points), sample_of(points))

    def compared(other: tuple[Graph, np.ndarray]) -> Comparison:
        return compare(mine, TreeWithPoints(other[0], locate(*other), mine.sample), np.arange(0))

    return mean_support(ordered_map(compared, others))


def mean_support(comparisons: Sequence[Comparison]) -> Support:
    """The means over comparisons of a tree with others."""

    def mean(name: str) -> np.ndarray:
        return np.mean([getattr(comparison, name) for comparison in comparisons], axis=0)

    return Support(
        branch_support=mean("branch_support"),
        branch_found=np.mean([comparison.branch_support > 0.5 for comparison in comparisons], axis=0),
        branch_overlap=mean("branch_overlap"),
        fork_support=mean("fork_found"),
        fork_triplets=mean("fork_triplets"),
        edge_support=mean("edge_support"),
    )


def sample_of(points: np.ndarray) -> np.ndarray:
    """Numbers of the points by which splits are compared, in an order that depends on their values alone."""
    return drawn(points, _MAX_SAMPLE, float(np.sqrt(np.mean(points**2))) or 1.0)
