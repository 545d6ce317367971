"""Which cells are drawn where there are too many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd


def thinned(most: int, names: pd.Index, points: np.ndarray, groupings: Sequence[np.ndarray]) -> np.ndarray:
    """At most about `most` of the cells, ascending; the same ones in whatever order the cells come.

    A half of the places is shared out evenly among the groupings, and in each among its groups, so that rare groups
    keep their cells (all, if they have no more than their share); the other half goes to cells of any group. Which cell
    of a group comes first depends on its name and place alone, by a hash of these.

    Parameters
    ----------
    most
        How many to keep. More are kept only where there are more groups than places: one of each.
    names, points
        Of the cells; (n, d).
    groupings
        Codes of the cells' groups, (n,) each; negative: in none.
    """
    n = len(points)
    if n <= most:
        return np.arange(n)
    order = np.argsort(_hashes(names, points), kind="stable")
    codes = [np.asarray(grouping)[order] for grouping in groupings]
    kept = np.zeros(n, dtype=bool)
    for of in codes:
        n_groups = len(np.unique(of[of >= 0]))
        share = max(1, most // (2 * len(codes) * max(1, n_groups)))
        kept |= (of >= 0) & (pd.Series(of).groupby(of).cumcount().to_numpy() < share)
    rest = np.flatnonzero(~kept)
    kept[rest[: max(0, most - int(kept.sum()))]] = True
    return np.sort(order[kept])


def _hashes(names: pd.Index, points: np.ndarray) -> np.ndarray:
    """A number for each cell that depends on its name and its place, (n,)."""
    hashes = pd.util.hash_array(names.to_numpy(dtype=object), categorize=False)
    for column in np.asarray(points, dtype=np.float64).T:
        hashes = hashes * np.uint64(31) + pd.util.hash_array(np.ascontiguousarray(column))
    return hashes
