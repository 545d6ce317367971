"""The consensus of a tree and its replicates: the tree without what most of them lack."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from skeltraj.core._graph.graph import Graph

from .comparison import Comparison, TreeWithPoints, division
from .overlap import jaccard
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

    def overlap(branch: Branch, replicate: Comparison) -> float:
        return _best_overlap(np.isin(edge, branch.edges), replicate.branch)

    def agreement(branch: Branch, replicate: Comparison) -> float:
        return _best_agreement(division(tree.graph, branch.edges, edge), replicate.divisions)

    while True:
        terminal, internal = left.branches()
        # 1. branches that end in a tip go one by one, and their points move
        if (lost := _worst(terminal, replicates, overlap)) is not None:
            left.drop(lost)
            moved = np.isin(edge, lost.edges)
            edge[moved] = left.edge[moved]
        # 2. then forks become one, one pair after another
        elif (lost := _worst(internal, replicates, agreement)) is not None:
            left.merge(lost)
            # all other points stay where the tree had them, though the fork, now elsewhere, would draw some away
            edge[np.isin(edge, lost.edges)] = -1
        else:
            return left.finish()


def _worst(
    branches: list[Branch], replicates: Sequence[Comparison], index: Callable[[Branch, Comparison], float]
) -> Branch | None:
    """Of the branches that fewer than half of the replicates have, that with the smallest mean index."""
    if not branches:
        return None
    indices = np.array([[index(branch, replicate) for replicate in replicates] for branch in branches])
    doubtful = np.flatnonzero((indices > 0.5).mean(axis=1) < 0.5)
    return branches[doubtful[indices[doubtful].mean(axis=1).argmin()]] if len(doubtful) else None


def _best_overlap(on: np.ndarray, branch: np.ndarray) -> float:
    """The largest Jaccard index of some points with a branch of a replicate."""
    return float(jaccard(on.astype(np.int64), branch, 2, int(branch.max()) + 1)[1].max())


def _best_agreement(mine: np.ndarray, divisions: list[np.ndarray]) -> float:
    """The largest, over divisions, of the smaller Jaccard index of the two sides."""
    best = 0.0
    for theirs in divisions:
        (a, b), (c, d) = jaccard(mine, theirs, 3, 3)[:2, :2]
        best = max(best, min(a, d), min(b, c))
    return best
