"""The branches of a tree that shrinks: they go, or grow together, and are never parted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from copy import copy

import numpy as np

from skeltraj.core._graph.graph import Graph


class GrowingBranches:
    """The branches of a tree, or of several, from which branches go and whose forks become one.

    Parameters
    ----------
    graph
        The tree to begin with.

    Attributes
    ----------
    now
        Of each branch of the tree as it was given, the number of the one of which it is part now, (n_branches,); -1 if
        it is gone. A branch that grows keeps the number of one of its parts.
    paths, edges
        Nodes, ends included, and edges of the branches that are left, by their numbers.
    """

    def __init__(self, graph: Graph) -> None:
        self.now = np.arange(len(graph.branches))
        self.paths, self.edges = dict(enumerate(graph.branches)), dict(enumerate(graph.branch_edges))

    def copy(self) -> GrowingBranches:
        """The branches as they are, to change apart from these."""
        other = copy(self)
        other.now, other.paths, other.edges = self.now.copy(), self.paths.copy(), self.edges.copy()
        return other

    @property
    def ends(self) -> dict[int, tuple[int, int]]:
        """First and last node of each branch."""
        return {number: (int(path[0]), int(path[-1])) for number, path in self.paths.items()}

    @property
    def degree(self) -> Counter[int]:
        """How many branches end at each node."""
        return Counter(end for ends in self.ends.values() for end in ends)

    def drop(self, number: int, fork: int) -> None:
        """Take out a branch that ends at a fork; if two others are left there, they are one from now on."""
        self._take_out(number)
        at_fork = [other for other, ends in self.ends.items() if fork in ends]
        if len(at_fork) == 2:
            number, other = at_fork
            self._grow(number, other, fork)

    def join(self, numbers: list[int], forks: Container[int], node: int) -> None:
        """Take out branches between forks that become one, which is `node` from now on."""
        for number in numbers:
            self._take_out(number)
        for number, ends in self.ends.items():
            if ends[0] in forks or ends[1] in forks:
                path = self.paths[number] = self.paths[number].copy()
                path[[0, -1]] = [node if end in forks else end for end in ends]

    def _take_out(self, number: int) -> None:
        del self.paths[number], self.edges[number]
        self.now[self.now == number] = -1

    def _grow(self, number: int, other: int, fork: int) -> None:
        """The branch goes on in the other, which meets it at what was a fork."""
        path, edges, onward, more = self.paths[number], self.edges[number], self.paths.pop(other), self.edges.pop(other)
        if path[-1] != fork:
            path, edges = path[::-1], edges[::-1]
        if onward[0] != fork:
            onward, more = onward[::-1], more[::-1]
        self.paths[number], self.edges[number] = np.concatenate([path, onward[1:]]), np.concatenate([edges, more])
        self.now[self.now == other] = number
