"""The samples of which enough is known to model their survival."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Samples:
    """The samples that are used, by all that is known of them, so that sums do not depend on how they are given.

    Parameters
    ----------
    used
        Which of those given, (n,); all else is of these alone.
    time, event, place, branch, Z
        Time, whether the event came, pseudotime, branch (-1: none that is compared), covariates.
    """

    used: np.ndarray
    time: np.ndarray
    event: np.ndarray
    place: np.ndarray
    branch: np.ndarray
    Z: np.ndarray

    @classmethod
    def used_of(
        cls, time: np.ndarray, event: np.ndarray, pseudotime: np.ndarray, branch: np.ndarray, Z: np.ndarray
    ) -> Samples:
        """Those of which all but the branch is known."""
        for array, name in ((event, "event"), (pseudotime, "pseudotime"), (branch, "branch"), (Z, "covariates")):
            if len(array) != len(time):
                raise ValueError(f"{name}: {len(array)} values were given for {len(time)} samples.")
        _refuse_times(time)
        _refuse_events(event)
        used = np.isfinite(time) & np.isfinite(event) & np.isfinite(pseudotime) & np.isfinite(Z).all(axis=1)
        if not used.any():
            raise ValueError(
                f"none of the {len(time)} samples has a time, an event, a pseudotime and all covariates; wanted some."
            )
        rows = np.flatnonzero(used)
        rows = rows[np.lexsort([key[rows] for key in (*Z.T, branch, pseudotime, event, time)])]
        return cls(used, time[rows], event[rows] > 0, pseudotime[rows], branch[rows], Z[rows])


def _refuse_times(time: np.ndarray) -> None:
    if np.isinf(time).any():
        raise ValueError(f"time: {int(np.isinf(time).sum())} values are infinite; wanted finite ones, from 0 up.")
    if (time < 0).any():
        raise ValueError(
            f"time: {int((time < 0).sum())} of {len(time)} values are negative, the least is {np.nanmin(time):g}; "
            "wanted times from the start of observation, from 0 up."
        )


def _refuse_events(event: np.ndarray) -> None:
    there = np.unique(event[~np.isnan(event)])
    if not np.isin(there, (0, 1)).all():
        raise ValueError(
            f"event: the values are {[float(value) for value in there[:6]]}{' and more' if len(there) > 6 else ''}; "
            "wanted 0 (observation ended without the event) and 1 (it came), or False and True."
        )
