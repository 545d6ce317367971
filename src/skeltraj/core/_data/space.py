"""The space in which a fit works: the columns of the data, or the span of its rows where that is smaller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.lazy import is_lazy
from skeltraj.core._solvers.eigen import top, top_of

from .canonical_order import canonical_kernel_order
from .lazy_rows import LazyRows
from .row_blocks import RowBlocks
from .rows import Rows

# Up to here X'X is held as a dense matrix; above, its products are taken in passes over the rows: 128 MiB, chosen by
# eye.
_MAX_DENSE_FEATURES = 4096


@dataclass(frozen=True)
class Moment:
    """A symmetric matrix, (n_features, n_features): X'X plus the symmetric parts of some products.

    Held as a matrix, or, with too many features for that, as products taken in passes over the rows.
    """

    rows: RowBlocks
    matrix: np.ndarray | None
    more: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def plus(self, left: np.ndarray, right: np.ndarray) -> Moment:
        """With the symmetric part of ``left right'`` added, both (n_features, m)."""
        if self.matrix is None:
            return replace(self, more=(*self.more, (left, right)))
        return replace(self, matrix=_with_symmetric(self.matrix, left @ right.T))

    def top(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """The `d` largest eigenvalues, largest first, and their eigenvectors, (n_features, d)."""

        def apply(V: np.ndarray) -> np.ndarray:
            out = self.rows.apply_moment(V)
            for left, right in self.more:
                out += (left @ (right.T @ V) + right @ (left.T @ V)) / 2
            return out

        return top_of(apply, self.rows.n_features, d) if self.matrix is None else top(self.matrix, d)


@compiled
def _with_symmetric(matrix: np.ndarray, product: np.ndarray) -> np.ndarray:
    """A square matrix with the symmetric part of another added."""
    total = np.empty_like(matrix)
    for i in range(len(matrix)):
        for j in range(len(matrix)):
            total[i, j] = matrix[i, j] + (product[i, j] + product[j, i]) / 2
    return total


@dataclass(frozen=True)
class Space:
    """Rows to fit and the way back to the user's columns.

    `lift` takes loadings of `rows`, (rows.n_features, d), to loadings of the user's columns (with a kernel: to
    coefficients of the observations); `own` takes loadings of the user's columns to those of `rows`, without what the
    rows do not span (None with a kernel).
    """

    rows: RowBlocks
    lift: Callable[[np.ndarray], np.ndarray]
    own: Callable[[np.ndarray], np.ndarray] | None
    mean: np.ndarray  # what centring subtracts from a row of the user's matrix
    total: float  # ||X||_F^2
    moment: Moment  # X'X

    def components_for(self, share: float) -> int:
        """Fewest leading principal components that keep `share` of the variance."""
        most = min(self.rows.n_obs, self.rows.n_features)
        d = most if self.moment.matrix is not None else min(32, most - 1)
        while True:
            kept = np.cumsum(self.moment.top(d)[0]) / self.total
            if kept[-1] >= share or d >= most - 1:
                return min(int(np.searchsorted(kept, share)) + 1, d)
            d = min(2 * d, most - 1)


def columns_space(X: Any, *, center: bool, width: int = 1, name: str = "X") -> Space:
    """Space of a data matrix, (n_obs, n_features), with at least `width` dimensions.

    With more columns than rows, and not too many of either, the rows are expressed in an orthonormal basis of their own
    span, exactly; above 4,096 of both, products with X'X are taken in passes.
    """
    rows, total = rows_that_differ(X, center=center, name=name)
    return space_of(X, rows, total, width=width)


def space_of(X: Any, rows: RowBlocks, total: float, *, width: int = 1) -> Space:
    """The same for rows that have been read: those of `X`, with their sum of squares."""
    if rows.n_obs < rows.n_features and rows.n_obs <= _MAX_DENSE_FEATURES and isinstance(rows, Rows):
        return _span_space(X, rows, total, width)
    moment = rows.moment() if rows.n_features <= _MAX_DENSE_FEATURES else None
    return Space(rows, lambda W: W, lambda L: L, rows.mean, total, Moment(rows, moment))


_ROUNDING_SHARE = 1e-26  # a sum of squares below this share of the uncentred one is rounding


def rows_that_differ(X: Any, *, center: bool = True, name: str = "X") -> tuple[RowBlocks, float]:
    """The rows of a matrix, centred, and their sum of squares; an error if there is nothing in them."""
    rows: RowBlocks = LazyRows(X, center=center) if is_lazy(X) else Rows(X, center=center)
    total = rows.total()
    if total <= _ROUNDING_SHARE * _raw_total(rows, total):
        raise ValueError(
            f"{name}: all {rows.n_features} columns (genes) are constant, all {rows.n_obs} rows are the same; "
            "wanted rows that differ."
        )
    return rows, total


def _raw_total(rows: RowBlocks, total: float) -> float:
    return total + rows.n_obs * float(rows.mean @ rows.mean)


def _span_space(X: Any, rows: Rows, total: float, width: int) -> Space:
    values, vectors = linalg.eigh(rows.gram())
    rank = rows.n_obs - int(rows.mean.any())  # centring removes one direction
    values, vectors = _positive(values[-rank:], vectors[:, -rank:], rows.n_features)
    vectors = vectors[_first_alike(X, rows.order)]  # so that equal rows get equal coordinates
    scale = np.sqrt(values)
    rank = len(scale)

    def lift(W: np.ndarray) -> np.ndarray:
        loadings = rows.transpose_times(vectors @ (W[:rank] / scale[:, None]))
        if len(W) > rank:  # the rows do not vary in further directions: any orthogonal ones will do
            span = rows.transpose_times(vectors / scale)
            extra = np.random.default_rng(0).standard_normal((rows.n_features, len(W) - rank))
            loadings += linalg.qr(np.hstack([span, extra]), mode="economic")[0][:, rank:] @ W[rank:]
        return loadings

    def own(L: np.ndarray) -> np.ndarray:
        return _padded((rows.transpose_times(vectors / scale).T @ L).T, width).T

    return _coordinates_space(_padded(vectors * scale, width), rows.order, lift, own, rows.mean, total)


def _first_alike(X: Any, order: np.ndarray) -> np.ndarray:
    """For each row, in canonical order, the first of those that are the same."""
    alike = lambda a, b: (X[a] != X[b]).nnz == 0 if sparse.issparse(X) else np.array_equal(X[a], X[b])
    first = np.arange(len(order))
    for i in range(1, len(order)):
        if alike(order[i - 1], order[i]):
            first[i] = first[i - 1]
    return first


def _padded(coordinates: np.ndarray, width: int) -> np.ndarray:
    return np.pad(coordinates, ((0, 0), (0, max(0, width - coordinates.shape[1]))))


def kernel_space(kernel: Any, *, center: bool, width: int = 1, name: str = "X") -> Space:
    """Space of a kernel matrix, (n_obs, n_obs): the inner products of implicit features.

    Directions beyond its rank, where `width` asks for them, have no coefficients.
    """
    if sparse.issparse(kernel):
        kernel = kernel.toarray()
    if kernel.shape[0] != kernel.shape[1]:
        raise ValueError(f"{name} has shape {kernel.shape}; a kernel matrix must be square, (n_obs, n_obs).")
    order = canonical_kernel_order(kernel)
    mean = np.zeros(len(kernel))
    matrix = kernel[np.ix_(order, order)].astype(np.float64)
    asymmetry = float(np.abs(matrix - matrix.T).max())
    if asymmetry > 1e-8 * float(np.abs(matrix).max()):
        raise ValueError(f"{name} is not symmetric: entries differ by up to {asymmetry:g}; wanted a kernel matrix.")
    matrix = (matrix + matrix.T) / 2
    if center:
        means = matrix.mean(axis=0)
        mean[order] = means
        matrix = matrix - means[:, None] - means[None, :] + means.mean()
    values, vectors = linalg.eigh(matrix)
    if values[0] < -1e-6 * max(values[-1], np.abs(np.diagonal(kernel)).max()):
        raise ValueError(
            f"{name} is not a kernel matrix: smallest eigenvalue {values[0]:g}, largest {values[-1]:g}; "
            "wanted none below zero."
        )
    if values[-1] <= 1e-14 * np.abs(np.diagonal(kernel)).max():
        raise ValueError(f"{name}: all {len(kernel)} observations are the same; wanted observations that differ.")
    values, vectors = _positive(values, vectors, len(kernel))
    scale = np.sqrt(values)

    def lift(W: np.ndarray) -> np.ndarray:
        coefficients = np.empty((len(order), W.shape[1]))
        coefficients[order] = vectors @ (W[: len(scale)] / scale[:, None])
        return coefficients

    return _coordinates_space(_padded(vectors * scale, width), order, lift, None, mean, float(values.sum()))


def _positive(values: np.ndarray, vectors: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    keep = values > 10 * n * np.finfo(float).eps * values[-1]
    return values[keep][::-1], vectors[:, keep][:, ::-1]


def _coordinates_space(
    coordinates: np.ndarray,
    order: np.ndarray,
    lift: Callable[[np.ndarray], np.ndarray],
    own: Callable[[np.ndarray], np.ndarray] | None,
    mean: np.ndarray,
    total: float,
) -> Space:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    rows = Rows(coordinates[inverse], center=False, order=order)
    return Space(rows, lift, own, mean, total, Moment(rows, rows.moment()))
