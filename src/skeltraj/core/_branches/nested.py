"""The trees through which pruning passes, from one with all branches to a line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skeltraj.core._graph.graph import Graph

from .division import Division
from .held_out import HeldOut
from .prune import in_one_order
from .shrinking_tree import Branch, ShrinkingTree


@dataclass(frozen=True, eq=False)
class Nested:
    """One of the trees through which pruning passes, with a given number of tips.

    Parameters
    ----------
    branch
        Number of the branch on which each point lies, (n,), in the order in which the points were given.
    n_branches
        How many branches there are.
    gain
        Of the branch that goes next; NaN for a line.
    line
        Where each point lies along a line, (n,); None of other trees.
    ends
        The nodes at the two ends of each branch, (n_branches, 2); None of a line.
    """

    branch: np.ndarray
    n_branches: int
    gain: float
    line: np.ndarray | None = None
    ends: np.ndarray | None = None

    @property
    def division(self) -> Division:
        """The points divided among the branches."""
        return Division(self.branch, self.n_branches, self.ends)


def nested_trees(
    graph: Graph, points: np.ndarray, data: np.ndarray, *, resolution: float = 0.0, most: int = 20
) -> dict[int, Nested]:
    """What `prune` leaves of a tree, by the number of tips: as many as it has, or `most`, down to 2.

    Parameters
    ----------
    graph, points, data, resolution
        As in `prune`.
    most
        Most tips of a tree that is given back.
    """
    ordered, data, order = in_one_order(graph, points, data)
    tree = ShrinkingTree(graph, ordered)
    judge = HeldOut(tree, data)
    left: dict[int, Nested] = {}
    while True:
        terminal, internal = tree.branches
        gain = judge.gain(terminal)
        n_tips = max(2, len(terminal))
        if n_tips <= most:
            near = [branch for branch in internal if branch.length < resolution]
            merged = _merged(tree, near) if near else tree
            branches = [branch for kind in merged.branches for branch in kind]
            on, n_branches = _branch_of_points(merged, branches)
            ends = np.array([branch.path[[0, -1]] for branch in branches]) if n_branches == len(branches) else None
            branch = np.empty_like(on)
            branch[order] = on
            line = None if terminal else tree.line
            if line is not None:
                line[order] = line.copy()
            left[n_tips] = Nested(branch, n_branches, float(gain.min()) if terminal else np.nan, line, ends)
        if not terminal:
            return left
        weakest = terminal[int(np.argmin(gain))]
        judge.shrunk(tree.drop(weakest))


def _merged(tree: ShrinkingTree, near: list[Branch]) -> ShrinkingTree:
    """The tree once near forks are one."""
    merged = tree.copy()
    merged.merge_at_once(near)
    return merged


def _branch_of_points(tree: ShrinkingTree, branches: list[Branch]) -> tuple[np.ndarray, int]:
    """The number of the branch of each point, among these; lines, which have no forks, are one."""
    number = np.full(len(tree.edges), len(branches))
    for i, branch in enumerate(branches):
        number[branch.edges] = i
    on = number[tree.edge]
    return on, len(branches) + int(len(branches) == 0 or (on == len(branches)).any())
