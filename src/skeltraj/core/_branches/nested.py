"""The trees through which pruning passes, from one with all branches to a line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skeltraj.core._graph.graph import Graph

from .held_out import HeldOut
from .prune import in_one_order
from .shrinking_tree import ShrinkingTree


@dataclass(frozen=True, eq=False)
class Nested:
    """A tree with so many tips, of those that `prune` leaves.

    Parameters
    ----------
    branch
        Number of the branch on which each point lies, (n,), in the order in which the points were given.
    n_branches
        How many branches there are.
    gain
        Of the branch that goes next; NaN for a line.
    """

    branch: np.ndarray
    n_branches: int
    gain: float


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
        terminal, _ = tree.branches()
        gain = judge.gain(terminal)
        n_tips = max(2, len(terminal))
        if n_tips <= most:
            left[n_tips] = _merged(tree, order, resolution, float(gain.min(initial=np.inf)) if terminal else np.nan)
        if not terminal:
            return left
        weakest = terminal[int(np.argmin(gain))]
        tree.drop(weakest)
        judge.dropped(weakest)


def _merged(tree: ShrinkingTree, order: np.ndarray, resolution: float, gain: float) -> Nested:
    """The tree as it is, its near forks made one."""
    whole = tree.copy()
    whole.merge_all_forks(resolution)
    of_ordered, n_branches = whole.branch_of_point()
    branch = np.empty_like(of_ordered)
    branch[order] = of_ordered
    return Nested(branch, n_branches, gain)
