"""Pairs of neighbours, and the scale of the data that distances between neighbours give."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from skeltraj.core._runtime import check

from .pair_distances import PairDistances

# Rows count as the same where their squared distance is at most this share of phi_10: chosen by eye.
SAME = 1e-5


def given_pairs(neighbors: Any, phi: PairDistances) -> np.ndarray:
    """Pairs of neighbours, (m, 2), rising, for neighbours by the numbers under which the rows were given.

    Parameters
    ----------
    neighbors
        Numbers of each row's neighbours, (n, k), or a sparse matrix, (n, n), with an entry for each two neighbours.
    phi
        In whose order of the rows the pairs are.

    Raises
    ------
    ValueError
        If they are not such neighbours, or a row has none.
    """
    n = phi.n
    pairs = _pairs_of_entries(neighbors, n) if sparse.issparse(neighbors) else _pairs_of_numbers(neighbors, n)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    n_alone = n - len(np.unique(pairs))
    if n_alone:
        raise ValueError(f"neighbors: {n_alone} of {n} rows have no neighbours; wanted at least one for each.")
    place = np.empty(n, dtype=np.int64)
    place[phi.order] = np.arange(n)
    return np.unique(np.sort(place[pairs], axis=1), axis=0)


def _pairs_of_entries(neighbors: Any, n: int) -> np.ndarray:
    if neighbors.shape != (n, n):
        raise ValueError(f"neighbors has shape {neighbors.shape}; wanted ({n}, {n}).")
    entries = sparse.coo_matrix(check.entries(neighbors, "neighbors"))
    there = entries.data != 0
    return np.column_stack([entries.row[there], entries.col[there]]).astype(np.int64)


def _pairs_of_numbers(neighbors: Any, n: int) -> np.ndarray:
    numbers = np.asarray(neighbors)
    if numbers.ndim != 2 or len(numbers) != n or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"neighbors has shape {numbers.shape}, dtype {numbers.dtype}; wanted whole numbers, ({n}, k), or a sparse "
            "matrix."
        )
    if numbers.shape[1] >= n:
        raise ValueError(
            f"neighbors has shape {numbers.shape}; wanted the numbers of fewer neighbours than rows, ({n}, k), or a "
            "matrix of who is whose neighbour as a sparse one."
        )
    if numbers.size and (numbers.min() < 0 or numbers.max() >= n):
        wrong = numbers[(numbers < 0) | (numbers >= n)][0]
        raise ValueError(f"neighbors names row {wrong}; wanted numbers from 0 to {n - 1}.")
    return np.column_stack([np.repeat(np.arange(n), numbers.shape[1]), numbers.ravel().astype(np.int64)])


def scale_neighbor(n_obs: int) -> int:
    """Which neighbour's distance gives the scale: the 10th, nearer ones of fewer than 200 rows."""
    return min(10, max(2, n_obs // 20), n_obs - 1)


def median_neighbor_square(phi: PairDistances, near: np.ndarray) -> float:
    """phi_10: the median squared distance of a row to its `scale_neighbor`; of those above 0, if the median is 0.

    Parameters
    ----------
    phi
        Distances.
    near
        At least as many neighbours of each row, (n, k), the nearest first.

    Raises
    ------
    ValueError
        If all are zero, or not finite.
    """
    k = scale_neighbor(phi.n)
    squares = phi.of_pairs(np.column_stack([np.arange(phi.n), near[:, k - 1]]))
    if not np.isfinite(squares).all():
        raise ValueError(f"{phi.name}: squared distances are not finite; wanted values of a smaller size.")
    squares[squares <= phi.rounding] = 0.0  # between copies
    if not squares.any():
        raise ValueError(
            f"{phi.name}: each of the {phi.n} rows has {k} others at distance 0; wanted rows that differ (of copies, "
            "each once)."
        )
    return float(np.median(squares)) or float(np.median(squares[squares > 0]))
