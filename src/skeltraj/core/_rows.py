"""The data as a fit sees them: rows in an order of their own, centred, one block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

# Entries of one block. Blocks depend on the shape of the data alone, so sums over them come out the same every time.
_BLOCK = 1 << 20


class Rows:
    """Rows of `X` in canonical order.

    The order is a function of the rows' values alone, so every sum over the rows, and every choice made along them,
    is the same to the last bit however the rows were given. Blocks are widened to float64 (dense) or kept sparse as
    they pass; `X` itself is neither copied nor widened, and all sums are float64. A float32 input therefore loses
    nothing but the digits that it never had.

    Parameters
    ----------
    X
        Dense or CSR matrix, (n_obs, n_features).
    center
        Whether to subtract the column means (implicitly, block by block).
    order
        Canonical order of the rows, where it is known already.
    """

    def __init__(self, X: np.ndarray | sparse.csr_matrix, *, center: bool, order: np.ndarray | None = None) -> None:
        self._X = X
        self.n_obs, self.n_features = X.shape
        self.order = canonical_order(X) if order is None else order
        step = int(np.clip(_BLOCK // self.n_features, 64, 8192))
        self.slices = [slice(i, min(i + step, self.n_obs)) for i in range(0, self.n_obs, step)]
        self.mean = np.zeros(self.n_features)
        if center:
            total = np.zeros(self.n_features)
            for block in self:
                total += block.column_sums()
            self.mean = total / self.n_obs

    def __iter__(self) -> Iterator[DenseBlock | SparseBlock]:
        for rows in self.slices:
            X = self._X[self.order[rows]]
            if sparse.issparse(X):
                yield SparseBlock(X.astype(np.float64, copy=False), self.mean)
            else:
                yield DenseBlock(X - self.mean if X.dtype == np.float64 else X.astype(np.float64) - self.mean)

    def total(self) -> float:
        """Sum of squares, ``||X||_F^2``."""
        return float(sum(block.squares().sum() for block in self))

    def moment(self) -> np.ndarray:
        """``X'X``, (n_features, n_features)."""
        total = np.zeros((self.n_features, self.n_features))
        for block in self:
            total += block.moment()
        return total

    def apply_moment(self, V: np.ndarray) -> np.ndarray:
        """``X'X V`` without forming ``X'X``."""
        total = np.zeros((self.n_features, V.shape[1]))
        for block in self:
            total += block.pull(block.project(V))
        return total

    def project(self, V: np.ndarray) -> np.ndarray:
        """``X V``, (n_obs, m), in canonical order."""
        return np.concatenate([block.project(V) for block in self])

    def pull(self, U: np.ndarray) -> np.ndarray:
        """``X'U``, (n_features, m), `U` in canonical order."""
        total = np.zeros((self.n_features, U.shape[1]))
        for rows, block in zip(self.slices, self, strict=True):
            total += block.pull(U[rows])
        return total

    def gram(self) -> np.ndarray:
        """``X X'``, (n_obs, n_obs), in canonical order; for more columns than rows."""
        if sparse.issparse(self._X):
            X = self._X[self.order].astype(np.float64)
            gram = (X @ X.T).toarray()
            cross = np.asarray(X @ self.mean)
            return gram - cross[:, None] - cross[None, :] + self.mean @ self.mean
        gram = np.zeros((self.n_obs, self.n_obs))
        step = max(1, _BLOCK // self.n_obs)
        for i in range(0, self.n_features, step):
            part = self._X[self.order, i : i + step].astype(np.float64) - self.mean[i : i + step]
            gram += part @ part.T
        return gram


class DenseBlock:
    """Some centred rows."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def column_sums(self) -> np.ndarray:
        return self._values.sum(axis=0)

    def squares(self) -> np.ndarray:
        return np.einsum("ij,ij->i", self._values, self._values)

    def moment(self) -> np.ndarray:
        return self._values.T @ self._values

    def project(self, V: np.ndarray) -> np.ndarray:
        return self._values @ V

    def pull(self, U: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """``block' U``."""
        return (U.T @ self._values).T


class SparseBlock:
    """Some sparse rows with their means kept apart, so that nothing is filled in."""

    def __init__(self, values: sparse.csr_matrix, mean: np.ndarray) -> None:
        self._values = values
        self._mean = mean

    def column_sums(self) -> np.ndarray:
        return np.asarray(self._values.sum(axis=0)).ravel() - self._values.shape[0] * self._mean

    def squares(self) -> np.ndarray:
        raw = np.asarray(self._values.multiply(self._values).sum(axis=1)).ravel()
        return raw - 2 * (self._values @ self._mean) + self._mean @ self._mean

    def moment(self) -> np.ndarray:
        sums = np.asarray(self._values.sum(axis=0)).ravel()
        cross = np.outer(sums, self._mean)
        raw = (self._values.T @ self._values).toarray()
        return raw - cross - cross.T + self._values.shape[0] * np.outer(self._mean, self._mean)

    def project(self, V: np.ndarray) -> np.ndarray:
        return self._values @ V - self._mean @ V

    def pull(self, U: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """``block' U``."""
        raw = self._values.T @ U
        sums = np.asarray(U.sum(axis=0)).ravel()
        return (raw.toarray() if sparse.issparse(raw) else raw) - np.outer(self._mean, sums)


def canonical_order(X: Any) -> np.ndarray:
    """Order of the rows that depends on their values, not on where they stand.

    Rows are sorted by a fixed random weighting of their entries; the few rows with equal sums are sorted
    lexicographically. Rows that are still equal are the same, so their order does not matter.
    """
    n_obs, n_features = X.shape
    weight = np.random.default_rng(20150810).standard_normal(n_features)
    if sparse.issparse(X):
        key = _sparse_keys(X.indptr, X.indices, X.data.astype(np.float64, copy=False), weight)
        rows = lambda at: X[at].toarray()
    else:
        key = np.empty(n_obs)
        step = max(1, _BLOCK // n_features)
        for i in range(0, n_obs, step):
            key[i : i + step] = _dense_keys(np.ascontiguousarray(X[i : i + step], dtype=np.float64), weight)
        rows = lambda at: X[at]
    return _order_by(key, rows)


def canonical_kernel_order(kernel: np.ndarray) -> np.ndarray:
    """The same for a kernel matrix, where permuting the observations permutes rows and columns together."""
    weight = np.random.default_rng(20150810).standard_normal(len(kernel))
    rows = lambda at: np.sort(kernel[at], axis=1)
    step = max(1, _BLOCK // len(kernel))
    starts = range(0, len(kernel), step)
    key = np.concatenate([_dense_keys(rows(slice(i, i + step)).astype(np.float64), weight) for i in starts])
    return _order_by(key, rows)


def _order_by(key: np.ndarray, rows: Callable[[Any], np.ndarray]) -> np.ndarray:
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(np.diff(key[order]) == 0)
    if len(same):
        breaks = np.flatnonzero(np.diff(same) > 1)
        firsts = same[np.r_[0, breaks + 1]]
        lasts = same[np.r_[breaks, len(same) - 1]] + 1
        for first, last in zip(firsts, lasts, strict=True):
            run = order[first : last + 1]
            order[first : last + 1] = run[np.lexsort(rows(run).T[::-1])]
    return order


# One row after another, term by term: the sum of a row must not depend on where in a block the row lies, which BLAS
# does not promise.
@njit(cache=True, nogil=True)
def _dense_keys(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    key = np.zeros(X.shape[0])
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            key[i] += X[i, j] * weight[j]
    return key


@njit(cache=True, nogil=True)
def _sparse_keys(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    key = np.zeros(len(indptr) - 1)
    for i in range(len(key)):
        for at in range(indptr[i], indptr[i + 1]):
            key[i] += data[at] * weight[indices[at]]
    return key
