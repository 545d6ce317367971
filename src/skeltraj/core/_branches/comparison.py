"""Two trees compared by where the same points lie on them, since their spaces differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.order import median_node
from skeltraj.core._graph.position import Position
from skeltraj.core._graph.sides import Sides

from .overlap import jaccard, transfer_support


class TreeWithPoints:
    """A tree with n points on it.

    Parameters
    ----------
    graph
        The tree.
    position
        Positions of the points on it.
    sample
        Numbers of the points by which edges and divisions are compared, (n_sample,).

    Attributes
    ----------
    branch
        The branch of each point, (n,).
    forks
        For each fork, the side on which each point lies, (n,), and the number of sides.
    splits
        For each edge, which points of the sample lie on its one side, (n_edges, n_sample).
    """

    def __init__(self, graph: Graph, position: Position, sample: np.ndarray) -> None:
        self.graph, self.position, self.sample = graph, position, sample
        sides = Sides(graph)
        self.branch = graph.branch_of_edge[position.edge]
        self.forks = [(sides.around(int(fork), position), int(graph.degree[fork])) for fork in graph.forks]
        self.splits = sides.below(position.part(sample))

    def divisions(self) -> list[np.ndarray]:
        """What each internal branch, one between two forks, keeps apart; see `division`."""
        internal = [path for path in self.graph.branches if self.graph.degree[path[[0, -1]]].min() > 2]
        edge = self.position.edge[self.sample]
        return [division(self.graph, self.graph.edges_along(path), edge) for path in internal]


@dataclass(frozen=True)
class Comparison:
    """How parts of a tree are found again in another.

    Parameters
    ----------
    branch_overlap
        The largest Jaccard index of each branch of the tree with a branch of the other, (n_branches,).
    matched_branch
        The branch of the tree that each point is on by the other: that which its branch there is matched to, (n,); -1
        if to none.
    fork_found
        Whether the other has a fork that divides the points as each fork of the tree does, 0 or 1, (n_forks,).
    edge_support
        How well each edge is found as a split of the sampled points, (n_edges,).
    pseudotime
        Of each point on the other tree, (n,).
    branch
        The branch of the other tree on which each sampled point lies, (n_sample,).
    divisions
        What the other's internal branches keep apart, of the sampled points.
    """

    branch_overlap: np.ndarray
    matched_branch: np.ndarray
    fork_found: np.ndarray
    edge_support: np.ndarray
    pseudotime: np.ndarray
    branch: np.ndarray
    divisions: list[np.ndarray]


def compare(tree: TreeWithPoints, other: TreeWithPoints, near_root: np.ndarray) -> Comparison:
    """Find the parts of a tree in another with the same points; `near_root` are points that say where its root is."""
    overlap = jaccard(tree.branch, other.branch, len(tree.graph.branches), len(other.graph.branches))
    match = np.where(overlap.max(axis=0) > 0.5, overlap.argmax(axis=0), -1)
    nearest_node = other.position.nearest_end(other.graph)[near_root]
    root = median_node(other.graph, np.bincount(nearest_node, minlength=other.graph.n_nodes))
    fork_found = [any(_same_fork(*fork, *candidate) for candidate in other.forks) for fork in tree.forks]
    return Comparison(
        branch_overlap=overlap.max(axis=1),
        matched_branch=match[other.branch],
        fork_found=np.array(fork_found, dtype=np.float64),
        edge_support=transfer_support(tree.splits, other.splits),
        pseudotime=other.position.distances_from(other.graph, root),
        branch=other.branch[other.sample],
        divisions=other.divisions(),
    )


def _same_fork(mine: np.ndarray, n_mine: int, theirs: np.ndarray, n_theirs: int) -> bool:
    """Whether three sides of two forks are alike; no side can be like two."""
    return bool((jaccard(mine, theirs, n_mine, n_theirs) > 0.5).sum() >= 3)


def division(graph: Graph, internal: np.ndarray, edge: np.ndarray) -> np.ndarray:
    """Points on the one side of an internal branch (0), on the other (1), on the branch itself or at no edge (2), (n,).

    Parameters
    ----------
    graph
        The tree.
    internal
        Edges of the branch.
    edge
        The edge of each point, (n,); -1: none.
    """
    others = np.setdiff1d(np.arange(len(graph.edges)), internal)
    part = Graph(graph.nodes, graph.edges[others]).component[graph.edges[edge, 0]]
    beside = np.isin(edge, others)
    side = np.full(len(edge), 2)
    for i, label in enumerate(np.unique(part[beside])):
        side[beside & (part == label)] = i
    return side
