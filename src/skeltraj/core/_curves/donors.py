"""Donors as the unit: who the points belong to, and what donors can be asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skeltraj.core._runtime import check


@dataclass(frozen=True, eq=False, repr=False)
class Donors:
    """Who the points that are used belong to.

    Parameters
    ----------
    unit
        Unit of each point, from 0, (n,): all its donor's points of one condition.
    donor, condition
        Donor and condition of each unit, from 0, (n_units,).
    group
        Of each donor, from 0, (n_donors,): donors with cells of the same conditions.
    """

    unit: np.ndarray
    donor: np.ndarray
    condition: np.ndarray
    group: np.ndarray

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.donor)

    @property
    def paired(self) -> bool:
        """Whether donors have cells of several conditions."""
        return self.n_units > len(self.group)


def donors_of(sample: np.ndarray, condition: np.ndarray | None = None) -> Donors:
    """Donors, and what they can be asked.

    Parameters
    ----------
    sample
        Donor of each point, as codes, (n,).
    condition
        Condition of each point, likewise. None: one for all.

    Raises
    ------
    ValueError
        If there are too few donors to see how they differ.
    """
    names, donor_of_point = np.unique(sample, return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"sample: all {len(sample)} points that are used are of one donor; wanted at least two.")
    if condition is None:
        condition = np.zeros(len(sample), dtype=np.int64)
    codes, condition = np.unique(condition, return_inverse=True)
    n_conditions = int(condition.max()) + 1
    pairs, unit = np.unique(donor_of_point * n_conditions + condition, return_inverse=True)
    donor, of = pairs // n_conditions, pairs % n_conditions
    has = np.zeros((len(names), n_conditions), dtype=bool)
    has[donor, of] = True
    group = np.unique(has, axis=0, return_inverse=True)[1].reshape(-1)
    if n_conditions > 1:
        several = int((has.sum(axis=1) > 1).sum())
        per_condition = has.sum(axis=0)
        if not several and per_condition.min() < 2:
            few = int(per_condition.argmin())
            raise ValueError(
                f"sample: condition {codes[few]} has {per_condition[few]} donor; wanted at least two for each, or "
                "donors with points of several conditions."
            )
        if several and (not _connected(has) or np.bincount(group).max() < 2 or several == 1):
            raise ValueError(
                f"sample: {several} of {len(names)} donors have points of several conditions; wanted none, or at least "
                "two that have the same ones, and all conditions linked by such donors."
            )
    return Donors(unit, donor, of, group)


def columns_of(condition: np.ndarray) -> np.ndarray:
    """Conditions, as codes, (n,), as columns of 0 and 1, (n, n_conditions)."""
    return (condition[:, None] == np.arange(condition.max() + 1)).astype(np.float64)


def having(codes: np.ndarray | None, used: np.ndarray | None, n: int) -> np.ndarray | None:
    """Points that are used and have a code, (n,); None: all."""
    if codes is None:
        return used
    return codes >= 0 if used is None else check.chosen(used, "used", n) & (codes >= 0)


def _connected(has: np.ndarray) -> bool:
    """Whether donors with several conditions link them all."""
    both = has[has.sum(axis=1) > 1].astype(int)
    linked = np.linalg.matrix_power(both.T @ both + np.eye(has.shape[1], dtype=int) > 0, has.shape[1])
    return bool(linked.all())
