"""Groups of cells in bins along a lineage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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


def lineage_bins(
    group: np.ndarray, pseudotime: np.ndarray, weight: np.ndarray, n_groups: int, n_bins: int
) -> LineageBins | None:
    """Bins of the cells of one lineage, from the first to the last; None if there are no cells.

    Parameters
    ----------
    group, pseudotime, weight
        Of each cell of the lineage, (n,); groups as codes from 0.
    n_groups
        Number of groups.
    n_bins
        Most bins. Cells with equal pseudotime stay together, so there may be fewer.
    """
    if not len(group):
        return None
    n = min(n_bins, len(group))
    bounds = np.unique(np.quantile(pseudotime, np.arange(n + 1) / n, method="inverted_cdf"))
    if len(bounds) == 1:  # all cells at one place
        bounds = np.repeat(bounds, 2)
    n = len(bounds) - 1
    cell = group * n + np.searchsorted(bounds[1:-1], pseudotime, side="left")
    counts = np.bincount(cell, minlength=n_groups * n).reshape(n_groups, n)
    mass = np.bincount(cell, weight, minlength=n_groups * n).reshape(n_groups, n)
    return LineageBins(bounds, counts, mass / mass.sum(axis=0))
