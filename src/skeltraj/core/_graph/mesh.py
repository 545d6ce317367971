"""A graph that joins the observations themselves."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .graph import Graph


class Mesh(Graph):
    """A graph whose nodes are the observations, as learned similarities join them.

    Such a graph has loops and forks everywhere, none of which means anything by itself. Therefore it has no tips and no
    forks, and each of its parts counts as one branch: its nodes, starting from the one with the smallest first
    coordinate.
    """

    @cached_property
    def tips(self) -> np.ndarray:
        """None."""
        return np.empty(0, dtype=np.int64)

    @cached_property
    def forks(self) -> np.ndarray:
        """None."""
        return np.empty(0, dtype=np.int64)

    @cached_property
    def branches(self) -> list[np.ndarray]:
        """The nodes of each part that has edges."""
        joined = self._ordered(self.degree > 0)
        part = self.component[joined]
        first = np.sort(np.unique(part, return_index=True)[1])
        return [joined[part == part[i]] for i in first]

    @cached_property
    def branch_edges(self) -> list[np.ndarray]:
        """Numbers of the edges of each part, ascending."""
        branch = np.full(self.n_nodes, -1)
        for i, nodes in enumerate(self.branches):
            branch[nodes] = i
        part = branch[self.edges[:, 0]]
        ends = np.cumsum(np.bincount(part, minlength=len(self.branches)))
        return np.split(np.argsort(part, kind="stable"), ends[:-1]) if len(ends) else []
