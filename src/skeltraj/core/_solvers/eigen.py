"""The largest eigenvalues of symmetric matrices, and their vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

# From here on a few leading eigenvectors come sooner from Lanczos than from a full reduction.
_LANCZOS = 600


def top_of(product: Callable[[np.ndarray], np.ndarray], n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The `d` largest eigenvalues and eigenvectors, (n, d), of a symmetric matrix that is known by its products."""
    apply = lambda V: product(V.reshape(n, -1))
    return _lanczos(LinearOperator((n, n), matvec=apply, matmat=apply, dtype=np.float64), d)


def _top(matrix: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    n = len(matrix)
    if n >= _LANCZOS and d <= n // 20:
        return _lanczos(matrix, d)
    if d > n // 8 and n > 1:  # divide and conquer finds all sooner than bisection finds so many
        values, vectors = linalg.eigh(matrix, driver="evd")
        values, vectors = values[n - d :], vectors[:, n - d :]
    else:
        values, vectors = linalg.eigh(matrix, subset_by_index=(n - d, n - 1))
    return values[::-1], vectors[:, ::-1]


def _lanczos(matrix: np.ndarray | LinearOperator, d: int) -> tuple[np.ndarray, np.ndarray]:
    # a fixed start, so that equal input gives equal output
    start = np.random.default_rng(0).standard_normal(matrix.shape[0])
    values, vectors = eigsh(matrix, k=d, which="LA", v0=start, tol=0)
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]
