"""Weights of each row's nearest neighbours."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from skeltraj.core._geometry.neighbors import k_nearest
from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.threads import ordered_map

MAX_ROWS = 1024  # rows whose neighbours are looked for at once; chosen by eye
TIE = 1e-6  # squared distances that differ by a smaller share of them are equal: what float32 can tell


def rows_at_once(n: int) -> int:
    """Of n rows, how many to take at once: few enough, and so that two threads have as many each."""
    return max(1, -(-n // (2 * -(-n // (2 * MAX_ROWS)))))


def weights_among(reference: np.ndarray, k: int) -> sparse.csr_matrix:
    """P among the rows of the reference: in each row `k` weights, or more where some are shared, that sum to 1."""
    n = len(reference)
    step = rows_at_once(n)

    def rows_from(first: int) -> sparse.csr_matrix:
        starts, columns, weights = weighted_neighbors(reference[first : first + step], reference, k)
        return sparse.csr_matrix((weights, columns, starts), shape=(len(starts) - 1, n))

    return sparse.vstack(ordered_map(rows_from, range(0, n, step)), format="csr")


def weighted_neighbors(points: np.ndarray, reference: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The `k` nearest of the reference for each point and their weights, the nearest first, as rows of a CSR matrix.

    Of counts and the like many are equally near. Where some of these are among the `k` and some are not, rounding would
    choose, so all of them share the weight that is left.

    Returns
    -------
    Where the rows begin, (n + 1,), the numbers of the neighbours and their weights.
    """
    starts, columns, weights = _weigh(*k_nearest(points, reference, k, tie=TIE))
    return starts, columns, weights


@compiled
def _weigh(
    numbers: np.ndarray, squared: np.ndarray, tied_start: np.ndarray, tied: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights of the fields of `Nearest`: ``exp(-d^2 / d_last^2)``, normalised by row."""
    n, k = numbers.shape
    starts = np.zeros(n + 1, dtype=np.int64)
    columns, weights = np.empty(n * k + len(tied), dtype=np.int64), np.empty(n * k + len(tied))
    for i in range(n):
        last = squared[i, k - 1]
        n_nearer, sharing = k, tied[:0]
        if last > 0 and tied_start[i + 1] > tied_start[i]:
            sharing = tied[tied_start[i] : tied_start[i + 1]]
            n_nearer = 0
            while squared[i, n_nearer] < last - TIE * last:
                n_nearer += 1
        start, shared = starts[i], starts[i] + n_nearer
        end = starts[i + 1] = shared + len(sharing)
        for m in range(n_nearer):
            columns[start + m] = numbers[i, m]
            weights[start + m] = np.exp(-squared[i, m] / last) if last > 0 else 1.0
        for m in range(len(sharing)):
            columns[shared + m] = sharing[m]
            weights[shared + m] = np.exp(-1.0) * (k - n_nearer) / len(sharing)
        total = 0.0
        for at in range(start, end):
            total += weights[at]
        for at in range(start, end):
            weights[at] /= total
    return starts, columns[: starts[-1]], weights[: starts[-1]]
