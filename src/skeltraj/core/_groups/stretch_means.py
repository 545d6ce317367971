"""Means of a number, or shares of those that say yes, in stretches of pseudotime."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from skeltraj._printing import Printed
from skeltraj.core._runtime import check

from .lineage_bins import bin_bounds, bin_of


@dataclass(frozen=True, repr=False)
class StretchMeans(Printed):
    """A number along a lineage, in stretches with about as many cells each.

    Parameters
    ----------
    bounds
        Pseudotime at which stretches begin and end, (n_stretches + 1,); a stretch holds its upper bound, the first also
        its lower.
    middle
        Median pseudotime of the cells of each stretch, (n_stretches,).
    n
        Cells of each stretch, (n_stretches,).
    mean, sd
        Of their values, (n_stretches,); sd NaN for one cell.
    low, high
        Limits of the interval of the mean, (n_stretches,): Student's, NaN for one cell; of a share Wilson's.
    """

    bounds: np.ndarray
    middle: np.ndarray
    n: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    low: np.ndarray
    high: np.ndarray


def stretch_means(
    values: np.ndarray, pseudotime: np.ndarray, *, n_bins: int = 10, share: bool = False, level: float = 0.95
) -> StretchMeans | None:
    """Means of `values` in stretches of pseudotime with about as many cells each.

    The intervals treat the cells as independent of one another.

    Parameters
    ----------
    values
        Of each cell, (n,); NaN: none. Such cells have no part.
    pseudotime
        Of each cell, (n,); NaN: none.
    n_bins
        Largest number of stretches. Cells with equal pseudotime stay together, so there may be fewer.
    share
        Whether the values are 0 and 1, whose means are shares: the intervals are then those of Wilson (1927), which
        stay between 0 and 1 and are right for few cells.
    level
        Coverage of the intervals.

    Returns
    -------
    A :class:`StretchMeans`, whatever the order of the cells; None if no cell has a value and a pseudotime.

    Raises
    ------
    TypeError, ValueError
        If the arrays do not fit together, shares hold other values than 0 and 1, or a number is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from skeltraj import core
    >>> pseudotime = np.linspace(0, 3, 300)
    >>> means = core.stretch_means(pseudotime**2, pseudotime, n_bins=3)
    >>> means.n.tolist(), means.mean.round(1).tolist()
    ([100, 100, 100], [0.3, 2.3, 6.4])
    """
    n_bins, level, share = check.count(n_bins, "n_bins"), check.share(level, "level"), check.flag(share, "share")
    x = check.vector(values, "values")
    place = check.vector(pseudotime, "pseudotime", len(x), of="values")
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(place))
    known = known[np.lexsort((x[known], place[known]))]  # so that sums do not depend on the order of the cells
    x, place = x[known], place[known]
    if share and not np.isin(x, (0, 1)).all():
        raise ValueError("share=True wants values 0 and 1; others were given.")
    if not len(x):
        return None
    exponent = 0 if share else int(np.frexp(np.abs(x).max())[1])
    x = np.ldexp(x, -exponent)  # squares are numbers
    bounds = bin_bounds(place, n_bins)
    of, n_stretches = bin_of(place, bounds), len(bounds) - 1
    n = np.bincount(of, minlength=n_stretches)
    mean = np.bincount(of, x, minlength=n_stretches) / n
    squares = np.bincount(of, (x - mean[of]) ** 2, minlength=n_stretches)
    with np.errstate(divide="ignore", invalid="ignore"):
        sd = np.where(n > 1, np.sqrt(squares / (n - 1)), np.nan)
    low, high = _wilson(mean, n, level) if share else _student(mean, sd, n, level)
    middle = np.array([np.median(place[of == i]) for i in range(n_stretches)])
    return StretchMeans(bounds, middle, n, *(np.ldexp(of_values, exponent) for of_values in (mean, sd, low, high)))


def _student(mean: np.ndarray, sd: np.ndarray, n: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    half = np.full(len(n), np.nan)
    several = n > 1
    half[several] = -stdtrit(n[several] - 1, (1 - level) / 2) * sd[several] / np.sqrt(n[several])
    return mean - half, mean + half


def _wilson(share: np.ndarray, n: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    z2 = ndtri((1 - level) / 2) ** 2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2))) / (1 + z2 / n)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
