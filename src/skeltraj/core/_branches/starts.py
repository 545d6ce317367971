"""Which branches of a tree the trees from other starts have as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skeltraj._printing import Printed
from skeltraj.core._graph.along_branches import is_line
from skeltraj.core._graph.graph import Graph

from .division import Division
from .overlap import agreement, arm_support, jaccard

# Starts that agree less than this do not settle the tree. On simulated cells (docs/methods/support_measured.md): where
# the tree was right, 21 of 23 had 0.84 to 1; where it was wrong, 19 of 24 had less than this.
LITTLE_AGREEMENT = 0.75
# A line whose mean rank correlation with other lines is less than this has no order. One whose ends are nearer to each
# other than this share of its length may be a cycle. By measurement (benchmarks/line_order.py); three quarters of a
# circle have a share of .3.
LITTLE_ORDER = 0.75
NEAR_ENDS = 0.15
MOST = 0.5  # a branch that a smaller share of the other starts has is one that most of them lack


@dataclass(frozen=True, repr=False, eq=False)
class StartSupport(Printed):
    """How well the branches of a tree are found again from other starts.

    The same rows (if there are many, a sample of them) are fitted from each start, so this shows what the fit
    determines, and nothing about sampling of the cells: a branch that all starts have may still be made by noise.

    Parameters
    ----------
    support
        Of each branch, in the order of ``graph.branches``: its largest Jaccard index with a branch of another start
        (points on both over points on either), mean over the other starts, (n_branches,). Of a branch between two forks
        on which hardly any point lies (less than a hundredth): how well the points on its two sides are kept apart
        there, see `arm_support`.
    found
        The share of the other starts in which that is above 1/2, (n_branches,); two branches with points are never
        found in the same branch.
    order
        For a line: how similarly the other lines order the points, from 0 to 1 (rank correlation, whichever end is
        first; mean over them). Any two lines have the same branch, so `support` says nothing about them. NaN: the tree
        is not a line, or none of the others is.
    """

    support: np.ndarray
    found: np.ndarray
    order: float = float("nan")


def agreements(divisions: Sequence[Division]) -> np.ndarray:
    """Mean `agreement` of each division with every other, (n,)."""
    n = len(divisions)
    alike = np.zeros((n, n))
    for i, mine in enumerate(divisions):
        for j, theirs in enumerate(divisions[:i]):
            alike[i, j] = agreement(mine.branch, theirs.branch, mine.n_branches, theirs.n_branches)
            alike[j, i] = alike[i, j]
    return alike.sum(axis=1) / (n - 1)


def start_support(divisions: Sequence[Division], chosen: int) -> StartSupport:
    """How well the parts of one division are found in the others, at least one."""
    mine = divisions[chosen]
    others = [other for i, other in enumerate(divisions) if i != chosen]
    support = np.stack(
        [jaccard(mine.branch, other.branch, mine.n_branches, other.n_branches).max(axis=1) for other in others]
    )
    bridges = mine.bridges
    if len(bridges):
        sides = [mine.splits[number, None] for number in bridges]
        support[:, bridges] = [arm_support(sides, other.cuts) for other in others]
    return StartSupport(support.mean(axis=0), (support > 0.5).mean(axis=0))


def same_order(lines: Sequence[np.ndarray | None], chosen: int) -> float:
    """How alike lines have points in order: mean rank correlation of one with the others, whichever end is first.

    Parameters
    ----------
    lines
        Where the points lie along each tree, (n,); None: it is no line.
    chosen
        Which of them is compared with the others. NaN if it is no line, or none of the others is.
    """
    ranks = [None if line is None else _centred_ranks(line) for line in lines]
    mine = ranks[chosen]
    others = [theirs for i, theirs in enumerate(ranks) if i != chosen and theirs is not None]
    if mine is None or not others:
        return float("nan")
    squares = [max(float(theirs @ theirs), 1.0) * max(float(mine @ mine), 1.0) for theirs in others]
    return float(np.mean([abs(mine @ theirs) / np.sqrt(s) for theirs, s in zip(others, squares, strict=True)]))


def _centred_ranks(line: np.ndarray) -> np.ndarray:
    """Twice the ranks less their mean: whole numbers, sums of which do not depend on the order of the points."""
    from scipy.stats import rankdata  # slow to import

    ranks: np.ndarray = 2 * rankdata(line) - (len(line) + 1)
    return ranks


def between_ends(graph: Graph) -> float:
    """How far the ends of a line are from each other, as a share of its length.

    NaN if the graph is no single line, or all its nodes lie at one place.
    """
    length = float(graph.edge_length.sum())
    if length == 0 or not is_line(graph):
        return float("nan")
    first, last = graph.nodes[graph.tips]
    return float(np.linalg.norm(last - first)) / length
