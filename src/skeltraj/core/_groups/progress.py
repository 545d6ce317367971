"""Pairs of groups compared within branches: which of the two is farther along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from threading import Event

import numpy as np

from skeltraj._printing import Printed
from skeltraj.core._runtime.threads import ordered_map

from .p_values import adjusted, as_far, p_value
from .relabel import Permuted, least_share, starts_of, sums_of_drawn


@dataclass(frozen=True, repr=False)
class BranchProgress(Printed):
    """Pairs of groups compared by their mean pseudotime within a branch; n_tests rows.

    Parameters
    ----------
    first, second
        The two groups.
    branch
        The branch, on which both have cells.
    difference
        Mean pseudotime of the first minus that of the second; if labels are permuted within samples, beyond the
        differences between samples, and NaN if no sample has both groups there.
    p_value, q_value
        Two-sided, by permutation; and adjusted over all rows (Benjamini-Hochberg). NaN like `difference`.
    """

    first: np.ndarray
    second: np.ndarray
    branch: np.ndarray
    difference: np.ndarray
    p_value: np.ndarray
    q_value: np.ndarray


def pairs_on_branches(group: np.ndarray, branch: np.ndarray) -> np.ndarray:
    """Rows of two groups and a branch on which both have cells, (n_tests, 3), by branch; codes without gaps."""
    rows = [
        (first, second, here)
        for here in range(int(branch.max()) + 1)
        for first, second in combinations(np.unique(group[branch == here]), 2)
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def compare_pairs(
    pairs: np.ndarray,
    group: np.ndarray,
    branch: np.ndarray,
    pseudotime: np.ndarray,
    sample: np.ndarray,
    permuted: Permuted,
    n_permutations: int,
    rng: np.random.Generator,
    count: Callable[[int], None],
) -> BranchProgress:
    """Compare the pairs of groups, by their codes.

    Parameters
    ----------
    pairs
        Two groups and a branch in each row, (n_tests, 3).
    group, branch, pseudotime, sample
        Of each cell, (n,); cells of a sample lie together.
    permuted
        What keeps its place while labels are permuted.
    n_permutations
        Number of permutations for each pair.
    rng
        Where the randomness comes from.
    count
        Called with the number of permutations after each pair.
    """
    stop = Event()

    def compare(test: tuple[np.ndarray, np.random.Generator]) -> tuple[float, float]:
        (first, second, here), stream = test
        cells = np.flatnonzero((branch == here) & ((group == first) | (group == second)))
        compared = _difference_of_means(
            pseudotime[cells], group[cells] == first, sample[cells], permuted, n_permutations, stream, stop
        )
        count(n_permutations)
        return compared

    tests = ordered_map(compare, zip(pairs, rng.spawn(len(pairs)), strict=True), stop=stop)
    difference, p = np.array(tests).reshape(-1, 2).T
    return BranchProgress(pairs[:, 0], pairs[:, 1], pairs[:, 2], difference, p, adjusted(p))


def _difference_of_means(
    values: np.ndarray,
    is_first: np.ndarray,
    sample: np.ndarray,
    permuted: Permuted,
    n_permutations: int,
    rng: np.random.Generator,
    stop: Event,
) -> tuple[float, float]:
    """Difference of the means of two groups of cells, and its p-value; NaN if no stratum has both."""
    unit = float(np.abs(values).max()) or 1.0  # differences far below it are rounding
    stratum = np.zeros(len(values), dtype=np.int64)
    if permuted != "cells":
        starts = starts_of(sample)
        start, size = starts[:-1], np.diff(starts)
        mean = np.add.reduceat(values, start) / size
        if permuted == "samples":
            values, is_first, stratum = mean, is_first[start], stratum[start]
        elif not _has_both_groups(is_first, sample).any():
            return np.nan, np.nan
        elif permuted == "groups within samples":
            values, is_first, stratum = _of_groups(values, is_first, sample)
        else:
            values, stratum = values - np.repeat(mean, size), sample
    values = (values - values.mean()) / unit
    n_first, n = is_first.sum(), len(values)
    scale = n / (n_first * (n - n_first))  # the values sum to 0: the sum of the first times this is the difference
    difference = scale * values[is_first].sum()
    sums = sums_of_drawn(values, stratum, is_first, n_permutations, rng, stop)
    flat = np.bincount(2 * stratum + is_first, minlength=2 * (int(stratum[-1]) + 1))
    counts = flat.reshape(-1, 2)
    n_hits = int(as_far(scale * sums, difference).sum())
    return float(unit * difference), float(p_value(n_hits, n_permutations, least_share(counts)))


def _has_both_groups(is_first: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """Whether each sample, by its code, has cells of both groups."""
    n_samples = int(sample.max()) + 1
    of_first = np.bincount(sample, is_first, n_samples)
    return (of_first > 0) & (of_first < np.bincount(sample, minlength=n_samples))


def _of_groups(values: np.ndarray, is_first: np.ndarray, sample: np.ndarray) -> tuple[np.ndarray, ...]:
    """Means of both groups in each sample that has both, around the sample's own; which is the first; the sample."""
    both = _has_both_groups(is_first, sample)
    part, n_parts = sample * 2 + is_first, 2 * len(both)
    sums, size = np.bincount(part, values, n_parts), np.bincount(part, minlength=n_parts)
    mean = np.divide(sums, size, out=np.zeros(n_parts), where=size > 0).reshape(-1, 2)[both]
    beyond = mean - mean.mean(axis=1, keepdims=True)
    return beyond.ravel(), np.tile([False, True], int(both.sum())), np.repeat(np.flatnonzero(both), 2)
