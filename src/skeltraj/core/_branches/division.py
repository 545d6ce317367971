"""Points divided among the branches of a tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.position import Position
from skeltraj.core._graph.sides import Sides

# A branch between two forks on which a smaller share of the points lies is a bridge. Chosen by eye.
_FEW = 0.01


@dataclass(frozen=True, eq=False)
class Division:
    """The branch of each of n points, and how the branches hang together.

    Parameters
    ----------
    branch
        Number of the branch on which each point lies, (n,).
    n_branches
        How many branches there are.
    ends
        The nodes at the two ends of each branch, by any numbers, (n_branches, 2); None: a line, or not known.
    """

    branch: np.ndarray
    n_branches: int
    ends: np.ndarray | None = None

    @property
    def bridges(self) -> np.ndarray:
        """Numbers of the branches between two forks on which hardly any point lies; see `bridges`."""
        if self.ends is None:
            return np.empty(0, dtype=np.int64)
        inner = self._tree.degree[self._tree.edges].min(axis=1) > 2
        return bridges(inner, np.bincount(self.branch, minlength=self.n_branches))

    @cached_property
    def splits(self) -> np.ndarray:
        """For each branch, cut in two, which points lie on its one side, (n_branches, n)."""
        return Sides(self._tree).below(self._position)

    @cached_property
    def cuts(self) -> np.ndarray:
        """For each branch, cut off at either end, which points lie on its one side, (n_cuts, n)."""
        if self.ends is None:
            return np.empty((0, len(self.branch)), dtype=bool)
        return Sides(self._tree).cuts(self._position)

    @cached_property
    def _tree(self) -> Graph:
        """The branches as edges."""
        assert self.ends is not None
        nodes, ends = np.unique(self.ends, return_inverse=True)
        return Graph(np.zeros((len(nodes), 1)), ends.reshape(-1, 2))

    @property
    def _position(self) -> Position:
        n = len(self.branch)
        return Position(self.branch, np.full(n, 0.5), np.zeros(n))


def bridges(inner: np.ndarray, n_points: np.ndarray) -> np.ndarray:
    """Numbers of the branches between two forks, `inner`, that hold less than a hundredth of all points.

    As the stretch between two samples of a time course. By its own points nobody would know such a branch again in
    another tree, but by those that it keeps apart.
    """
    return np.flatnonzero(inner & (n_points < _FEW * n_points.sum()))
