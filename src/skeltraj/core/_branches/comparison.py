"""Two trees compared by where the same points lie on them, since their spaces differ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.order import median_node
from skeltraj.core._graph.position import Position
from skeltraj.core._graph.sides import Sides

from .division import bridges
from .overlap import arm_support, jaccard, transfer_support, triplet_support


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
        For each edge, cut at its middle, which points of the sample lie on its one side, (n_edges, n_sample).
    """

    def __init__(self, graph: Graph, position: Position, sample: np.ndarray) -> None:
        self.graph, self.position, self.sample = graph, position, sample
        sides = Sides(graph)
        self.branch = graph.branch_of_edge[position.edge]
        self.forks = [(sides.around(int(fork), position), int(graph.degree[fork])) for fork in graph.forks]
        self.splits = sides.below(position.part(sample))
        self._sides = sides

    @cached_property
    def arms(self) -> dict[int, np.ndarray]:
        """For each branch that ends in a tip, by its number, where it is cut; see `outer_cuts`."""
        degree, edge = self.graph.degree, self.position.edge[self.sample]
        arms = {}
        for number, path in enumerate(self.graph.branches):
            inner, outer = sorted(path[[0, -1]], key=lambda node: -degree[node])
            if degree[inner] > 2 and degree[outer] == 1:
                along = self.graph.edges_along(path if path[0] == outer else path[::-1])
                arms[number] = outer_cuts(along, edge)
        return arms

    @cached_property
    def bridges(self) -> dict[int, np.ndarray]:
        """For each branch that is a bridge, by its number, what it keeps apart when cut at any of its edges."""
        paths = self.graph.branches
        inner = np.array([self.graph.degree[path[[0, -1]]].min() > 2 for path in paths], dtype=bool)
        numbers = bridges(inner, np.bincount(self.branch, minlength=len(paths)))
        return {int(number): self.splits[self.graph.edges_along(paths[number])] for number in numbers}

    @cached_property
    def cuts(self) -> np.ndarray:
        """For each cut of an edge at an end or in the middle, which sampled points lie on its one side, (n_cuts, n)."""
        position = self.position.part(self.sample)
        return np.concatenate([self._sides.cuts(position), self._sides.below(position)])

    @cached_property
    def far(self) -> list[list[np.ndarray]]:
        """For each fork, the sampled points of each side that are farther from it than half of that side's are."""
        far = []
        for fork, (side, n_sides) in zip(self.graph.forks, self.forks, strict=True):
            distance = self.position.distances_from(self.graph, int(fork))[self.sample]
            sides = [np.flatnonzero(side[self.sample] == i) for i in range(n_sides)]
            # those at the median itself, of which there may be many at a tip, are among them
            far.append([on[distance[on] >= np.median(distance[on])] if len(on) else on for on in sides])
        return far

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
    branch_support
        Of branches that end in a tip, how well they are found as arms of the other, see `arm_support`; of bridges, the
        same of what they keep apart; of others the same as `branch_overlap`, (n_branches,).
    matched_branch
        The branch of the tree that each point is on by the other: that which its branch there is matched to, (n,); -1
        if to none.
    fork_found
        Whether the other has a fork that divides the points as each fork of the tree does, 0 or 1, (n_forks,).
    fork_triplets
        The share of triplets of sampled points, from the far halves of the sides of each fork, that part in the other,
        (n_forks,).
    edge_support
        How well each edge is found as a split of the sampled points, (n_edges,).
    pseudotime
        Of each point on the other tree, (n,).
    packed_cuts
        For each cut of an edge of the other, which sampled points lie on its one side, eight to a byte.
    n_sample
        Number of sampled points.
    divisions
        What the other's internal branches keep apart, of the sampled points.
    """

    branch_overlap: np.ndarray
    branch_support: np.ndarray
    matched_branch: np.ndarray
    fork_found: np.ndarray
    fork_triplets: np.ndarray
    edge_support: np.ndarray
    pseudotime: np.ndarray
    packed_cuts: np.ndarray
    n_sample: int
    divisions: list[np.ndarray]

    @property
    def cuts(self) -> np.ndarray:
        """For each cut of an edge of the other, which sampled points lie on its one side, (n_cuts, n_sample)."""
        return np.unpackbits(self.packed_cuts, axis=1, count=self.n_sample).view(bool)


def compare(tree: TreeWithPoints, other: TreeWithPoints, near_root: np.ndarray) -> Comparison:
    """Find the parts of a tree in another with the same points; `near_root` are points that say where its root is."""
    overlap = jaccard(tree.branch, other.branch, len(tree.graph.branches), len(other.graph.branches))
    match = np.where(overlap.max(axis=0) > 0.5, overlap.argmax(axis=0), -1)
    nearest_node = other.position.nearest_end(other.graph)[near_root]
    root = median_node(other.graph, np.bincount(nearest_node, minlength=other.graph.n_nodes))
    fork_found = [any(_same_fork(*fork, *candidate) for candidate in other.forks) for fork in tree.forks]
    support = overlap.max(axis=1)
    by_sides = tree.arms | tree.bridges
    support[list(by_sides)] = arm_support(list(by_sides.values()), other.cuts)
    there = [(side[other.sample], n_sides) for side, n_sides in other.forks]
    return Comparison(
        branch_overlap=overlap.max(axis=1),
        branch_support=support,
        matched_branch=match[other.branch],
        fork_found=np.array(fork_found, dtype=np.float64),
        fork_triplets=np.array([triplet_support(far, there) for far in tree.far], dtype=np.float64),
        edge_support=transfer_support(tree.splits, other.splits),
        pseudotime=other.position.distances_from(other.graph, root),
        packed_cuts=np.packbits(other.cuts, axis=1),
        n_sample=len(other.sample),
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


def outer_cuts(edges: np.ndarray, edge: np.ndarray) -> np.ndarray:
    """Points that lie beyond nodes of a branch that ends in a tip, (n_cuts, n): all of its points first.

    It is cut at its fork, and at each node farther out beyond which at least half of its points lie; cuts that no point
    lies between are one.

    Parameters
    ----------
    edges
        Edges of the branch, from its tip on.
    edge
        The edge of each point, (n,); -1: none.
    """
    on = np.isin(edge, edges)
    place = np.full(len(edge), len(edges))
    place[on] = np.argsort(edges)[np.searchsorted(np.sort(edges), edge[on])]
    beyond = np.cumsum(np.bincount(place[on], minlength=len(edges)))  # up to each edge, from the tip
    sizes, first = np.unique(beyond, return_index=True)
    kept = first[sizes >= beyond[-1] / 2][::-1]
    return place <= kept[:, None]
