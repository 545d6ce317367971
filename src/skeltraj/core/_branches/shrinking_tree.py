"""A tree from which branches go, with points on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.position import on_edges


@dataclass(frozen=True)
class Piece:
    """A branch, from its tip, that might go; or the way between two forks."""

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
    """

    def __init__(self, graph: Graph, points: np.ndarray) -> None:
        self._points = points
        self._into = np.arange(graph.n_nodes)  # the node into which each was merged; -1: gone
        self.nodes, self.edges = graph.nodes.copy(), graph.edges.copy()
        self.live = np.ones(len(self.edges), dtype=bool)
        self.edge = np.empty(len(points), dtype=np.int64)  # of each point, by its number in the tree as it was given
        self._move(np.arange(len(points)))

    def pieces(self) -> tuple[list[Piece], list[Piece]]:
        """Branches that end in a tip, and ways between two forks."""
        left = np.flatnonzero(self.live)
        graph = Graph(self.nodes, self.edges[left])
        with_tip, between = [], []
        for path in graph.branches:
            if graph.degree[path[-1]] == 1:
                path = path[::-1]
            first, last = graph.degree[path[0]], graph.degree[path[-1]]
            along = graph.edges_along(path)
            edges, length = left[along], float(graph.edge_length[along].sum())
            piece = Piece(path, edges, length, int(np.isin(self.edge, edges).sum()))
            if first > 2 and last > 2:
                between.append(piece)
            elif first == 1 and last > 2:
                with_tip.append(piece)
        return with_tip, between

    def without(self, edges: np.ndarray) -> np.ndarray:
        """Which edges would be left, (n_edges,)."""
        live = self.live.copy()
        live[edges] = False
        return live

    def drop(self, out: Piece) -> None:
        """Take out a branch that ends in a tip."""
        self.live = self.without(out.edges)
        self._into[np.isin(self._into, out.path[:-1])] = -1
        self._move(np.flatnonzero(np.isin(self.edge, out.edges)))

    def merge(self, out: Piece) -> None:
        """Make one of two forks, at the mean of the nodes between them."""
        one = out.path.min()
        self.live = self.without(out.edges)
        self.nodes[one] = self.nodes[out.path].mean(axis=0)
        self.edges[np.isin(self.edges, out.path)] = one
        self._into[np.isin(self._into, out.path)] = one
        self._move(np.arange(len(self._points)))

    def _move(self, chosen: np.ndarray) -> None:
        if len(chosen):
            left = np.flatnonzero(self.live)
            self.edge[chosen] = left[on_edges(self._points[chosen], self.nodes, self.edges[left])[0]]

    def finish(self) -> tuple[Graph, np.ndarray]:
        """The tree that is left, and for each node of the tree as it was given its number there, -1 if it is gone."""
        kept = np.unique(self._into[self._into >= 0])
        place = np.where(self._into >= 0, np.searchsorted(kept, self._into), -1)
        return Graph(self.nodes[kept], np.searchsorted(kept, self.edges[self.live])), place
