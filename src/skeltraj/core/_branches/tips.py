"""How many tips a tree has: as many as make trees of different rows, and from different starts, agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skeltraj._printing import Printed

from .nested import Nested
from .overlap import agreement

# Chosen by measurement (benchmarks/preparations.py): how much agreement counts beside the gain that is kept, and what
# is added to the gain of a line and of all that is there, so that a line is not outdone by next to nothing.
_POWER = 2.0
_GAIN_OF_LINE = 0.004
_MOST_GAIN = 1.0  # at which gains end: without noise they have none


@dataclass(frozen=True, repr=False, eq=False)
class TipChoice(Printed):
    """The numbers of tips between which was chosen.

    Parameters
    ----------
    n_tips
        The numbers, ascending from 2, (n_numbers,).
    agreement
        Mean agreement of the trees from all starts, with so many tips, with all other trees, (n_numbers,).
    gain
        Of the branch that makes the last of so many tips, mean over the starts, (n_numbers,); 0 for a line.
    value
        By which was chosen, (n_numbers,): ``agreement^2`` times the share of all gains that so many tips keep.
    chosen
        The number of the largest value.
    """

    n_tips: np.ndarray
    agreement: np.ndarray
    gain: np.ndarray
    value: np.ndarray
    chosen: int


def choose_tips(starts: Sequence[dict[int, Nested]], others: Sequence[dict[int, Nested]]) -> TipChoice:
    """Choose the number of tips by how well trees agree, and by what their branches gain.

    With too few tips, trees of one data set differ in which of the branches they keep; with too many, in which noise
    they describe. So of each number k the agreement a_k (F1 of branches, Saelens et al. 2019) of the trees with k tips
    says whether it is one that the data tell. It is 1 for two lines, and larger for few branches than for many. So it
    is weighed against what is lost: with g_k the gain (`prune`) of the weakest branch of a tree with k tips, the number
    of the largest::

        a_k^2 (g_0 + g_3 + ... + g_k) / (g_0 + sum of all g)

    is chosen, g_0 = 0.004. No limit on gains enters. These differ with how noise is spread over the components, that
    is, with how the data were prepared.

    Parameters
    ----------
    starts
        The nested trees of all rows, from different starts.
    others
        Those of parts of the rows, with the places of the same points on them.
    """
    numbers = sorted(set().union(*starts))
    alike = np.array([alike_with(starts, others, k).mean() for k in numbers])
    gains = np.array([_gain(starts, k) for k in numbers])
    kept = _GAIN_OF_LINE + np.cumsum(gains)
    value = alike**_POWER * kept / kept[-1]
    return TipChoice(np.array(numbers), alike, gains, value, numbers[int(value.argmax())])


def alike_with(starts: Sequence[dict[int, Nested]], others: Sequence[dict[int, Nested]], n_tips: int) -> np.ndarray:
    """Mean agreement of the tree from each start with all others, (n_starts,), all with so many tips.

    A tree that never had so many agrees with none, and nothing agrees with it.
    """
    trees = [*starts, *others]
    alike = np.zeros((len(starts), len(trees)))
    for i, mine in enumerate(starts):
        for j, theirs in enumerate(trees):
            if i != j and n_tips in mine and n_tips in theirs:
                a, b = mine[n_tips], theirs[n_tips]
                alike[i, j] = agreement(a.branch, b.branch, a.n_branches, b.n_branches)
    mean: np.ndarray = alike.sum(axis=1) / max(len(trees) - 1, 1)
    return mean


def _gain(starts: Sequence[dict[int, Nested]], k: int) -> float:
    """Mean gain of the branch that makes the k-th tip."""
    if k == 2:
        return 0.0
    return float(np.mean([np.clip(tree[k].gain, 0, _MOST_GAIN) for tree in starts if k in tree]))
