"""Pairs of groups compared within branches: which of the two is farther along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from skeltraj._printing import Printed

from .p_values import adjusted, as_far, p_value
from .relabel import Permuted, relabelings


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
    difference, p = np.empty(len(pairs)), np.empty(len(pairs))
    for i, (first, second, here) in enumerate(pairs):
        cells = np.flatnonzero((branch == here) & ((group == first) | (group == second)))
        difference[i], p[i] = _difference_of_means(
            pseudotime[cells], group[cells] == first, sample[cells], permuted, n_permutations, rng
        )
        count(n_permutations)
    return BranchProgress(pairs[:, 0], pairs[:, 1], pairs[:, 2], difference, p, adjusted(p))


def _difference_of_means(
    values: np.ndarray,
    is_first: np.ndarray,
    sample: np.ndarray,
    permuted: Permuted,
    n_permutations: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Difference of the means of two groups of cells, and its p-value."""
    unit = float(np.abs(values).max()) or 1.0  # differences far below it are rounding
    stratum = np.zeros(len(values), dtype=np.int64)
    if permuted != "cells":
        start = np.flatnonzero(np.diff(sample, prepend=-1))
        size = np.diff(np.r_[start, len(sample)])
        mean = np.add.reduceat(values, start) / size
        if permuted == "samples":
            values, is_first, stratum = mean, is_first[start], stratum[start]
        else:
            values, stratum = values - np.repeat(mean, size), sample
    values = (values - values.mean()) / unit
    contrast = np.where(is_first, 1 / is_first.sum(), -1 / (~is_first).sum())
    difference = values @ contrast
    # to permute the values is to permute the labels
    shuffled = relabelings(values, stratum, n_permutations, rng)
    n_hits = sum(int(as_far(rows @ contrast, difference).sum()) for rows in shuffled)
    return float(unit * difference), float(p_value(n_hits, n_permutations))
