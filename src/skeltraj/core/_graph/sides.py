"""Which points lie on which side when an edge or a fork of a tree is taken out."""

from __future__ import annotations

import numpy as np

from .graph import Graph
from .position import Position


class Sides:
    """A tree, hung up at its node 0.

    Parameters
    ----------
    graph
        Tree whose edges part its nodes into two sides.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        before, parent = graph.depth_first(0), graph.breadth_first(0)[1]
        rank = np.empty(graph.n_nodes, dtype=np.int64)
        rank[before] = np.arange(graph.n_nodes)
        size = np.ones(graph.n_nodes, dtype=np.int64)
        for node in before[:0:-1]:
            size[parent[node]] += size[node]
        a, b = graph.edges[:, 0], graph.edges[:, 1]
        self._down = parent[b] == a  # edges stored from the upper end to the lower
        self._lower = np.where(self._down, b, a)
        self._first = rank[self._lower]  # nodes under the edge: those of ranks from here
        self._last = self._first + size[self._lower]  # up to here

    def below(self, position: Position) -> np.ndarray:
        """For each edge, the points below its middle, (n_edges, n)."""
        at = self._first[position.edge]
        found = (at >= self._first[:, None]) & (at < self._last[:, None])
        behind = np.where(self._down[position.edge], position.fraction, 1 - position.fraction)
        found[position.edge, np.arange(len(at))] = behind > 0.5
        return found

    def around(self, fork: int, position: Position) -> np.ndarray:
        """The side of a fork on which each point lies: the number, among the edges at the fork, of the edge to it, (n,)."""
        at = self._first[position.edge]
        side = np.zeros(len(at), dtype=np.int64)
        incident = np.flatnonzero((self._graph.edges == fork).any(axis=1))
        for i, edge in enumerate(incident):
            under = (at >= self._first[edge]) & (at < self._last[edge])  # with the edge itself
            if self._lower[edge] == fork:
                under = ~under | (position.edge == edge)
            side[under] = i
        return side
