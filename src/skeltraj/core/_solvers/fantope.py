"""The sum of the d largest eigenvalues of a symmetric matrix, and matrices that attain it."""

from __future__ import annotations

import numpy as np
from scipy import linalg


def top_sum(A: np.ndarray, d: int) -> tuple[float, np.ndarray]:
    """The sum of the d largest eigenvalues, and their eigenvectors, largest first, (D, d)."""
    values, vectors = linalg.eigh(A, subset_by_index=(len(A) - d, len(A) - 1))
    return float(values.sum()), vectors[:, ::-1]


def nearest(A: np.ndarray, d: int) -> np.ndarray:
    """The nearest M to A with ``0 <= M <= I`` and trace d, as a factor E, (D, rank), with ``M = E E'``.

    The maximum of ``<M, A>`` over these is the sum of A's d largest eigenvalues; where the d-th equals the next, many M
    attain it.
    """
    values, vectors = linalg.eigh(A)
    # the sum over clip(values - t, 0, 1) falls with t, and bends where a value enters or leaves
    bends = np.sort(np.r_[values, values - 1.0])
    sums = np.clip(values[:, None] - bends, 0.0, 1.0).sum(axis=0)
    i = max(0, int(np.searchsorted(-sums, -float(d), side="right")) - 1)  # the last bend with a sum of d or more
    t = bends[i]
    if sums[i] > d:
        t += (sums[i] - d) / (sums[i] - sums[i + 1]) * (bends[i + 1] - bends[i])
    share = np.clip(values - t, 0.0, 1.0)
    held = share > 0
    return vectors[:, held] * np.sqrt(share[held])
