"""The largest eigenvalues of symmetric matrices, their vectors, and the signs of these."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, eigsh

# Rows from which a few leading eigenvectors come sooner from Lanczos than from a full reduction: chosen by eye.
_MIN_ROWS_LANCZOS = 600
# Points are symmetric where the sum of their cubes is a smaller share of the cubes' absolute sum. Chosen by eye: far
# above the errors of rounding and of eigenvectors (1e-10 where Lanczos finds them), far below the skewness of any data.
_MAX_SYMMETRIC = 1e-6


def top(matrix: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The `d` largest eigenvalues, largest first, and eigenvectors, (n, d), of a symmetric matrix, (n, n)."""
    n = len(matrix)
    if n >= _MIN_ROWS_LANCZOS and d <= n // 20:
        return _lanczos(matrix, d, tol=0.0, n_vectors=None)
    if d > n // 8 and n > 1:  # divide and conquer finds all sooner than bisection finds that many
        if not np.isfinite(matrix).all():  # of some of these numpy says nothing
            raise linalg.LinAlgError("entries of the matrix are NaN or infinite.")
        values, vectors = np.linalg.eigh(matrix)
        values, vectors = values[n - d :], vectors[:, n - d :]
    else:
        values, vectors = _largest(matrix, d)
    return values[::-1], vectors[:, ::-1]


def _largest(matrix: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The same, rising, as `scipy.linalg.eigh` finds it, without its checks, which take half the time of small ones."""
    n = len(matrix)
    size, n_integers, _ = lapack.dsyevr_lwork(n)
    values, vectors, n_found, _, failed = lapack.dsyevr(
        matrix, range="I", il=n - d + 1, iu=n, lower=1, lwork=int(size), liwork=int(n_integers)
    )
    if failed or n_found < d or not np.isfinite(values[:d]).all():
        raise linalg.LinAlgError(f"{n_found} of {d} eigenvalues were found.")
    return values[:d], vectors


def top_of(
    product: Callable[[np.ndarray], np.ndarray], n: int, d: int, *, tol: float = 0.0, n_vectors: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The same for a matrix that is known by its products with columns, (n, m) -> (n, m).

    Parameters
    ----------
    product
        Multiplies by the matrix.
    n, d
        Rows of the matrix; eigenvalues wanted.
    tol
        Relative error of the eigenvalues; 0 is machine precision, which equal eigenvalues may never reach.
    n_vectors
        Vectors that are held at a time, more than d; None: as many as ARPACK proposes.
    """
    apply = lambda V: product(V.reshape(n, -1))
    return _lanczos(LinearOperator((n, n), matvec=apply, matmat=apply, dtype=np.float64), d, tol, n_vectors)


def _lanczos(
    matrix: np.ndarray | LinearOperator, d: int, tol: float, n_vectors: int | None
) -> tuple[np.ndarray, np.ndarray]:
    # a fixed start, so that equal input gives equal output
    start = np.random.default_rng(0).standard_normal(matrix.shape[0])
    values, vectors = eigsh(matrix, k=d, which="LA", v0=start, ncv=n_vectors, tol=tol)
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]


def signs(vectors: np.ndarray, cubes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Signs, (d,), to multiply eigenvectors by, so that equal points get equal components: their skewness is positive.

    A rule about the points, so neither their order nor a rotation of their space changes it. Where the points are
    symmetric it says nothing, and the largest entry of the vector is made positive.

    Parameters
    ----------
    vectors
        (n, d).
    cubes, sizes
        Sums over the points of their components' cubes, and of the cubes' absolute values, (d,).
    """
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return np.where(np.where(np.abs(cubes) <= _MAX_SYMMETRIC * sizes, largest, cubes) < 0, -1.0, 1.0)


def oriented(vectors: np.ndarray, components: np.ndarray | None = None) -> np.ndarray:
    """Vectors, (n, d), with their signs chosen by the points' components, (n_points, d), or else their own entries."""
    cubes = (vectors if components is None else components) ** 3
    return vectors * signs(vectors, cubes.sum(axis=0), np.abs(cubes).sum(axis=0))
