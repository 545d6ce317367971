"""A dense positive definite square: the inverse of its Cholesky factor, and its own, by products that threads share."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from skeltraj.core._runtime.threads import ordered_map

_ROWS = 128  # of the square that are factorised at once; by trial
_COLUMNS = 256  # of a product that a thread makes at once; by trial


def invert_factor(square: np.ndarray) -> bool:
    """Replace a symmetric matrix, (n, n), of which the lower triangle is read, by the inverse of its Cholesky factor.

    With D the inverse of the factor of the rows before, some rows have ``L = A D'`` in the factor and ``-E L D`` in its
    inverse, E being the inverse of the factor of what L leaves of their own square.

    Returns
    -------
    Whether the matrix is positive definite; if not, what stands in its place means nothing.
    """
    n = len(square)
    room = np.empty((min(_ROWS, n), n))
    for start in range(0, n, _ROWS):
        stop = min(start + _ROWS, n)
        own, before = square[start:stop, start:stop], square[start:stop, :start]
        L = room[: stop - start, :start]

        def columns_of_L(first: int, before: np.ndarray = before, L: np.ndarray = L) -> np.ndarray:
            last = min(first + _COLUMNS, L.shape[1])
            np.matmul(before[:, :last], square[first:last, :last].T, out=L[:, first:last])
            return np.matmul(L[:, first:last], L[:, first:last].T)

        # the longest products first
        rest = own.copy()
        for taken in ordered_map(columns_of_L, range(0, start, _COLUMNS)[::-1]):
            rest -= taken
        E = _inverted(rest)
        if E is None:
            return False

        def columns_of_inverse(first: int, before: np.ndarray = before, L: np.ndarray = L, E: np.ndarray = E) -> None:
            last = min(first + _COLUMNS, L.shape[1])
            LD = np.matmul(L[:, first:], square[first : L.shape[1], first:last])
            np.matmul(-E, LD, out=before[:, first:last])

        ordered_map(columns_of_inverse, range(0, start, _COLUMNS))
        own[:] = E
        square[:start, start:stop] = 0.0
    return True


def _inverted(square: np.ndarray) -> np.ndarray | None:
    """The inverse of the factor, by LAPACK; None where there is none."""
    factor, wrong = lapack.dpotrf(square.T, lower=False, clean=True)
    if wrong or not (factor.diagonal() > 0).all():  # some builds go on through NaN
        return None
    inverse: np.ndarray = lapack.dtrtri(factor, lower=False, overwrite_c=True)[0].T
    return inverse


def gram(D: np.ndarray, out: np.ndarray) -> None:
    """``D'D`` for a lower triangle D, (n, n), with zeros above; symmetric to the last bit."""

    def rows(start: int) -> None:
        stop = min(start + _ROWS, len(D))
        np.matmul(D[start:, start:stop].T, D[start:, :stop], out=out[start:stop, :stop])
        own = out[start:stop, start:stop]
        own[:] = np.tril(own) + np.tril(own, -1).T  # sums of products can differ in their last digit
        out[:start, start:stop] = out[start:stop, :start].T

    ordered_map(rows, range(0, len(D), _ROWS))
