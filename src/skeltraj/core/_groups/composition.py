"""Groups of cells per branch and along pseudotime, compared with labels permuted at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from skeltraj._docs import shared_texts
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing

from .benjamini_hochberg import benjamini_hochberg
from .relabel import Labels, n_distinct, relabelings

_PLACES = 1000  # of pseudotime, at most, at which cumulative shares are compared


@dataclass(frozen=True)
class LineageBins:
    """Groups along one lineage, in bins with about as many cells each.

    Parameters
    ----------
    bounds
        Pseudotime at which bins begin and end, (n_bins + 1,); a bin holds its upper bound, the first also its lower.
    counts
        Cells of each group in each bin, (n_groups, n_bins).
    shares
        Share of the bin that is of the group, (n_groups, n_bins); columns sum to 1.
    """

    bounds: np.ndarray
    counts: np.ndarray
    shares: np.ndarray


@dataclass(frozen=True)
class BranchProgress:
    """Pairs of groups compared by their mean pseudotime within a branch; n_tests rows.

    Parameters
    ----------
    first, second
        The two groups.
    branch
        The branch, on which both have cells.
    difference
        Mean pseudotime of the first less that of the second.
    p_value, q_value
        Two-sided, by permutation; and adjusted over all rows (Benjamini-Hochberg).
    """

    first: np.ndarray
    second: np.ndarray
    branch: np.ndarray
    difference: np.ndarray
    p_value: np.ndarray
    q_value: np.ndarray


@shared_texts
@dataclass(frozen=True)
class Composition:
    """Where groups of cells lie on a skeleton, and how likely that would be by chance.

    Parameters
    ----------
    groups, branches
        Codes of the groups and of the branches that have cells, (n_groups,) and (n_branches,).
    used
        Which cells were used, (n,): those with a group, a branch, a finite pseudotime and, if asked for, a sample.
    counts
        Cells of each group on each branch, (n_groups, n_branches).
    share_of_branch
        Share of the branch that is of the group; columns sum to 1. Here as in all shares and means, samples whose
        labels were permuted as a whole count alike.
    share_of_group
        Share of the group that lies on the branch; rows sum to 1.
    log2_enrichment
        log2 of observed over expected; -inf where there are no cells, NaN where none could be.
    p_value, q_value
        Two-sided p-value of each group and branch by permutation; and adjusted over all of them.
    chi2, chi2_p_value
        Chi-square of the whole table, and its p-value by permutation.
    shift
        By how much likelier a cell of the group lies later in pseudotime than a cell of the rest, than earlier: from -1
        (always earlier) to 1, (n_groups,).
    shift_p_value, shift_q_value
        Two-sided, by permutation; and adjusted over the groups.
    largest_gap
        Largest difference between the cumulative shares, along pseudotime, of the group and the rest (the statistic of
        Kolmogorov and Smirnov), (n_groups,).
    gap_p_value, gap_q_value
        By permutation; and adjusted over the groups.
    bins
        Groups along pseudotime, for each lineage; None for a lineage without cells.
    progress
        Pairs of groups compared within branches.
    permuted
        What kept its place while labels were permuted: "cells", "samples", or "cells within samples".
    <n_permutations>
    n_distinct
        In how many different ways the labels could have been given; infinite beyond 1e300.
    smallest_p_value
        About the smallest p-value that a test of the whole can give.
    """

    groups: np.ndarray
    branches: np.ndarray
    used: np.ndarray
    counts: np.ndarray
    share_of_branch: np.ndarray
    share_of_group: np.ndarray
    log2_enrichment: np.ndarray
    p_value: np.ndarray
    q_value: np.ndarray
    chi2: float
    chi2_p_value: float
    shift: np.ndarray
    shift_p_value: np.ndarray
    shift_q_value: np.ndarray
    largest_gap: np.ndarray
    gap_p_value: np.ndarray
    gap_q_value: np.ndarray
    bins: list[LineageBins | None]
    progress: BranchProgress
    permuted: str
    n_permutations: int
    n_distinct: float
    smallest_p_value: float


@shared_texts
@computing()
def composition(
    groups: np.ndarray,
    branch: np.ndarray,
    pseudotime: np.ndarray,
    *,
    sample: np.ndarray | None = None,
    lineages: np.ndarray | None = None,
    n_bins: int = 10,
    n_permutations: int = 1000,
    rng: int | np.random.Generator = 0,
    callback: Callable[[int, int], Any] | None = None,
) -> Composition:
    """Compare where groups of cells lie: on the branches, along pseudotime, within branches.

    Every p-value is (1 + hits) / (1 + `n_permutations`), a hit being a permutation of the groups' labels that gives a
    value at least as far from what is expected. What is permuted follows from `sample`:

    - None: labels among all cells.
    - Samples of which each has cells of one group only (a condition): labels among whole samples, since the cells of a
      sample are not independent. Every sample then counts alike, whatever its number of cells.
    - Samples with cells of several groups: labels among the cells of each sample. What is expected follows from the
      groups' numbers in the samples, and differences are those beyond what samples differ in.

    Pairs of groups are compared within a branch by permuting, in the same way, the labels of their cells there (or of
    the samples that have cells there).

    Parameters
    ----------
    groups
        Group of each cell, (n,), as a code from 0; negative: none.
    branch
        Branch of each cell, (n,), as a code from 0; negative: none.
    pseudotime
        Of each cell, (n,); NaN: none.
    sample
        Sample of each cell, (n,), as a code from 0; negative: none.
    lineages
        Which cells lie on which lineage, boolean, (n, n_lineages). None: one that holds all cells.
    n_bins
        Bins of pseudotime in a lineage, with equal numbers of cells. Cells with equal pseudotime stay together, so
        there may be fewer.
    <n_permutations>
    <rng>
    callback
        Called as ``callback(done, total)`` with numbers of permutations.

    Returns
    -------
    A :class:`Composition`. It does not depend on the order of the cells.

    Raises
    ------
    TypeError, ValueError
        If the arrays do not fit together, a number is out of range, no cell can be used, or all are of one group.

    Notes
    -----
    Cumulative shares are compared at the pseudotime of every cell, or at 1,000 quantiles where there are more values.
    """
    n_bins = check.count(n_bins, "n_bins")
    n_permutations = check.count(n_permutations, "n_permutations")
    groups, branch = _codes(groups, "groups"), _codes(branch, "branch")
    pseudotime = np.asarray(pseudotime, dtype=np.float64)
    samples = np.zeros(len(groups), dtype=np.int64) if sample is None else _codes(sample, "sample")
    on = np.ones((len(groups), 1), dtype=bool) if lineages is None else np.asarray(lineages, dtype=bool)
    for name, values in (("branch", branch), ("pseudotime", pseudotime), ("sample", samples), ("lineages", on)):
        if len(values) != len(groups):
            raise ValueError(f"{name} is of {len(values)} cells, groups of {len(groups)}; wanted the same cells.")
    used = (groups >= 0) & (branch >= 0) & (samples >= 0) & np.isfinite(pseudotime)
    if not used.any():
        raise ValueError(f"none of {len(groups)} cells has group, branch, sample and pseudotime; wanted some.")
    # sorted by all that is known of a cell, so that the order in which they came is forgotten
    by = np.flatnonzero(used)
    by = by[np.lexsort((groups[by], pseudotime[by], branch[by], samples[by]))]
    group_codes, group = np.unique(groups[by], return_inverse=True)
    branch_codes, place = np.unique(branch[by], return_inverse=True)
    of_sample = np.unique(samples[by], return_inverse=True)[1]
    if len(group_codes) < 2:
        raise ValueError(f"all {len(by)} cells that can be used are of one group; wanted at least two groups.")
    generator = np.random.default_rng(rng)
    labels = Labels(group, of_sample, sample is not None)
    pairs = [
        (a, b, at)
        for at in range(len(branch_codes))
        for a, b in combinations(np.flatnonzero(np.bincount(group[place == at], minlength=len(group_codes))), 2)
    ]
    total = n_permutations * (1 + len(pairs))
    say = callback if callback is not None else lambda done, total: None

    table = _Table(place, pseudotime[by], labels)
    found = table.measured(group)
    hits = {name: np.zeros(np.shape(value)) for name, value in found.items()}
    done = 0
    for rows in relabelings(labels.given, labels.stratum, n_permutations, generator):
        for row in rows:
            for name, value in table.measured(labels.of_cells(row)).items():
                hits[name] += _as_far(value, found[name])
        done += len(rows)
        say(done, total)
    p = {name: (1 + count) / (1 + n_permutations) for name, count in hits.items()}

    difference, p_pairs = np.empty(len(pairs)), np.empty(len(pairs))
    for i, (a, b, at) in enumerate(pairs):
        cells = np.flatnonzero((place == at) & ((group == a) | (group == b)))
        difference[i], p_pairs[i] = _pair(
            pseudotime[by][cells], group[cells] == a, of_sample[cells], labels.permuted, n_permutations, generator
        )
        say(n_permutations * (2 + i), total)
    first, second, where = np.array(pairs, dtype=np.int64).reshape(-1, 3).T
    counts = np.bincount(group * len(branch_codes) + place, minlength=len(group_codes) * len(branch_codes))
    mass, expected = table.on_branches(group), table.expected[:, : len(branch_codes)]
    with np.errstate(divide="ignore", invalid="ignore"):
        log2_enrichment = np.log2(mass / expected)
    ways, mirrored = n_distinct(labels.counts)
    return Composition(
        groups=group_codes,
        branches=branch_codes,
        used=used,
        counts=counts.reshape(mass.shape),
        share_of_branch=mass / mass.sum(axis=0),
        share_of_group=mass / mass.sum(axis=1, keepdims=True),
        log2_enrichment=log2_enrichment,
        p_value=p["branch"],
        q_value=benjamini_hochberg(p["branch"]),
        chi2=float(found["chi2"]),
        chi2_p_value=float(p["chi2"]),
        shift=found["shift"],
        shift_p_value=p["shift"],
        shift_q_value=benjamini_hochberg(p["shift"]),
        largest_gap=found["gap"],
        gap_p_value=p["gap"],
        gap_q_value=benjamini_hochberg(p["gap"]),
        bins=[_bins(group, pseudotime[by], labels.weight, inside, n_bins, len(group_codes)) for inside in on[by].T],
        progress=BranchProgress(
            group_codes[first],
            group_codes[second],
            branch_codes[where],
            difference,
            p_pairs,
            benjamini_hochberg(p_pairs),
        ),
        permuted=labels.permuted,
        n_permutations=n_permutations,
        n_distinct=ways,
        smallest_p_value=float(max(1 / (1 + n_permutations), min(1.0, (1 + mirrored) / ways))),
    )


def _codes(values: Any, name: str) -> np.ndarray:
    codes = np.asarray(values)
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise TypeError(f"{name} is of shape {codes.shape} and dtype {codes.dtype}; wanted one whole number per cell.")
    return codes.astype(np.int64)


def _as_far(value: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Whether a permutation's values are at least as far from 0 as those observed, up to rounding."""
    return np.abs(value) >= np.abs(observed) - 1e-9 * np.maximum(np.abs(observed), 1e-3)


class _Table:
    """What is added up over the cells of each group: their places on branches and along pseudotime.

    Parameters
    ----------
    branch
        Of each cell, codes without gaps, (n,).
    pseudotime
        Of each cell, (n,).
    labels
        What is permuted.

    Attributes
    ----------
    expected
        The mean of the sums over all permutations, (n_groups, n_branches + n_places + 1).
    """

    def __init__(self, branch: np.ndarray, pseudotime: np.ndarray, labels: Labels) -> None:
        values, at = np.unique(pseudotime, return_inverse=True)
        mass = np.bincount(at, labels.weight)
        rank = (np.cumsum(mass) - mass / 2)[at] / mass.sum()  # from 0 to 1; ties have their mean
        if len(values) > _PLACES:
            ends = np.unique(np.quantile(pseudotime, np.arange(1, _PLACES + 1) / _PLACES, method="inverted_cdf"))
            at = np.searchsorted(ends, pseudotime, side="left")
        self._at = (branch, int(branch.max()) + 1), (at, int(at.max()) + 1)
        self._weight, self._rank = labels.weight, rank
        self._n_groups = labels.counts.shape[1]
        self.expected = np.zeros((self._n_groups, sum(n for _, n in self._at) + 1))
        for label in range(self._n_groups):
            of_one = self._sums(np.full(len(branch), label), labels.weight * labels.chance(label))
            self.expected[label] = of_one[label]
        size = self.expected[:, : self._at[0][1]].sum(axis=1)
        self._scale = (size.sum() / (size * (size.sum() - size)))[:, None]

    def _sums(self, group: np.ndarray, weight: np.ndarray) -> np.ndarray:
        parts = [
            np.bincount(group * n + at, weight, minlength=self._n_groups * n).reshape(self._n_groups, n)
            for at, n in self._at
        ]
        return np.hstack([*parts, np.bincount(group, weight * self._rank, minlength=self._n_groups)[:, None]])

    def on_branches(self, group: np.ndarray) -> np.ndarray:
        """Weight of each group on each branch, (n_groups, n_branches)."""
        return self._sums(group, self._weight)[:, : self._at[0][1]]

    def measured(self, group: np.ndarray) -> dict[str, np.ndarray]:
        """How each group differs from the rest, beyond what is expected: on branches, in shift, in gap; and chi-square."""
        n = self._at[0][1]
        sums = self._sums(group, self._weight)
        over = sums - self.expected
        apart = over * self._scale  # mean over the group less mean over the rest
        even = self.expected[:, :n]
        return {
            "branch": apart[:, :n],
            "shift": 2 * apart[:, -1],
            "gap": np.abs(np.cumsum(apart[:, n:-1], axis=1)).max(axis=1),
            "chi2": np.divide(over[:, :n] ** 2, even, out=np.zeros_like(even), where=even > 0).sum(),
        }


def _pair(
    values: np.ndarray,
    first: np.ndarray,
    sample: np.ndarray,
    permuted: str,
    n: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Difference of the means of two groups of cells, and its p-value; `first`: which cells are of the first group."""
    unit = float(np.abs(values).max()) or 1.0  # differences far below it are rounding
    if permuted != "cells":
        start = np.flatnonzero(np.diff(sample, prepend=-1))
        size = np.diff(np.r_[start, len(sample)])
        mean = np.add.reduceat(values, start) / size
        if permuted == "samples":
            values, first, sample = mean, first[start], np.zeros(len(start), dtype=np.int64)
        else:
            values = values - np.repeat(mean, size)
    else:
        sample = np.zeros(len(values), dtype=np.int64)
    values = (values - values.mean()) / unit
    contrast = np.where(first, 1 / first.sum(), -1 / (~first).sum())
    difference = values @ contrast
    hits = sum(int(_as_far(rows @ contrast, difference).sum()) for rows in relabelings(values, sample, n, rng))
    return float(unit * difference), (1 + hits) / (1 + n)


def _bins(
    group: np.ndarray, pseudotime: np.ndarray, weight: np.ndarray, inside: np.ndarray, n_bins: int, n_groups: int
) -> LineageBins | None:
    if not inside.any():
        return None
    group, pseudotime, weight = group[inside], pseudotime[inside], weight[inside]
    n = min(n_bins, len(group))
    bounds = np.unique(np.quantile(pseudotime, np.arange(n + 1) / n, method="inverted_cdf"))
    if len(bounds) == 1:
        bounds = np.repeat(bounds, 2)
    n = len(bounds) - 1
    at = group * n + np.searchsorted(bounds[1:-1], pseudotime, side="left")
    counts, mass = (np.bincount(at, w, minlength=n_groups * n).reshape(n_groups, n) for w in (None, weight))
    return LineageBins(bounds, counts, mass / mass.sum(axis=0))
