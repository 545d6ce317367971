"""How many tips a tree has: as many as make trees of different rows, and from different starts, agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skeltraj._printing import Printed

from .nested import Nested
from .overlap import agreement

# Chosen by measurement (benchmarks/preparations.py): the agreement that trees have by chance; what is added to the gain
# of a line and of all that is there, so that a line is not outdone by next to nothing; and which lines are none.
_BY_CHANCE = 0.35
_GAIN_OF_LINE = 0.003
_MOST_BESIDE_LINE = 0.02  # gain of all branches together beside a true line of `_MANY` points or more
_MANY = 1000  # of fewer points, branches of noise gain more, in inverse proportion
_MOST_GAIN = 1.0  # at which gains end: without noise they have none
# Of a tree with forks whose number has a smaller value the data do not tell how many tips it has, by measurement
# (docs/methods/support_measured.md). Lines have small values where there are next to no branches, too.
LITTLE_VALUE = 0.25


@dataclass(frozen=True, repr=False, eq=False)
class TipChoice(Printed):
    """The choice of the number of tips.

    Parameters
    ----------
    n_tips
        The numbers, ascending from 2, (n_numbers,).
    agreement
        Mean agreement of the trees of all rows with those of parts, all with that many tips, (n_numbers,).
    gain
        Gain of the branch that adds the last of that many tips, mean over the starts, (n_numbers,); 0 for a line.
    value
        The criterion, (n_numbers,): agreement beyond chance times the share of all gains that this number of tips
        keeps. 0 for a line beside which branches gain too much, if a tree with forks has any value.
    chosen
        The number with the largest value.
    """

    n_tips: np.ndarray
    agreement: np.ndarray
    gain: np.ndarray
    value: np.ndarray
    chosen: int

    @property
    def is_doubtful(self) -> bool:
        """Whether there are forks, and the largest value is so small that the number of tips is in doubt."""
        return self.chosen > 2 and float(self.value.max()) < LITTLE_VALUE


def choose_tips(
    starts: Sequence[dict[int, Nested]], parts: Sequence[dict[int, Nested]], *, any_line: bool = False
) -> TipChoice:
    """Choose the number of tips by how well trees agree, and by what their branches gain.

    With too few tips, trees of one data set differ in which of the branches they keep; with too many, in which noise
    they describe. So of each number k the agreement a_k (F1 of branches, Saelens et al. 2019) of the trees of all rows
    with those of parts, all with k tips, says whether it is one that the data tell. It is 1 for two lines, larger for
    few branches than for many, and about .35 for trees that have nothing in common. So it is weighed against what is
    lost: with g_k the gain (`prune`) of the weakest branch of a tree with k tips, the number of the largest::

        (a_k - .35) (g_0 + g_3 + ... + g_k) / (g_0 + sum of all g)

    is chosen, g_0 = .003. No limit on single gains enters. These differ with how noise is spread over the components,
    that is, with how the data were prepared.

    Two lines agree whatever the data. So where trees agree on hardly any fork, a line has the largest value even if its
    branches gain much, which they do not beside a true line. If all of them together gain more than .02 (of n < 1,000
    points, 20 / n), the value of a line is 0, unless no tree with forks has any.

    Parameters
    ----------
    starts
        The nested trees of all rows, from different starts.
    parts
        Those of parts of the rows, with the places of the same points on them; none: the starts are compared with each
        other.
    any_line
        Whether a line keeps its value however much its branches gain.
    """
    numbers = sorted(set().union(*starts))
    alike = np.array([(_overlaps(starts, parts, k) if parts else alike_with(starts, [], k)).mean() for k in numbers])
    gains = np.array([_gain(starts, k) for k in numbers])
    kept = _GAIN_OF_LINE + np.cumsum(gains)
    value = np.maximum(alike - _BY_CHANCE, 0) * kept / kept[-1]
    n_points = len(next(iter(starts[0].values())).branch)
    most = _MOST_BESIDE_LINE * max(1.0, _MANY / n_points)
    if not any_line and gains.sum() > most and value[1:].any():
        value[0] = 0.0
    return TipChoice(np.array(numbers), alike, gains, value, numbers[int(value.argmax())])


def alike_with(starts: Sequence[dict[int, Nested]], parts: Sequence[dict[int, Nested]], n_tips: int) -> np.ndarray:
    """Mean agreement of the tree from each start with all others, (n_starts,), all with that many tips."""
    overlaps = _overlaps(starts, [*starts, *parts], n_tips)
    np.fill_diagonal(overlaps, 0)
    mean: np.ndarray = overlaps.sum(axis=1) / max(overlaps.shape[1] - 1, 1)
    return mean


def _overlaps(mine: Sequence[dict[int, Nested]], theirs: Sequence[dict[int, Nested]], n_tips: int) -> np.ndarray:
    """Agreement of trees with that many tips, (n_mine, n_theirs).

    A tree that never had that many agrees with none.
    """
    overlaps = np.zeros((len(mine), len(theirs)))
    for i, a in enumerate(mine):
        for j, b in enumerate(theirs):
            if n_tips in a and n_tips in b:
                one, other = a[n_tips], b[n_tips]
                overlaps[i, j] = agreement(one.branch, other.branch, one.n_branches, other.n_branches)
    return overlaps


def _gain(starts: Sequence[dict[int, Nested]], k: int) -> float:
    """Mean gain of the branch that makes the k-th tip."""
    if k == 2:
        return 0.0
    return float(np.mean([np.clip(tree[k].gain, 0, _MOST_GAIN) for tree in starts if k in tree]))
