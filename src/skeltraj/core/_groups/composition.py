"""Groups of cells per branch and along pseudotime, compared with labels permuted at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing, counter

from .differences import Differences, GroupDifferences
from .lineage_bins import LineageBins, lineage_bins
from .p_values import adjusted, as_far, p_value
from .progress import BranchProgress, compare_pairs, pairs_on_branches
from .relabel import MOST_PERMUTATIONS, Labels, Permuted, Within, least_share, n_distinct, over_relabelings


@shared_texts
@dataclass(frozen=True, repr=False)
class Composition(Printed):
    """Where groups of cells lie on a skeleton, and how likely this would be by chance.

    Parameters
    ----------
    groups, branches
        Codes of the groups and of the branches that have cells, (n_groups,) and (n_branches,).
    used
        Which cells were used, (n,): those with a group, a branch, a finite pseudotime and, if asked for, a sample.
    counts
        Cells of each group on each branch, (n_groups, n_branches).
    share_of_branch
        Share of the branch that is of the group; columns sum to 1. Here, as in all shares and means, samples whose
        labels were permuted as a whole have equal weight.
    share_of_group
        Share of the group that lies on the branch; rows sum to 1.
    log2_enrichment
        log2 of observed over expected; -inf where there are no cells, NaN where none could be.
    p_value, q_value
        Two-sided p-value of each group and branch by permutation; and adjusted over all of them.
    chi2, chi2_p_value
        Chi-square of the whole table, and its p-value by permutation.
    shift
        Probability that a cell of the group lies later in pseudotime than a cell of the rest, minus the probability
        that it lies earlier: from -1 (always earlier) to 1, (n_groups,).
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
        The units among which labels were permuted: "cells", "samples", "groups within samples" or "cells within
        samples".
    <n_permutations>
    n_distinct
        In how many different ways the labels could have been assigned; infinite beyond 1e300.
    smallest_p_value
        The smallest p-value that a test of a group against the rest can give; that of `chi2` may be smaller if there
        are more than two groups.
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
    permuted: Permuted
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
    within_samples: Within = "groups",
    lineages: np.ndarray | None = None,
    n_bins: int = 10,
    n_permutations: int = 1000,
    rng: int | np.random.Generator = 0,
    callback: Callable[[int, int], Any] | None = None,
) -> Composition:
    """Compare where groups of cells lie: on the branches, along pseudotime, within branches.

    Every p-value is (1 + hits) / (1 + `n_permutations`), where a hit is a permutation of the groups' labels that gives
    a value at least as far from the expected one. It is never smaller than the share of all ways to assign the labels
    that are as far in any case: the one observed and, for a group as large as the rest, its mirror image. Ways that
    differ in how the rest is divided are the same to a test of a group against it. What is permuted follows from
    `sample`:

    - None: labels among all cells.
    - Each sample has cells of only one group (a condition): labels among whole samples, since the cells of a sample are
      not independent. Every sample then has the same weight, whatever its number of cells.
    - Samples have cells of several groups (both conditions of a donor): labels among the groups of each sample, where
      all cells of a group in a sample move together, since cells of one library are not independent. Every such unit
      has the same weight. With ``within_samples="cells"``, labels among the cells of each sample. Expected values
      follow from the groups in the samples, and differences are those beyond the differences between samples.

    Pairs of groups are compared within a branch by permuting, in the same way, the labels of their cells there (or of
    the samples, or of the groups of samples, that have cells there).

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
    within_samples
        What is permuted in samples with cells of several groups: "groups" or "cells".
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

    References
    ----------
    Benjamini, Hochberg. Controlling the false discovery rate: a practical and powerful approach to multiple testing.
    Journal of the Royal Statistical Society B 57 (1995).
    Phipson, Smyth. Permutation p-values should never be zero. Statistical Applications in Genetics and Molecular
    Biology 9 (2010).

    Examples
    --------
    <example_tree>
    >>> ordering = core.order(graph, points, root=0)
    >>> groups = (side > 0).astype(int)
    >>> branch, pseudotime = ordering.branch, ordering.pseudotime
    >>> result = core.composition(groups, branch, pseudotime, n_permutations=200)
    >>> result.counts.tolist()  # groups by branches
    [[100, 50, 0], [100, 0, 50]]
    >>> (result.q_value < 0.05).tolist()
    [[False, True, True], [False, True, True]]
    """
    n_bins = check.count(n_bins, "n_bins")
    check.choice(within_samples, "within_samples", ["groups", "cells"])
    n_permutations = check.count(n_permutations, "n_permutations", at_most=MOST_PERMUTATIONS)
    cells = _usable_cells(groups, branch, pseudotime, sample, lineages)
    labels = Labels(cells.group, cells.sample, sample is not None, within_samples)
    pairs = pairs_on_branches(cells.group, cells.branch)
    generator = check.generator(rng)
    count = counter(callback, n_permutations * (1 + len(pairs)))

    # 1. each group against the rest
    differences = GroupDifferences(cells.branch, cells.pseudotime, labels)
    observed = differences.of(cells.group)
    p = _p_values(differences, observed, labels, n_permutations, generator, count)
    # 2. pairs of groups within branches
    progress = compare_pairs(
        pairs,
        cells.group,
        cells.branch,
        cells.pseudotime,
        cells.sample,
        labels.permuted,
        n_permutations,
        generator,
        count,
    )
    # 3. the tables, groups and branches by the codes that were given
    return Composition(
        groups=cells.group_codes,
        branches=cells.branch_codes,
        used=cells.used,
        **_shares(cells, differences, labels),
        p_value=p.on_branches,
        q_value=adjusted(p.on_branches),
        chi2=float(observed.chi2),
        chi2_p_value=float(p.chi2),
        shift=observed.shift,
        shift_p_value=p.shift,
        shift_q_value=adjusted(p.shift),
        largest_gap=observed.gap,
        gap_p_value=p.gap,
        gap_q_value=adjusted(p.gap),
        bins=_bins(cells, _shown(cells.group, labels), n_bins),
        progress=replace(
            progress,
            first=cells.group_codes[progress.first],
            second=cells.group_codes[progress.second],
            branch=cells.branch_codes[progress.branch],
        ),
        permuted=labels.permuted,
        n_permutations=n_permutations,
        **_smallest(labels, n_permutations),
    )


@dataclass(frozen=True)
class _Cells:
    """The cells that can be used, in an order that depends on nothing but their values; cells of a sample lie together.

    Groups, branches and samples are codes without gaps, (n_used,); `group_codes` and `branch_codes` are those given.
    """

    used: np.ndarray  # which of all cells, (n,)
    group: np.ndarray
    group_codes: np.ndarray
    branch: np.ndarray
    branch_codes: np.ndarray
    sample: np.ndarray
    pseudotime: np.ndarray
    lineages: np.ndarray  # (n_used, n_lineages)


def _usable_cells(groups: Any, branch: Any, pseudotime: Any, sample: Any, lineages: Any) -> _Cells:
    """Check what was given, leave out cells that lack something, sort the others."""
    groups = check.codes(groups, "groups")
    n = len(groups)
    branch, pseudotime = (
        check.codes(branch, "branch", n, of="cells"),
        check.vector(pseudotime, "pseudotime", n, of="cells"),
    )
    sample = np.zeros(n, dtype=np.int64) if sample is None else check.codes(sample, "sample", n, of="cells")
    lineages = np.ones((n, 1), dtype=bool) if lineages is None else _lineages(lineages, n)
    used = (groups >= 0) & (branch >= 0) & (sample >= 0) & np.isfinite(pseudotime)
    if not used.any():
        raise ValueError(f"none of {len(groups)} cells has group, branch, sample and pseudotime; wanted some.")
    cells = np.flatnonzero(used)
    cells = cells[np.lexsort((groups[cells], pseudotime[cells], branch[cells], sample[cells]))]
    group_codes, group = np.unique(groups[cells], return_inverse=True)
    if len(group_codes) < 2:
        raise ValueError(f"all {len(cells)} cells that can be used are of one group; wanted at least two groups.")
    branch_codes, on_branch = np.unique(branch[cells], return_inverse=True)
    return _Cells(
        used=used,
        group=group,
        group_codes=group_codes,
        branch=on_branch,
        branch_codes=branch_codes,
        sample=np.unique(sample[cells], return_inverse=True)[1],
        pseudotime=pseudotime[cells],
        lineages=lineages[cells],
    )


def _lineages(values: Any, n: int) -> np.ndarray:
    lineages = check.array(values, "lineages")
    if lineages.ndim != 2 or len(lineages) != n:
        raise ValueError(f"lineages is of shape {lineages.shape}; wanted {n} cells by lineages.")
    if lineages.dtype.kind not in "fiub" or not np.isin(lineages, (0, 1)).all():
        raise TypeError(f"lineages is of type {lineages.dtype}; wanted True and False.")
    return lineages.astype(bool)


def _p_values(
    differences: GroupDifferences,
    observed: Differences,
    labels: Labels,
    n_permutations: int,
    rng: np.random.Generator,
    count: Callable[[int], None],
) -> Differences:
    """The p-value of each of the differences."""

    def hits_of(rows: np.ndarray) -> list[np.ndarray]:
        n_hits = [np.zeros(np.shape(value)) for value in observed]
        for given in rows:
            permuted = differences.of(labels.of_cells(given))
            for hits, value, own in zip(n_hits, permuted, observed, strict=True):
                hits += as_far(value, own)
        count(len(rows))
        return n_hits

    blocks = over_relabelings(hits_of, labels.given, labels.stratum, n_permutations, rng)
    on_branches, shift, gap, chi2 = (sum(parts) for parts in zip(*blocks, strict=True))
    least = _least_of_groups(labels.counts)
    return Differences(
        on_branches=p_value(on_branches, n_permutations, least[:, None]),
        shift=p_value(shift, n_permutations, least),
        gap=p_value(gap, n_permutations, least),
        chi2=p_value(chi2, n_permutations, least_share(labels.counts)),
    )


def _least_of_groups(counts: np.ndarray) -> np.ndarray:
    """The smallest p-value of each group against the rest over all ways to give labels, (n_groups,)."""
    rest = counts.sum(axis=1, keepdims=True) - counts
    return np.array([least_share(np.stack(pair, axis=1)) for pair in zip(counts.T, rest.T, strict=True)])


def _shown(group: np.ndarray, labels: Labels) -> np.ndarray:
    """Weights of the cells in shares, (n,): samples count alike within a group, which keeps its number of cells."""
    if labels.permuted != "groups within samples":
        return labels.weight
    return labels.weight * (np.bincount(group) / np.bincount(group, labels.weight))[group]


def _shares(cells: _Cells, differences: GroupDifferences, labels: Labels) -> dict[str, Any]:
    """Numbers and shares of the groups on the branches, each (n_groups, n_branches)."""
    mass = differences.on_branches(cells.group)
    n_groups, n_branches = mass.shape
    at, size = cells.group * n_branches + cells.branch, n_groups * n_branches
    counts = np.bincount(at, minlength=size)
    with np.errstate(divide="ignore", invalid="ignore"):
        log2_enrichment = np.log2(mass / differences.expected_on_branches)
    mass = np.bincount(at, _shown(cells.group, labels), minlength=size).reshape(mass.shape)
    return dict(
        counts=counts.reshape(mass.shape),
        share_of_branch=mass / mass.sum(axis=0),
        share_of_group=mass / mass.sum(axis=1, keepdims=True),
        log2_enrichment=log2_enrichment,
    )


def _bins(cells: _Cells, weight: np.ndarray, n_bins: int) -> list[LineageBins | None]:
    n_groups = len(cells.group_codes)
    return [
        lineage_bins(cells.group[inside], cells.pseudotime[inside], weight[inside], n_groups, n_bins)
        for inside in cells.lineages.T
    ]


def _smallest(labels: Labels, n_permutations: int) -> dict[str, Any]:
    """In how many ways labels can be given, and the smallest p-value to which that leads."""
    smallest = max(1 / (1 + n_permutations), _least_of_groups(labels.counts).min())
    return dict(n_distinct=n_distinct(labels.counts)[0], smallest_p_value=float(smallest))
