"""A tree from which branches go, with points on it."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skeltraj.core._graph.along_branches import along_line
from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.position import on_edges


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
        self.nodes, self.edges = graph.nodes.copy(), graph.edges.copy()
        self.live = np.ones(len(self.edges), dtype=bool)
        self.first_branch = self.branch
        self.edge, self._squared = np.empty(len(points), dtype=np.int64), np.empty(len(points))
        self._move(np.arange(len(points)))

    def copy(self) -> ShrinkingTree:
        """The tree as it is, to shrink apart from this one."""
        other = copy(self)
        other.nodes, other.edges, other.live, other.edge = (
            values.copy() for values in (self.nodes, self.edges, self.live, self.edge)
        )
        other._merged_into, other._squared = self._merged_into.copy(), self._squared.copy()
        return other

    # what follows is forgotten when the tree shrinks
    @cached_property
    def branch(self) -> np.ndarray:
        """Number of the branch of each edge, (n_edges,); -1 for those that are gone."""
        branch = np.full(len(self.edges), -1)
        branch[self.live] = self._graph.branch_of_edge
        return branch

    @cached_property
    def grown(self) -> tuple[np.ndarray, np.ndarray]:
        """The branches of the tree as it was given that are left, and those that they are part of now, by number.

        Branches grow together as others go, but no branch is ever parted.
        """
        live = np.flatnonzero(self.live)
        first, at = np.unique(self.first_branch[live], return_index=True)
        return first, self.branch[live[at]]

    @cached_property
    def _graph(self) -> Graph:
        return Graph(self.nodes, self.edges[self.live])

    @cached_property
    def branches(self) -> tuple[list[Branch], list[Branch]]:
        """Terminal branches, from their tips to a fork, and internal ones."""
        graph, live = self._graph, np.flatnonzero(self.live)
        on, n_points = graph.branch_of_edge, np.bincount(self.edge, self._counts, len(self.edges))[live]
        lengths, n_on = np.bincount(on, graph.edge_length).tolist(), np.bincount(on, n_points).tolist()
        degree = graph.degree.tolist()
        terminal, internal = [], []
        for path, along, length, n in zip(graph.branches, graph.branch_edges, lengths, n_on, strict=True):
            first, last = degree[path[0]], degree[path[-1]]
            if last == 1:
                path, along, first, last = path[::-1], along[::-1], last, first
            branch = Branch(path, live[along], length, int(n))
            if first > 2 and last > 2:
                internal.append(branch)
            elif first == 1 and last > 2:
                terminal.append(branch)
        return terminal, internal

    @property
    def line(self) -> np.ndarray | None:
        """Where each point lies along the tree, (n,); None unless that is one line."""
        used, edges = np.unique(self.edges[self.live], return_inverse=True)
        return along_line(Graph(self.nodes[used], edges.reshape(-1, 2)), self._points)

    def drop(self, branch: Branch) -> np.ndarray:
        """Take out a terminal branch; gives which edges are gone, (n_edges,)."""
        self._take_out(branch.edges)
        self._merged_into[np.isin(self._merged_into, branch.path[:-1])] = -1
        self._move_from(~self.live)
        return ~self.live

    def merge(self, branch: Branch) -> np.ndarray:
        """Make the two forks at the ends of an internal branch one, at the mean of its nodes.

        Gives which edges are elsewhere now or gone, (n_edges,).
        """
        changed = self._join(branch.path, branch.edges)
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
            path = np.unique(np.concatenate([branch.path for branch in meeting]))
            changed |= self._join(path, np.concatenate([branch.edges for branch in meeting]))
        self._move_from(changed)

    def _join(self, path: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Make nodes one, at their mean, without the edges between them; which edges are elsewhere now or gone."""
        node = path.min()
        at_path = np.isin(self.edges, path)
        self._take_out(edges)
        self.nodes[node] = self.nodes[path].mean(axis=0)
        self.edges[at_path] = node
        self._merged_into[np.isin(self._merged_into, path)] = node
        return at_path[:, 0] | at_path[:, 1]

    def _take_out(self, edges: np.ndarray) -> None:
        self.live = self.live.copy()
        self.live[edges] = False
        for made in ("branch", "grown", "_graph", "branches"):
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
        self._move(np.flatnonzero(changed[self.edge]))
        others = np.flatnonzero(~changed[self.edge])
        if (changed & self.live).any() and len(others):
            edge, squared = self._nearest(others, changed & self.live)
            before = self._squared[others]
            nearer = (squared < before) | ((squared == before) & (edge < self.edge[others]))
            self.edge[others[nearer]], self._squared[others[nearer]] = edge[nearer], squared[nearer]

    def _nearest(self, chosen: np.ndarray, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest of some edges for each of the chosen points, the first of equally near ones; the squares."""
        there = np.flatnonzero(among)
        edge, _, squared = on_edges(self._points[chosen], self.nodes, self.edges[there])
        return there[edge], squared


def _meeting(branches: list[Branch]) -> list[list[Branch]]:
    """Internal branches in groups of those that meet at forks, one with the next."""
    groups: list[tuple[set[int], list[Branch]]] = []
    for branch in branches:
        forks = {int(branch.path[0]), int(branch.path[-1])}
        met = [group for group in groups if not forks.isdisjoint(group[0])]
        groups = [group for group in groups if forks.isdisjoint(group[0])]
        groups.append((forks.union(*(group[0] for group in met)), [*(b for group in met for b in group[1]), branch]))
    return [group for _, group in groups]
