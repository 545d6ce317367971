"""How far weights are from the best ones, proved by duality."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skeltraj._printing import Printed


@dataclass(frozen=True, repr=False)
class Certificate(Printed):
    """Proof of how close a result is to the maximum.

    Parameters
    ----------
    kkt_violation
        Largest violation of the Karush-Kuhn-Tucker conditions over all pairs, in the units of the distances: the size
        of a derivative that should be zero, or that should not point further into the bounds.
    duality_gap
        The true maximum is above `value` by at most this much.
    """

    kkt_violation: float
    duality_gap: float


def violation(derivative: np.ndarray, weights: np.ndarray, upper: float) -> np.ndarray:
    """By how much derivatives at weights between 0 and `upper` break the Karush-Kuhn-Tucker conditions, (m,).

    At the maximum a weight that can grow has no derivative above 0, and one that can shrink none below.
    """
    upwards = np.where(weights < upper, np.maximum(derivative, 0.0), 0.0)
    downwards = np.where(weights > 0, np.maximum(-derivative, 0.0), 0.0)
    return np.maximum(upwards, downwards)


def ratio_of(gain: np.ndarray, price: np.ndarray) -> np.ndarray:
    """How many times its price a pair's weight gains, (m,); inf where the price is zero."""
    with np.errstate(over="ignore"):
        return np.divide(gain, price, out=np.full_like(gain, np.inf), where=price > 0)
