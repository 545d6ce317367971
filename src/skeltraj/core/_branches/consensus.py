"""The consensus of a tree and its replicates: the tree without what most of them lack."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from skeltraj.core._graph.graph import Graph

from .comparison import Comparison, TreeWithPoints, division, outer_cuts
from .overlap import arm_support, jaccard
from .shrinking_tree import Branch, ShrinkingTree


def consensus(tree: TreeWithPoints, replicates: Sequence[Comparison], points: np.ndarray) -> tuple[Graph, np.ndarray]:
    """What is left of the tree, and for each of its nodes the number there, -1 if it is gone.

    Parameters
    ----------
    tree
        The tree, with all points on it.
    replicates
        It compared with each replicate.
    points
        The sampled points, (n_sample, n_components).
    """
    left = ShrinkingTree(tree.graph, points)
    edge = left.edge.copy()  # of each point; -1: at a fork

    known: dict[bytes, np.ndarray] = {}  # the support of an arm in each replicate, by its points

    def as_arms(branches: list[Branch]) -> np.ndarray:
        cuts = [outer_cuts(branch.edges, edge) for branch in branches]
        new = {part.tobytes(): part for part in cuts if part.tobytes() not in known}
        if new:
            support = np.array([arm_support(list(new.values()), replicate.cuts) for replicate in replicates])
            known.update(zip(new, support.T, strict=True))
        return np.array([known[part.tobytes()] for part in cuts])

    def as_divisions(branches: list[Branch]) -> np.ndarray:
        mine = [division(tree.graph, branch.edges, edge) for branch in branches]
        return np.array([[_best_agreement(part, replicate.divisions) for replicate in replicates] for part in mine])

    while True:
        terminal, internal = left.branches
        # 1. branches that end in a tip go one by one, and their points move
        if (lost := _worst(terminal, as_arms)) is not None:
            left.drop(lost)
            moved = np.isin(edge, lost.edges)
            edge[moved] = left.edge[moved]
        # 2. then forks become one, one pair after another
        elif (lost := _worst(internal, as_divisions)) is not None:
            left.merge(lost)
            # all other points stay where the tree had them, though the fork, now elsewhere, would draw some away
            edge[np.isin(edge, lost.edges)] = -1
        else:
            return left.finish()


def _worst(branches: list[Branch], indices_of: Callable[[list[Branch]], np.ndarray]) -> Branch | None:
    """Of the branches that fewer than half of the replicates have, that with the smallest mean index."""
    if not branches:
        return None
    indices = indices_of(branches)
    doubtful = np.flatnonzero((indices > 0.5).mean(axis=1) < 0.5)
    return branches[doubtful[indices[doubtful].mean(axis=1).argmin()]] if len(doubtful) else None


def _best_agreement(mine: np.ndarray, divisions: list[np.ndarray]) -> float:
    """The largest, over divisions, of the smaller Jaccard index of the two sides."""
    best = 0.0
    for theirs in divisions:
        (a, b), (c, d) = jaccard(mine, theirs, 3, 3)[:2, :2]
        best = max(best, min(a, d), min(b, c))
    return best
