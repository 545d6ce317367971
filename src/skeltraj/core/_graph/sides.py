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
        order, parent = graph.depth_first(0), graph.breadth_first(0)[1]
        rank = np.empty(graph.n_nodes, dtype=np.int64)
        rank[order] = np.arange(graph.n_nodes)
        size = np.ones(graph.n_nodes, dtype=np.int64)  # of the subtree at each node
        for node in order[:0:-1]:
            size[parent[node]] += size[node]
        a, b = graph.edges[:, 0], graph.edges[:, 1]
        self._is_downward = parent[b] == a  # edges stored from the upper end to the lower
        self._lower_end = np.where(self._is_downward, b, a)
        # in depth-first order the nodes of a subtree follow one another
        self._first_rank = rank[self._lower_end]
        self._last_rank = self._first_rank + size[self._lower_end]

    def below(self, position: Position) -> np.ndarray:
        """For each edge, the points below its middle, (n_edges, n)."""
        rank = self._first_rank[position.edge]
        below = (rank >= self._first_rank[:, None]) & (rank < self._last_rank[:, None])
        downward = np.where(self._is_downward[position.edge], position.fraction, 1 - position.fraction)
        below[position.edge, np.arange(len(rank))] = downward > 0.5
        return below

    def cuts(self, position: Position) -> np.ndarray:
        """The points below each place next to a node where an edge can be cut, (n_cuts, n).

        Each edge is cut at its upper end, so that the points on it are below; and at its lower end if that is a fork.
        (At the lower end of other edges, the next edge is cut, or nothing is below.)
        """
        rank = self._first_rank[position.edge]
        below = (rank >= self._first_rank[:, None]) & (rank < self._last_rank[:, None])
        above_fork = np.flatnonzero(self._graph.degree[self._lower_end] > 2)
        return np.concatenate([below, below[above_fork] & (position.edge != above_fork[:, None])])

    def around(self, fork: int, position: Position) -> np.ndarray:
        """The side of a fork on which each point lies: which of the edges at the fork leads to it, (n,)."""
        rank = self._first_rank[position.edge]
        side = np.zeros(len(rank), dtype=np.int64)
        incident = np.flatnonzero((self._graph.edges == fork).any(axis=1))
        for i, edge in enumerate(incident):
            on_side = (rank >= self._first_rank[edge]) & (rank < self._last_rank[edge])  # on the edge itself, or below
            if self._lower_end[edge] == fork:
                on_side = ~on_side | (position.edge == edge)
            side[on_side] = i
        return side
