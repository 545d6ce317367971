"""Groups of cells in bins along a lineage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skeltraj._printing import Printed


@dataclass(frozen=True, repr=False)
class LineageBins(Printed):
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
    bounds = bin_bounds(pseudotime, n_bins)
    n = len(bounds) - 1
    cell = group * n + bin_of(pseudotime, bounds)
    counts = np.bincount(cell, minlength=n_groups * n).reshape(n_groups, n)
    mass = np.bincount(cell, weight, minlength=n_groups * n).reshape(n_groups, n)
    return LineageBins(bounds, counts, mass / mass.sum(axis=0))


def bin_bounds(pseudotime: np.ndarray, n_bins: int) -> np.ndarray:
    """Where bins with about as many cells each begin and end, at most n_bins; cells at one place stay together."""
    n = min(n_bins, len(pseudotime))
    bounds = np.unique(np.quantile(pseudotime, np.arange(n + 1) / n, method="inverted_cdf"))
    return bounds if len(bounds) > 1 else np.repeat(bounds, 2)  # twice the same if all cells are at one place


def bin_of(pseudotime: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """The bin of each cell, from 0: that which holds it, its upper bound included."""
    return np.searchsorted(bounds[1:-1], pseudotime, side="left")
