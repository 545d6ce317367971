"""Which branches of a tree the trees from other starts have as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skeltraj._printing import Printed

from .overlap import agreement, jaccard

# Starts that agree less than this do not settle the tree. On simulated cells (docs/methods/support_measured.md): where
# the tree was right, 21 of 23 had 0.84 to 1; where it was wrong, 19 of 24 had less than this.
LITTLE_AGREEMENT = 0.75
MOST = 0.5  # a branch that a smaller share of the other starts has is one that most of them lack

Division = tuple[np.ndarray, int]  # the branch of each of n points, (n,), and the number of branches


@dataclass(frozen=True, repr=False, eq=False)
class StartSupport(Printed):
    """How well the branches of a tree are found again from other starts.

    The same rows (of many, a sample of them) are fitted from each start, so this says what the fit settles, and nothing
    of the cells that were drawn: a branch that all starts have may still be one that noise made.

    Parameters
    ----------
    support
        Of each branch, in the order of ``graph.branches``: its largest Jaccard index with a branch of another start
        (points on both over points on either), mean over the other starts, (n_branches,).
    found
        The share of the other starts in which that is above 1/2, (n_branches,); no two branches are found in one.
    """

    support: np.ndarray
    found: np.ndarray


def agreements(divisions: Sequence[Division]) -> np.ndarray:
    """Mean `agreement` of each division with every other, (n,)."""
    n = len(divisions)
    alike = np.zeros((n, n))
    for i, (mine, n_mine) in enumerate(divisions):
        for j, (theirs, n_theirs) in enumerate(divisions[:i]):
            alike[i, j] = alike[j, i] = agreement(mine, theirs, n_mine, n_theirs)
    return alike.sum(axis=1) / (n - 1)


def start_support(divisions: Sequence[Division], chosen: int) -> StartSupport:
    """How well the parts of one division are found in the others, at least one."""
    mine, n_mine = divisions[chosen]
    others = [other for i, other in enumerate(divisions) if i != chosen]
    overlap = np.stack([jaccard(mine, theirs, n_mine, n_theirs).max(axis=1) for theirs, n_theirs in others])
    return StartSupport(overlap.mean(axis=0), (overlap > 0.5).mean(axis=0))
