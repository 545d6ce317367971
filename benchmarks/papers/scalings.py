"""Ways to scale features before anything is learned; the papers do not say which they took."""

from __future__ import annotations

import numpy as np


def raw(X: np.ndarray) -> np.ndarray:
    """As they are."""
    return X


def standardised(X: np.ndarray) -> np.ndarray:
    """Every column with mean 0 and standard deviation 1 (constant columns: 0)."""
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


def from_minus_one_to_one(X: np.ndarray) -> np.ndarray:
    """Every column spread over -1 to 1, as in the libsvm collection (constant columns: -1)."""
    width = np.ptp(X, axis=0)
    return 2 * (X - X.min(axis=0)) / np.where(width > 0, width, 1) - 1


def unit_length(X: np.ndarray) -> np.ndarray:
    """Every row of length 1."""
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def standardised_rows(X: np.ndarray) -> np.ndarray:
    """Every row with mean 0 and standard deviation 1."""
    return (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)


SCALINGS = (raw, standardised, from_minus_one_to_one, unit_length, standardised_rows)
