"""How each group of cells differs from the rest: on the branches, and along pseudotime."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skeltraj.core._runtime.compile import compiled

from .relabel import Labels

# Most places along pseudotime at which cumulative shares are compared: the gap is then found to about a thousandth.
# Chosen by eye.
_MAX_PLACES = 1000


class Differences(NamedTuple):
    """Statistics of a table of groups, beyond what is expected of permuted labels."""

    on_branches: np.ndarray  # share of the group on each branch less that of the rest, (n_groups, n_branches)
    shift: np.ndarray  # how much likelier later than the rest, than earlier: Cliff's delta, (n_groups,)
    gap: np.ndarray  # largest difference of cumulative shares: Kolmogorov and Smirnov's statistic, (n_groups,)
    chi2: np.ndarray  # Pearson's statistic of groups and branches, ()


class _Sums(NamedTuple):
    """What is added up over the cells of each group."""

    on_branches: np.ndarray  # weight on each branch, (n_groups, n_branches)
    at_places: np.ndarray  # weight at each place along pseudotime, (n_groups, n_places)
    rank: np.ndarray  # weight times rank in pseudotime, (n_groups, 1)


class GroupDifferences:
    """Compares groups with the rest, for whatever labels.

    Parameters
    ----------
    branch
        Branch of each cell, codes without gaps, (n,).
    pseudotime
        Of each cell, (n,).
    labels
        What is permuted.

    Attributes
    ----------
    expected_on_branches
        Weight of each group on each branch, mean over all permutations, (n_groups, n_branches).
    """

    def __init__(self, branch: np.ndarray, pseudotime: np.ndarray, labels: Labels) -> None:
        self._branch, self._n_branches = branch, int(branch.max()) + 1
        self._place = _places(pseudotime)
        self._n_places = int(self._place.max()) + 1
        self._weight, self._rank = labels.weight, _ranks(pseudotime, labels.weight)
        self._n_groups = labels.counts.shape[1]
        self._expected = self._expected_sums(labels)
        self.expected_on_branches = self._expected.on_branches
        size = self.expected_on_branches.sum(axis=1)
        # sums times this are the mean over the group less the mean over the rest
        self._scale = (size.sum() / (size * (size.sum() - size)))[:, None]

    def on_branches(self, group: np.ndarray) -> np.ndarray:
        """Weight of each group on each branch, (n_groups, n_branches)."""
        return self._sums(group, self._weight).on_branches

    def of(self, group: np.ndarray) -> Differences:
        """How each group differs from the rest; `group` of each cell, (n,)."""
        sums = self._sums(group, self._weight)
        beyond = _Sums(*(part - expected for part, expected in zip(sums, self._expected, strict=True)))
        even = self.expected_on_branches
        return Differences(
            on_branches=beyond.on_branches * self._scale,
            shift=2 * (beyond.rank * self._scale)[:, 0],
            gap=np.abs(np.cumsum(beyond.at_places * self._scale, axis=1)).max(axis=1),
            chi2=np.divide(beyond.on_branches**2, even, out=np.zeros_like(even), where=even > 0).sum(),
        )

    def _sums(self, group: np.ndarray, weight: np.ndarray) -> _Sums:
        widths = self._n_branches, self._n_places, 1
        sums = _Sums(*(np.zeros((self._n_groups, width)) for width in widths))
        _add(group, weight, self._branch, self._place, self._rank, *sums)
        return sums

    def _expected_sums(self, labels: Labels) -> _Sums:
        """The mean of the sums over all permutations: each cell counts for each label by its chance to get it."""
        rows = []
        for label in range(self._n_groups):
            chance = labels.weight * labels.chance(label)
            sums = self._sums(np.full(len(self._branch), label), chance)
            rows.append([part[label] for part in sums])
        return _Sums(*(np.array(part) for part in zip(*rows, strict=True)))


@compiled
def _add(
    group: np.ndarray,
    weight: np.ndarray,
    branch: np.ndarray,
    place: np.ndarray,
    rank: np.ndarray,
    on_branches: np.ndarray,
    at_places: np.ndarray,
    by_rank: np.ndarray,
) -> None:
    """Add up the fields of `_Sums` over the cells."""
    for i in range(len(group)):
        g, w = group[i], weight[i]
        on_branches[g, branch[i]] += w
        at_places[g, place[i]] += w
        by_rank[g, 0] += w * rank[i]


def _places(pseudotime: np.ndarray) -> np.ndarray:
    """Number, along pseudotime, of the place at which each cell counts as passed, (n,)."""
    values, place = np.unique(pseudotime, return_inverse=True)
    if len(values) <= _MAX_PLACES:
        return place
    levels = np.arange(1, _MAX_PLACES + 1) / _MAX_PLACES
    ends = np.unique(np.quantile(pseudotime, levels, method="inverted_cdf"))
    return np.searchsorted(ends, pseudotime, side="left")


def _ranks(pseudotime: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Share of the cells' weight that comes before each cell, from 0 to 1; ties have their mean, (n,)."""
    place = np.unique(pseudotime, return_inverse=True)[1]
    mass = np.bincount(place, weight)
    return (np.cumsum(mass) - mass / 2)[place] / mass.sum()
