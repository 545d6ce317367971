"""A block of rows, dense or sparse, centred without copying what it came from."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from skeltraj.core._geometry.assign import Entries
from skeltraj.core._runtime.compile import compiled

# Entries of one block: few enough for a processor's cache; chosen by eye. Blocks depend on the shape of the data alone,
# so sums over them come out the same every time.
BLOCK_ENTRIES = 1 << 18
# Share of the sum of squares that centring must leave for sparse blocks to be centred afterwards; chosen by eye.
CENTRED_SHARE = 1e-6
# BLAS may sum the last rows of a matrix in another order than the others, where their number is no multiple of this, so
# that rows which are the same would not be projected to the same place (OpenBLAS with AVX-512).
_EVEN_ROWS = 8


def block_of(X: Any, mean: np.ndarray) -> DenseBlock | SparseBlock:
    """Rows of a matrix, all of them, as a block."""
    if sparse.issparse(X):
        return SparseBlock(X.tocsr().astype(np.float64, copy=False), mean)
    return rows_of(np.asarray(X), np.arange(len(X)), mean)


def rows_of(X: np.ndarray, rows: np.ndarray, mean: np.ndarray, memory: np.ndarray | None = None) -> DenseBlock:
    """Some rows of a dense matrix as a block, in `memory` if that is given: (even_rows(n), n_features)."""
    if X.dtype not in (np.float32, np.float64):
        X, rows = X[rows].astype(np.float64), np.arange(len(rows))
    values = np.empty((even_rows(len(rows)), X.shape[1])) if memory is None else memory
    _gather(X, rows, mean, values)
    return DenseBlock(values, len(rows))


def even_rows(n: int) -> int:
    """So many rows, or a few more, that BLAS treats each alike."""
    return n + -n % _EVEN_ROWS


def column_sums(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Sums over some rows of a dense matrix, (n_features,)."""
    if X.dtype in (np.float32, np.float64):
        return _column_sums(X, rows)
    return X[rows].astype(np.float64).sum(axis=0)


class DenseBlock:
    """Some centred rows: the first `n` of the values, or all; what follows are rows of zeros.

    Attributes
    ----------
    even
        All of them, so many that BLAS treats each row alike.
    """

    def __init__(self, values: np.ndarray, n: int | None = None) -> None:
        self.even = values if n is not None else np.pad(values, ((0, even_rows(len(values)) - len(values)), (0, 0)))
        self._values = self.even[: len(values) if n is None else n]

    def __len__(self) -> int:
        return len(self._values)

    def filled(self) -> np.ndarray:
        """The rows as a dense matrix."""
        return self._values

    def column_sums(self) -> np.ndarray:
        return self._values.sum(axis=0)

    def total(self) -> float:
        return float(np.vdot(self._values, self._values))

    def moment(self) -> np.ndarray:
        return self._values.T @ self._values

    def project(self, V: np.ndarray) -> np.ndarray:
        projected: np.ndarray = self.even @ V
        return projected[: len(self._values)]

    def transpose_times(self, U: np.ndarray) -> np.ndarray:
        """``block' U``."""
        return self._values.T @ U

    def gather(self, R: Entries | sparse.csr_matrix, total: np.ndarray) -> None:
        """Add ``R' block`` to `total`, (K, n_features)."""
        gather_rows(R.indptr, R.indices, R.data, self._values, total)


class SparseBlock:
    """Some sparse rows with their means kept apart, so that nothing is filled in."""

    def __init__(self, values: sparse.csr_matrix, mean: np.ndarray) -> None:
        self._values = values
        self._mean = mean

    def __len__(self) -> int:
        return int(self._values.shape[0])

    def filled(self) -> np.ndarray:
        """The rows as a dense matrix."""
        return self._values.toarray() - self._mean

    def column_sums(self) -> np.ndarray:
        return np.asarray(self._values.sum(axis=0)).ravel() - self._values.shape[0] * self._mean

    def total(self) -> float:
        # entry by entry: the difference of two large sums would lose digits where the mean is large
        X = self._values
        zeros = X.shape[0] - np.bincount(X.indices, minlength=X.shape[1])
        return float(np.sum((X.data - self._mean[X.indices]) ** 2) + zeros @ self._mean**2)

    def moment(self) -> np.ndarray:
        sums = np.asarray(self._values.sum(axis=0)).ravel()
        cross = np.outer(sums, self._mean)
        raw = (self._values.T @ self._values).toarray()
        return raw - cross - cross.T + self._values.shape[0] * np.outer(self._mean, self._mean)

    def project(self, V: np.ndarray) -> np.ndarray:
        return self._values @ V - self._mean @ V

    def transpose_times(self, U: np.ndarray) -> np.ndarray:
        """``block' U``."""
        return self._values.T @ U - np.outer(self._mean, U.sum(axis=0))

    def gather(self, R: Entries | sparse.csr_matrix, total: np.ndarray) -> None:
        """Add ``R' block`` to `total`, (K, n_features), without the mean: see `RowBlocks.gathered`."""
        X = self._values
        _gather_sparse_rows(R.indptr, R.indices, R.data, X.indptr, X.indices, X.data, total)


# Compiled, so that threads can run it.
@compiled
def gather_rows(indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, X: np.ndarray, total: np.ndarray) -> None:
    """Add ``R'X`` to `total` row by row: every weight adds a multiple of its row to its node's sum."""
    for i in range(len(indptr) - 1):
        for at in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            weight, row = weights[at], total[np.uint64(indices[at])]
            for j in range(X.shape[1]):
                row[j] += weight * X[i, j]


@compiled
def _gather_sparse_rows(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    x_indptr: np.ndarray,
    x_indices: np.ndarray,
    x_data: np.ndarray,
    total: np.ndarray,
) -> None:
    for i in range(len(indptr) - 1):
        for at in range(indptr[i], indptr[i + 1]):
            k, weight = indices[at], weights[at]
            for entry in range(x_indptr[i], x_indptr[i + 1]):
                total[k, x_indices[entry]] += weight * x_data[entry]


@compiled
def _gather(X: np.ndarray, rows: np.ndarray, mean: np.ndarray, out: np.ndarray) -> None:
    """The rows, widened and centred, and rows of zeros after them."""
    out[len(rows) :] = 0.0
    for i in range(len(rows)):
        row = rows[i]
        for j in range(X.shape[1]):
            out[i, j] = X[row, j] - mean[j]


@compiled
def _column_sums(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    total = np.zeros(X.shape[1])
    for i in range(len(rows)):
        row = rows[i]
        for j in range(X.shape[1]):
            total[j] += X[row, j]
    return total
