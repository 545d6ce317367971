"""A tree from which branches go, with points on it."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skeltraj.core._graph.along_branches import along_line
from skeltraj.core._graph.graph import Graph, edge_lengths
from skeltraj.core._graph.position import on_edges

from .growing_branches import GrowingBranches


@dataclass(frozen=True)
class Branch:
    """A branch that may go: a terminal one, from its tip on, or an internal one, between two forks.

    Parameters
    ----------
    path, edges
        Its nodes, ends included, and its edges, by their numbers in the tree as it was given.
    length
        The sum of its edges' lengths.
    n_points
        Points that lie on it.
    """

    path: np.ndarray
    edges: np.ndarray
    length: float
    n_points: int


class ShrinkingTree:
    """A tree, or several, that shrinks, with the edges on which points lie.

    Parameters
    ----------
    graph
        Tree to begin with.
    points
        In the space of its nodes, (n, n_components).
    counts
        How often each of them counts, (n,); None: once.

    Attributes
    ----------
    nodes, edges
        Of the tree as it was given; merged nodes have their new place, and edges the node that is left of these.
    live
        Which edges are left, (n_edges,).
    edge
        The edge of each point, (n,).
    first_branch
        Number of the branch of each edge in the tree as it was given, (n_edges,).
    """

    def __init__(self, graph: Graph, points: np.ndarray, counts: np.ndarray | None = None) -> None:
        self._points, self._counts = points, counts
        self._merged_into = np.arange(graph.n_nodes)  # for each node the one that stands for it; -1: gone
        self.nodes, self.edges, self.first_branch = graph.nodes.copy(), graph.edges.copy(), graph.branch_of_edge
        self._left, self._length = GrowingBranches(graph), graph.edge_length
        self.edge, self._squared = np.empty(len(points), dtype=np.int64), np.empty(len(points))
        self._move(np.arange(len(points)))

    def copy(self) -> ShrinkingTree:
        """The tree as it is, to shrink apart from this one."""
        other = copy(self)
        other.nodes, other.edges, other.edge = self.nodes.copy(), self.edges.copy(), self.edge.copy()
        other._merged_into, other._squared = self._merged_into.copy(), self._squared.copy()
        other._left = self._left.copy()
        return other

    # what follows is forgotten when the tree shrinks
    @cached_property
    def branch(self) -> np.ndarray:
        """Number of the branch of each edge, (n_edges,); -1 for those that are gone."""
        return self._left.now[self.first_branch]

    @cached_property
    def live(self) -> np.ndarray:
        """Which edges are left, (n_edges,)."""
        return self.branch >= 0

    def number(self, branch: Branch) -> int:
        """Number of a branch."""
        return int(self._left.now[self.first_branch[branch.edges[0]]])

    @property
    def grown(self) -> tuple[np.ndarray, np.ndarray]:
        """The branches of the tree as it was given that are left, and those that they are part of now, by number.

        Branches grow together as others go, but no branch is ever parted.
        """
        first = np.flatnonzero(self._left.now >= 0)
        return first, self._left.now[first]

    @cached_property
    def branches(self) -> tuple[list[Branch], list[Branch]]:
        """Terminal branches, from their tips to a fork, and internal ones, in the order of a graph's branches."""
        on, left = self.branch[self.live], self._left
        n_points = np.bincount(self.edge, self._counts, len(self.edges))[self.live]
        lengths, n_on = np.bincount(on, self._length[self.live]), np.bincount(on, n_points)
        degree = left.degree
        place = {node: (*self.nodes[node].tolist(), node) for node in degree}
        ends = {number: sorted(both, key=place.__getitem__) for number, both in left.ends.items()}
        terminal, internal = [], []
        for number in sorted(ends, key=lambda number: [place[node] for node in ends[number]]):
            begin, end = ends[number]
            if degree[end] == 1:
                begin, end = end, begin
            path, edges = left.paths[number], left.edges[number]
            if path[0] != begin:
                path, edges = path[::-1], edges[::-1]
            branch = Branch(path, edges, float(lengths[number]), int(n_on[number]))
            if degree[begin] > 2 and degree[end] > 2:
                internal.append(branch)
            elif degree[begin] == 1 and degree[end] > 2:
                terminal.append(branch)
        return terminal, internal

    @property
    def line(self) -> np.ndarray | None:
        """Where each point lies along the tree, (n,); None unless that is one line."""
        used, edges = np.unique(self.edges[self.live], return_inverse=True)
        return along_line(Graph(self.nodes[used], edges.reshape(-1, 2)), self._points)

    def drop(self, branch: Branch) -> np.ndarray:
        """Take out a terminal branch; gives which edges are gone, (n_edges,)."""
        self._left.drop(self.number(branch), int(branch.path[-1]))
        self._stand_for(branch.path[:-1], -1)
        self._forget()
        self._move_from(~self.live)
        return ~self.live

    def merge(self, branch: Branch) -> np.ndarray:
        """Make the two forks at the ends of an internal branch one, at the mean of its nodes.

        Gives which edges are elsewhere now or gone, (n_edges,).
        """
        changed = self._join([branch])
        self._move_from(changed)
        return changed

    def between_near_forks(self, resolution: float) -> Branch | None:
        """The branch between the two nearest forks, if they are less than `resolution` apart."""
        shortest = min(self.branches[1], key=lambda branch: branch.length, default=None)
        return None if shortest is None or shortest.length >= resolution else shortest

    def merge_at_once(self, between: list[Branch]) -> None:
        """Make the forks at the ends of each of these internal branches one; of branches that meet, all together."""
        changed = np.zeros(len(self.edges), dtype=bool)
        for meeting in _meeting(between):
            changed |= self._join(meeting)
        self._move_from(changed)

    def _join(self, meeting: list[Branch]) -> np.ndarray:
        """Make the nodes of branches that meet one, at their mean; which edges are elsewhere now or gone."""
        # means in an order that does not depend on how nodes are numbered
        path = list(dict.fromkeys(node for branch in meeting for node in branch.path.tolist()))
        node, at_path = min(path), self._among(path)[self.edges]
        self._left.join([self.number(branch) for branch in meeting], set(path), node)
        self.nodes[node] = self.nodes[path].mean(axis=0)
        self.edges[at_path] = node
        self._stand_for(path, node)
        self._length = edge_lengths(self.nodes, self.edges)
        self._forget()
        return at_path[:, 0] | at_path[:, 1]

    def _among(self, nodes: np.ndarray | list[int]) -> np.ndarray:
        """Whether each node is among these, (n_nodes,)."""
        among = np.zeros(len(self.nodes), dtype=bool)
        among[nodes] = True
        return among

    def _stand_for(self, nodes: np.ndarray | list[int], node: int) -> None:
        """From now on `node` stands for those for which these do; -1: they are gone."""
        kept = np.flatnonzero(self._merged_into >= 0)
        self._merged_into[kept[self._among(nodes)[self._merged_into[kept]]]] = node

    def _forget(self) -> None:
        for made in ("branch", "live", "branches"):
            self.__dict__.pop(made, None)

    def finish(self) -> tuple[Graph, np.ndarray]:
        """The tree that is left, and for each node of the tree as it was given its number there, -1 if it is gone."""
        kept = np.unique(self._merged_into[self._merged_into >= 0])
        number = np.where(self._merged_into >= 0, np.searchsorted(kept, self._merged_into), -1)
        return Graph(self.nodes[kept], np.searchsorted(kept, self.edges[self.live])), number

    def _move(self, chosen: np.ndarray) -> None:
        """Put the chosen points on the nearest live edge."""
        if len(chosen):
            self.edge[chosen], self._squared[chosen] = self._nearest(chosen, self.live)

    def _move_from(self, changed: np.ndarray) -> None:
        """Put points on the nearest live edge where some edges are elsewhere than before, (n_edges,)."""
        moving = changed[self.edge]
        self._move(np.flatnonzero(moving))
        elsewhere = changed & self.live
        if elsewhere.any() and not moving.all():
            others = np.flatnonzero(~moving)
            edge, squared = self._nearest(others, elsewhere)
            before = self._squared[others]
            nearer = (squared < before) | ((squared == before) & (edge < self.edge[others]))
            self.edge[others[nearer]], self._squared[others[nearer]] = edge[nearer], squared[nearer]

    def _nearest(self, chosen: np.ndarray, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest of some edges for each of the chosen points, the first of equally near ones; the squares."""
        edge, _, squared = on_edges(self._points[chosen], self.nodes, self.edges, np.flatnonzero(among))
        return edge, squared


def _meeting(branches: list[Branch]) -> list[list[Branch]]:
    """Internal branches in groups of those that meet at forks, one with the next."""
    groups: list[tuple[set[int], list[Branch]]] = []
    for branch in branches:
        forks = {int(branch.path[0]), int(branch.path[-1])}
        met = [group for group in groups if not forks.isdisjoint(group[0])]
        groups = [group for group in groups if forks.isdisjoint(group[0])]
        groups.append((forks.union(*(group[0] for group in met)), [*(b for group in met for b in group[1]), branch]))
    return [group for _, group in groups]
