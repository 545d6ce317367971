"""Squared distances between any two observations, asked for by pairs or by blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from skeltraj.core._data.canonical_order import canonical_kernel_order, canonical_order
from skeltraj.core._geometry.neighbors import k_smallest
from skeltraj.core._runtime import check
from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.threads import ordered_map

# Numbers that a block of rows may hold, 32 MB, and rows in it. Chosen by eye.
_MAX_BLOCK_SIZE = 1 << 22
_MAX_BLOCK_ROWS = 256
_MAX_DIFFERENCES = 1 << 16  # between dense rows at once, which stay in the cache; chosen by eye
_SQUARES_AT_ONCE = 64  # of products, that a thread makes; chosen by eye
# Squared distances of sparse rows, and of dense ones of this many columns, are taken from products, ||x_i||^2 +
# ||x_j||^2 less 2 x_i'x_j, where they are at least this share of the first two terms: it costs them three of sixteen
# digits at most. Chosen by eye.
_MIN_SHARE_BY_PRODUCTS = 1e-3
_MANY_COLUMNS = 64
_COLUMNS_TO_LOOK_TWICE = 128  # from which on neighbours are found by products first; by trial
_MAX_LOOKED_TWICE = 4  # times as many rows as neighbours are wanted, above which differences are taken of all; by eye

# Distances that were taken from products may be rounding up to this share of the largest, or of the largest entry of a
# kernel's diagonal: 64 times that of one number. Chosen by eye.
_ROUNDING = 64 * float(np.finfo(np.float64).eps)

Rows = slice | np.ndarray  # of which some are asked for: one after another, or by number


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

    Attributes
    ----------
    rounding
        A squared distance of at most so much may be 0; 0 for rows, whose distances are taken from their differences.

    Raises
    ------
    TypeError, ValueError
        If `values` is not such a matrix: not finite, not symmetric, or with distances below zero.
    """

    def __init__(self, values: Any, kind: str, *, name: str) -> None:
        values = check.matrix(values, name=name)
        self._kind, self.name, self.rounding = kind, name, 0.0
        if kind != "rows":
            values = _square(values, name)
            _symmetric(values, name)
        self.order = canonical_order(values) if kind == "rows" else canonical_kernel_order(values)
        self.n = values.shape[0]
        self._row_size = self.n  # numbers that a row of a block takes
        if kind == "rows":
            self.rows = values[self.order].astype(np.float64)
            self._by_products = sparse.issparse(self.rows) or self.rows.shape[1] >= _MANY_COLUMNS
            self._factors = self.rows
            if sparse.issparse(self.rows):
                self._row_size = max(self.rows.shape)
                self._squared_norms = np.asarray(self.rows.multiply(self.rows).sum(axis=1)).ravel()
            elif self._by_products:
                self._factors = self.rows - self.rows.mean(axis=0)  # far from the origin, products lose digits
                self._squared_norms = (self._factors**2).sum(axis=1)
        else:
            self._matrix = values[np.ix_(self.order, self.order)].astype(np.float64)
            self._matrix = (self._matrix + self._matrix.T) / 2
        if kind == "distances":
            _distances(self._matrix, name)
            self.rounding = _ROUNDING * float(self._matrix.max())
        if kind == "kernel":
            self._squared_norms = np.diagonal(self._matrix).copy()
            self.rounding = _ROUNDING * float(np.abs(self._squared_norms).max())
            _kernel(self._matrix, self.slices(), name)

    def of_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """``phi`` of each of the pairs, (m, 2) -> (m,)."""
        a, b = pairs.T
        if self._kind == "distances":
            return self._matrix[a, b]
        if self._kind == "kernel":
            return _by_kernel(self._squared_norms[a], self._squared_norms[b], self._matrix[a, b])
        phi = np.empty(len(pairs))
        size = _MAX_BLOCK_SIZE if sparse.issparse(self.rows) else _MAX_DIFFERENCES
        step = max(1, size // self.rows.shape[1])
        for i in range(0, len(pairs), step):
            difference = self.rows[a[i : i + step]] - self.rows[b[i : i + step]]
            squares = difference.multiply(difference) if sparse.issparse(difference) else difference**2
            phi[i : i + step] = np.asarray(squares.sum(axis=1)).ravel()
        return phi

    def slices(self) -> Iterator[slice]:
        """Blocks of rows whose distances to all, and whose entries, fit into little memory."""
        step = int(np.clip(_MAX_BLOCK_SIZE // self._row_size, 1, _MAX_BLOCK_ROWS))
        return (slice(i, min(i + step, self.n)) for i in range(0, self.n, step))

    def block(self, rows: Rows) -> np.ndarray:
        """``phi`` of some rows with all, (n_rows, n)."""
        if self._kind == "distances":
            return self._matrix[rows]
        if self._kind == "kernel":
            return _by_kernel(self._squared_norms[rows, None], self._squared_norms, self._matrix[rows])
        if self._by_products:
            return self._block_by_products(rows, slice(0, self.n))
        return self._block_by_differences(rows)

    def between(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """``phi`` of some rows with some others, by number, (n_rows, n_others)."""
        if "_all" in vars(self):
            return self._all[np.ix_(rows, others)]
        if self._kind == "distances":
            return self._matrix[np.ix_(rows, others)]
        if self._kind == "kernel":
            products = self._matrix[np.ix_(rows, others)]
            return _by_kernel(self._squared_norms[rows, None], self._squared_norms[others], products)
        if self._by_products:
            return self._block_by_products(rows, others)
        return cdist(self.rows[rows], self.rows[others], "sqeuclidean")

    def products_about(self, rows: np.ndarray, others: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """``(phi_ij + phi_ih - phi_jh) / 2``, the inner products of the differences of rows j and h from row i.

        Parameters
        ----------
        rows
            Each i, by number, (m,).
        others, starts
            Its j and h: ``others[starts[m] : starts[m + 1]]`` of the m-th.

        Returns
        -------
        The squares of all i, row by row, one after another.
        """
        ends = np.append(0, np.cumsum(np.diff(starts) ** 2))
        products = np.empty(ends[-1])
        phi = self._all if self.n**2 <= _MAX_BLOCK_SIZE else None

        def make(first: int) -> None:
            last = min(first + _SQUARES_AT_ONCE, len(rows))
            if phi is not None:
                _products(phi, rows[first:last], others, starts[first : last + 1], products[ends[first] : ends[last]])
                return
            for m in range(first, last):
                square = self._products_about(rows[m], others[starts[m] : starts[m + 1]])
                products[ends[m] : ends[m + 1]] = square.ravel()

        ordered_map(make, range(0, len(rows), _SQUARES_AT_ONCE))
        return products

    def _products_about(self, row: int, others: np.ndarray) -> np.ndarray:
        """Those of one row, (n_others, n_others)."""
        if self._kind == "rows":
            some = self.rows[np.append(others, row)]
            if sparse.issparse(some):
                some = some[:, np.unique(some.indices)].toarray()  # the columns in which any of them has an entry
            differences = some[:-1] - some[-1]
            return differences @ differences.T
        phi = self.between(np.array([row]), others)[0]
        return (phi[:, None] + phi - self.between(others, others)) / 2.0

    @cached_property
    def _all(self) -> np.ndarray:
        """``phi`` of few rows, (n, n), which take no more than one block."""
        return np.concatenate(ordered_map(self.block, self.slices()))

    def _block_by_differences(self, rows: Rows) -> np.ndarray:
        return cdist(self.rows[rows], self.rows, "sqeuclidean")

    def _block_by_products(self, rows: Rows, others: Rows) -> np.ndarray:
        """``phi`` of some rows with some others; where products lose digits, by differences.

        For these, one block of sparse rows at a time is filled in.
        """
        sums = self._squared_norms[rows, None] + self._squared_norms[others]
        block = _filled(self._factors[rows] @ self._factors[others].T)
        block *= -2.0
        block += sums
        numbers = np.arange(self.n)
        place = np.full(self.n, -1)
        place[numbers[others]] = np.arange(block.shape[1])
        itself = np.flatnonzero(place[rows] >= 0), place[rows][place[rows] >= 0]
        block[itself] = np.inf  # known without
        inexact = block < _MIN_SHARE_BY_PRODUCTS * sums
        columns = np.flatnonzero(inexact.any(axis=0))
        if len(columns):
            filled = _filled(self.rows[rows])
            step = max(1, _MAX_BLOCK_SIZE // self._row_size)
            for first in range(0, len(columns), step):
                some = columns[first : first + step]
                exact = cdist(filled, _filled(self.rows[numbers[others][some]]), "sqeuclidean")
                block[:, some] = np.where(inexact[:, some], exact, block[:, some])
        block[itself] = 0.0
        return block

    def neighbors(self, k: int) -> np.ndarray:
        """The `k` nearest others of each, (n, k), the nearest first, of equally near ones the first."""
        dense = self._kind == "rows" and not sparse.issparse(self.rows)
        twice = dense and self.rows.shape[1] >= _COLUMNS_TO_LOOK_TWICE

        def of(rows: slice) -> np.ndarray:
            own = np.arange(self.n)[rows]
            # of equally near rows, as counts have many, rounding of products would choose
            block = self._block_by_differences(rows) if dense and not twice else self.block(rows).copy()
            block[np.arange(len(own)), own] = np.inf
            if twice:
                among = self._may_be_near(own, block, k)
                if np.count_nonzero(among) <= _MAX_LOOKED_TWICE * k * len(own):
                    return self._nearest_among(own, among, k)
                block = self._block_by_differences(rows)
                block[np.arange(len(own)), own] = np.inf
            return k_smallest(block, k)

        return np.concatenate(ordered_map(of, self.slices()))

    def _may_be_near(self, own: np.ndarray, block: np.ndarray, k: int) -> np.ndarray:
        """Which rows may be among the `k` nearest of some, by number, from which products give distances, (n_rows, n).

        Those whose distance is within rounding of one that `k` rows do not exceed.
        """
        norms, n_columns = self._squared_norms, self.rows.shape[1]
        # a sum of so many products is off by no more than as many roundings of the largest that it could be
        off = 4 * (n_columns + 4) * np.finfo(np.float64).eps * (norms[own, None] + norms)
        most = np.partition(block + off, k - 1, axis=1)[:, k - 1]
        among: np.ndarray = block - off <= most[:, None]
        among[np.arange(len(own)), own] = False
        return among

    def _nearest_among(self, own: np.ndarray, among: np.ndarray, k: int) -> np.ndarray:
        """The `k` nearest of some rows, by number, among those that `among` has, by distances from differences."""
        nearest = np.empty((len(own), k), dtype=np.int64)
        for i, row in enumerate(own):
            some = np.flatnonzero(among[i])
            exact = cdist(self.rows[row : row + 1], self.rows[some], "sqeuclidean")[0]
            nearest[i] = some[np.argsort(exact, kind="stable")[:k]]
        return nearest


@compiled
def _products(phi: np.ndarray, rows: np.ndarray, others: np.ndarray, starts: np.ndarray, out: np.ndarray) -> None:
    """The squares of `PairDistances.products_about`, of some rows, where all distances are at hand."""
    at = 0
    for m in range(len(rows)):
        near = phi[rows[m]]
        for p in range(starts[m], starts[m + 1]):
            j = others[p]
            of_j = phi[j]
            for q in range(starts[m], starts[m + 1]):
                h = others[q]
                out[at] = (near[j] + near[h] - of_j[h]) / 2.0
                at += 1


def _by_kernel(own: np.ndarray, others: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Squared distances, of which rounding makes none negative."""
    return np.maximum(own + others - 2.0 * products, 0.0)


def _filled(rows: Any) -> np.ndarray:
    return rows.toarray() if sparse.issparse(rows) else rows


def _square(matrix: Any, name: str) -> np.ndarray:
    if sparse.issparse(matrix):
        raise TypeError(f"{name} is sparse; wanted a dense matrix (a missing entry would read as zero).")
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} has shape {matrix.shape}; wanted a square matrix, (n_obs, n_obs).")
    return matrix


def _symmetric(matrix: np.ndarray, name: str) -> None:
    largest, apart = 0.0, 0.0
    step = max(1, _MAX_BLOCK_SIZE // len(matrix))
    for i in range(0, len(matrix), step):
        part = matrix[i : i + step].astype(np.float64)
        largest = max(largest, float(np.abs(part).max()))
        apart = max(apart, float(np.abs(part - matrix[:, i : i + step].T).max()))
    if apart > 1e-8 * largest:
        raise ValueError(f"{name} is not symmetric: entries differ by up to {apart:g}; wanted the same both ways.")


def _kernel(matrix: np.ndarray, slices: Iterator[slice], name: str) -> None:
    own = np.diagonal(matrix)
    lowest = float(min((own[rows, None] + own - 2.0 * matrix[rows]).min() for rows in slices))
    if lowest < -1e-8 * np.abs(own).max():
        raise ValueError(
            f"{name} is not a kernel matrix: K_ii + K_jj - 2 K_ij is {lowest:g} for two observations; wanted no "
            "squared distance below zero."
        )


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
