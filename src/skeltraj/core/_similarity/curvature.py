"""How ``log det Q`` curves near the best weights, as far as distances tell."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

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
        blocks = []
        for start, stop in pairwise(starts):
            products, own = phi.products_about(row[start], other[start:stop]) / d, scale[pair[start:stop]]
            blocks.append(np.maximum(products, 0.0) ** 2 / own / own[:, None])
        self._at_rows = _block_diagonal(blocks)
        self._at_rows.eliminate_zeros()
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


def _block_diagonal(blocks: list[np.ndarray]) -> sparse.csr_matrix:
    """Square blocks one after another; `scipy.sparse.block_diag` takes several times as long for many small ones."""
    sizes = np.array([len(block) for block in blocks])
    lengths = np.repeat(sizes, sizes)  # of the rows
    indptr = np.append(0, np.cumsum(lengths))
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    indices = np.arange(indptr[-1]) + np.repeat(first - indptr[:-1], lengths)
    return sparse.csr_matrix((np.concatenate([block.ravel() for block in blocks]), indices, indptr))
