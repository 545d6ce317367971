"""Leading eigenvectors of many small matrices."""

from __future__ import annotations

import numpy as np

from skeltraj.core._runtime.compile import compiled

_MOST_PRODUCTS = 200  # after which a full reduction is as fast
_POOR_BOUND = 0.8  # of the largest eigenvalue: a bound of the second that is larger is looked at more closely; by eye
_ERROR = 1e-13  # of a vector of length 1, about what a full reduction leaves


def leading_axes(matrices: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The `d` largest eigenvalues of each matrix and their vectors.

    One vector comes from products with the matrix, which takes a tenth of the time of a full reduction where the
    largest eigenvalue stands out; where it does not, and for more vectors, the matrix is reduced.

    Parameters
    ----------
    matrices
        Symmetric, without negative eigenvalues, (n, q, q).
    d
        At least 1, at most q.

    Returns
    -------
    Eigenvalues, rising, (n, d), and vectors of length 1, (n, q, d), of either sign.
    """
    q = matrices.shape[1]
    if d > 1:
        values, vectors = np.linalg.eigh(matrices)
        return values[:, q - d :], vectors[:, :, q - d :]
    # a start that stands in no relation to the data is at right angles to no axis of theirs
    start = np.random.default_rng(0).standard_normal(q)
    values, vectors, near = _by_products(np.ascontiguousarray(matrices), start / np.linalg.norm(start))
    if not near.all():
        left = np.flatnonzero(~near)
        all_values, all_vectors = np.linalg.eigh(matrices[left])
        values[left], vectors[left] = all_values[:, -1], all_vectors[:, :, -1]
    return values[:, None], vectors[:, :, None]


@compiled
def _by_products(matrices: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Power iteration: the largest eigenvalue of each matrix, its vector, and whether that is near enough.

    Changes shrink by a ratio that tends to that of the two largest eigenvalues, so what is left to change is their sum
    as a geometric series. That the ratio seen so far is no accident is told by a bound of the second eigenvalue: what
    the first leaves of the sum of the eigenvalues' squares, or of their fourth powers, which takes longer to add up.
    """
    n, q = matrices.shape[:2]
    values, vectors, near = np.zeros(n), np.empty((n, q)), np.zeros(n, dtype=np.bool_)
    vector, product, square = np.empty(q), np.empty(q), np.empty((q, q))
    rest = q % 4
    for i in range(n):
        for k in range(q):
            vector[k] = start[k]
        before = 0.0
        product[:] = 0.0
        for j in range(q):
            for k in range(q):
                product[k] += matrices[i, j, k] * matrices[i, j, k]
        squares, fourths = product.sum(), -1.0
        for m in range(_MOST_PRODUCTS):
            product[:] = 0.0
            for j in range(rest):
                for k in range(q):
                    product[k] += matrices[i, j, k] * vector[j]
            for j in range(rest, q, 4):  # four at a time spare passes over the product
                a, b, c, d = vector[j], vector[j + 1], vector[j + 2], vector[j + 3]
                for k in range(q):
                    product[k] = (
                        product[k]
                        + matrices[i, j, k] * a
                        + matrices[i, j + 1, k] * b
                        + matrices[i, j + 2, k] * c
                        + matrices[i, j + 3, k] * d
                    )
            size = 0.0
            for k in range(q):
                size += product[k] * product[k]
            size = np.sqrt(size)
            if size == 0.0:
                near[i] = True
                break
            change = 0.0
            for k in range(q):
                new = product[k] / size
                change += (new - vector[k]) ** 2
                vector[k] = new
            change = np.sqrt(change)
            if m > 0 and change < before and change**2 <= _ERROR * (before - change):
                second = np.sqrt(max(squares - size**2, 0.0))
                if change * second > _ERROR * (size - second) and second > _POOR_BOUND * size:
                    if fourths < 0.0:
                        np.dot(matrices[i], matrices[i], square)
                        fourths = 0.0
                        for j in range(q):
                            for k in range(q):
                                fourths += square[j, k] * square[j, k]
                    second = max(fourths - size**4, 0.0) ** 0.25
                if change * second <= _ERROR * (size - second):
                    near[i] = True
                    values[i] = size
                    break
                if second >= size:
                    break
            before = change
        for k in range(q):
            vectors[i, k] = vector[k]
    return values, vectors, near
