"""Squared distances between any two observations, asked for by pairs or by blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from skeltraj.core._data.canonical_order import canonical_kernel_order, canonical_order
from skeltraj.core._runtime import check

_BLOCK = 1 << 22  # numbers in a block of rows
# A squared distance smaller than this share of ||x_i||^2 + ||x_j||^2 is not taken by ||x_i||^2 + ||x_j||^2 - 2 x_i'x_j,
# which would cost it more than three of its sixteen digits. Chosen by eye.
_MIN_SHARE_BY_PRODUCTS = 1e-3
SAME = 1e-5  # squared distances below this share of the median neighbour's count as zero


class PairDistances:
    """``phi_ij`` of n observations, in an order that depends on their values alone.

    Parameters
    ----------
    values
        Rows, (n, D), dense or sparse, for squared Euclidean distances; a kernel matrix, (n, n), for
        ``K_ii + K_jj - 2 K_ij``; or the squared distances themselves, (n, n).
    kind
        "rows", "kernel" or "distances".
    name
        What messages call `values`.

    Raises
    ------
    TypeError, ValueError
        If `values` is not such a matrix: not finite, not symmetric, or with distances below zero.
    """

    def __init__(self, values: Any, kind: str, *, name: str) -> None:
        values = check.matrix(values, name=name)
        self._kind, self.name = kind, name
        if kind != "rows":
            values = _square(values, name)
            _symmetric(values, name)
        self.order = canonical_order(values) if kind == "rows" else canonical_kernel_order(values)
        self.n = values.shape[0]
        if kind == "rows":
            self.rows = values[self.order].astype(np.float64)
            if sparse.issparse(self.rows):
                self._squares = np.asarray(self.rows.multiply(self.rows).sum(axis=1)).ravel()
        else:
            self._matrix = values[np.ix_(self.order, self.order)].astype(np.float64)
            self._matrix = (self._matrix + self._matrix.T) / 2
        if kind == "distances":
            _distances(self._matrix, name)
        if kind == "kernel":
            self._own = np.diagonal(self._matrix).copy()
            lowest = float(min(self._kernel_block(rows).min() for rows in self.slices()))
            if lowest < -1e-8 * np.abs(self._own).max():
                raise ValueError(
                    f"{name} is not a kernel matrix: K_ii + K_jj - 2 K_ij is {lowest:g} for two observations; wanted no "
                    "squared distance below zero."
                )

    def of_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """``phi`` of each of the pairs, (m, 2) -> (m,)."""
        a, b = pairs.T
        if self._kind == "distances":
            return self._matrix[a, b]
        if self._kind == "kernel":
            return np.maximum(self._own[a] + self._own[b] - 2.0 * self._matrix[a, b], 0.0)
        found = np.empty(len(pairs))
        step = max(1, _BLOCK // self.rows.shape[1])
        for i in range(0, len(pairs), step):
            difference = self.rows[a[i : i + step]] - self.rows[b[i : i + step]]
            squares = difference.multiply(difference) if sparse.issparse(difference) else difference**2
            found[i : i + step] = np.asarray(squares.sum(axis=1)).ravel()
        return found

    def slices(self) -> Iterator[slice]:
        """Blocks of rows whose distances to all fit into little memory."""
        width = max(self.n, self.rows.shape[1]) if self._kind == "rows" and sparse.issparse(self.rows) else self.n
        step = int(np.clip(_BLOCK // width, 1, 256))
        return (slice(i, min(i + step, self.n)) for i in range(0, self.n, step))

    def block(self, rows: slice) -> np.ndarray:
        """``phi`` of some rows with all, (n_rows, n)."""
        if self._kind == "distances":
            return self._matrix[rows]
        if self._kind == "kernel":
            return np.maximum(self._kernel_block(rows), 0.0)
        if sparse.issparse(self.rows):
            return self._sparse_block(rows)
        return cdist(self.rows[rows], self.rows, "sqeuclidean")

    def _sparse_block(self, rows: slice) -> np.ndarray:
        """The same for sparse rows: by products; by differences, part after part, where products lose digits."""
        sums = self._squares[rows, None] + self._squares
        block = sums - 2.0 * (self.rows[rows] @ self.rows.T).toarray()
        lost = (block < _MIN_SHARE_BY_PRODUCTS * sums).any(axis=0)
        filled = self.rows[rows].toarray()
        for others in self.slices():
            if lost[others].any():
                block[:, others] = cdist(filled, self.rows[others].toarray(), "sqeuclidean")
        return block

    def _kernel_block(self, rows: slice) -> np.ndarray:
        return self._own[rows, None] + self._own - 2.0 * self._matrix[rows]

    def neighbors(self, k: int) -> np.ndarray:
        """The `k` nearest others of each, (n, k); of equally near ones the first."""
        found = np.empty((self.n, k), dtype=np.int64)
        for rows in self.slices():
            block = self.block(rows).copy()
            at = np.arange(self.n)[rows]
            block[np.arange(len(at)), at] = np.inf
            near = np.sort(np.argpartition(block, k - 1, axis=1)[:, :k], axis=1)
            near = np.take_along_axis(near, np.argsort(np.take_along_axis(block, near, 1), axis=1, kind="stable"), 1)
            found[rows] = near
        return found


def pairs_of(neighbors: np.ndarray) -> np.ndarray:
    """Each pair of which one is among the neighbours, (n, k), of the other, once: (m, 2), rising."""
    n, k = neighbors.shape
    return np.unique(np.sort(np.column_stack([np.repeat(np.arange(n), k), neighbors.ravel()]), axis=1), axis=0)


def _square(matrix: Any, name: str) -> np.ndarray:
    if sparse.issparse(matrix):
        raise TypeError(f"{name} is sparse; wanted a dense matrix (a missing entry would read as zero).")
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} has shape {matrix.shape}; wanted a square matrix, (n_obs, n_obs).")
    return matrix


def _symmetric(matrix: np.ndarray, name: str) -> None:
    largest, apart = 0.0, 0.0
    step = max(1, _BLOCK // len(matrix))
    for i in range(0, len(matrix), step):
        part = matrix[i : i + step].astype(np.float64)
        largest = max(largest, float(np.abs(part).max()))
        apart = max(apart, float(np.abs(part - matrix[:, i : i + step].T).max()))
    if apart > 1e-8 * largest:
        raise ValueError(f"{name} is not symmetric: entries differ by up to {apart:g}; wanted the same both ways.")


def _distances(matrix: np.ndarray, name: str) -> None:
    lowest = float(matrix.min())
    if lowest < 0:
        raise ValueError(f"{name} holds {lowest:g}; wanted no squared distance below zero.")
    own = float(np.abs(np.diagonal(matrix)).max())
    if own > 1e-8 * float(matrix.max()):
        raise ValueError(f"{name} has {own:g} on its diagonal; wanted 0, the distance of an observation from itself.")
    if matrix.max() == 0:
        raise ValueError(
            f"{name} holds zeros only: all {len(matrix)} observations are the same; wanted some that differ."
        )


def own_scale(n_obs: int) -> int:
    """Which neighbour's distance sets the scale: the 10th, nearer ones of fewer than 200 rows."""
    return min(10, max(2, n_obs // 20), n_obs - 1)


def scale_of(phi: PairDistances, near: np.ndarray) -> float:
    """Median squared distance of a row to that neighbour; of those that are not zero, if the median is.

    Raises
    ------
    ValueError
        If all are zero, or not finite.
    """
    own = own_scale(phi.n)
    squares = phi.of_pairs(np.column_stack([np.arange(phi.n), near[:, own - 1]]))
    if not np.isfinite(squares).all():
        raise ValueError(f"{phi.name}: squared distances are not finite; wanted values of a smaller size.")
    if not squares.any():
        raise ValueError(
            f"{phi.name}: each of the {phi.n} rows has {own} others at distance 0; wanted rows that differ."
        )
    return float(np.median(squares)) or float(np.median(squares[squares > 0]))
