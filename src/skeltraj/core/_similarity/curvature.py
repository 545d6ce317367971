"""How ``log det Q`` curves near the best weights, as far as distances tell."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from skeltraj.core._runtime.compile import compiled

from .pair_distances import PairDistances

_MOST_TOGETHER = 128  # pairs of a row that are looked at together, which bounds the memory; chosen by eye
_DAMPING = 0.02  # added to each pair's own curvature, which is 2 where the scale is the price; chosen by eye
_TOL, _MAX_ITER = 0.1, 60  # of a solution; chosen by eye


class PairCurvature:
    """About minus the second derivatives of ``log det Q`` by the scaled weights of pairs.

    These are ``(e_k'Q^-1 e_l)^2 / (scale_k scale_l)``.

    ``e_k'Q^-1 e_l`` is ``(r_ij + r_ih - r_jh) / 2`` for two pairs (i, j) and (i, h), r being resistances, and small for
    pairs without a common row. At the maximum the resistances of similar pairs are their prices, and those of others
    are not larger than theirs; and ``r_jh <= r_ij + r_ih`` always. These bounds are taken for ``r_jh``, which needs no
    system to be solved.

    The matrix is the sum of one for each row, over the pairs of that row. So a pair's own curvature counts twice, and
    without a largest weight the sum is nowhere much less than the true curvature, so that steps are seldom too long.
    Pairs with the largest weight may have resistances above their prices, and more curvature than this.

    Parameters
    ----------
    phi
        Distances between the rows.
    pairs
        (m, 2).
    d
        By which distances are divided for prices.
    scale
        By which weights are multiplied, (m,): the price, or more where that is nearly zero.
    """

    def __init__(self, phi: PairDistances, pairs: np.ndarray, d: int, scale: np.ndarray) -> None:
        m = len(pairs)
        row, other, pair = pairs.T.ravel(), pairs[:, ::-1].T.ravel(), np.tile(np.arange(m), 2)
        order = np.lexsort((scale[pair], row))  # near rows together where there are too many
        row, other, pair = row[order], other[order], pair[order]
        place = np.arange(2 * m) - np.searchsorted(row, row)  # among the pairs of the row
        starts = np.append(np.flatnonzero(place % _MOST_TOGETHER == 0), 2 * m)
        products = phi.products_about(row[starts[:-1]], other, starts)
        self._at_rows = sparse.csr_matrix(_curved(products, starts, scale[pair], float(d)), shape=(2 * m, 2 * m))
        self._of_ends = sparse.csr_matrix((np.ones(2 * m), pair, np.arange(2 * m + 1)), shape=(2 * m, m))
        self.diagonal = self._of_ends.T @ self._at_rows.diagonal() + _DAMPING

    def times(self, x: np.ndarray) -> np.ndarray:
        """The product with `x`, (m,)."""
        product: np.ndarray = self._of_ends.T @ (self._at_rows @ (self._of_ends @ x)) + _DAMPING * x
        return product

    def solve(self, b: np.ndarray, free: np.ndarray) -> np.ndarray:
        """About the solution for `b` in the rows and columns that are `free`, (m,), and 0 elsewhere."""
        m = len(b)
        solution, _ = cg(
            LinearOperator((m, m), lambda x: np.where(free, self.times(np.where(free, x, 0.0)), x), dtype=float),
            np.where(free, b, 0.0),
            rtol=_TOL,
            maxiter=_MAX_ITER,
            M=LinearOperator((m, m), lambda x: x / self.diagonal, dtype=float),
        )
        return np.asarray(solution)


@compiled
def _curved(
    products: np.ndarray, starts: np.ndarray, scale: np.ndarray, d: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The curvature of the pairs of each row, as CSR has it: squares on the diagonal, without zeros.

    Parameters
    ----------
    products
        What `PairDistances.products_about` tells of the rows, d times the entries of the inverse.
    starts
        Where the pairs of each row begin, and how many there are in all.
    scale
        Of each of these.
    d
        See `PairCurvature`.
    """
    entries, columns = np.empty(len(products)), np.empty(len(products), dtype=np.int64)
    ends = np.zeros(len(scale) + 1, dtype=np.int64)
    at = used = 0
    for m in range(len(starts) - 1):
        for p in range(starts[m], starts[m + 1]):
            for q in range(starts[m], starts[m + 1]):
                product = products[at] / d
                at += 1
                if product > 0:
                    entries[used], columns[used] = product**2 / scale[q] / scale[p], q
                    used += 1
            ends[p + 1] = used
    return entries[:used], columns[:used], ends
