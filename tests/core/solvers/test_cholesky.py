"""Sparse Cholesky with a dense end, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from comparing import close
from skeltraj.core._solvers import cholesky
from weighted_graphs import GRAPHS


@pytest.mark.parametrize("share", [None, 0.0, 0.5, 1.0])
def test_the_factor_multiplied_out_is_the_matrix(problem, share):
    n, pairs, weights, _, Q = problem
    at = cholesky.pattern(n, pairs)
    if share is not None:
        at = at._replace(n_sparse=round(share * n))
    assert sorted(at.place) == list(range(n))
    below = np.zeros(len(at.indices))
    below[cholesky.find(at, pairs)] = -weights
    diagonal = np.empty(n)
    diagonal[at.place] = np.diag(Q)
    given = below.copy(), diagonal.copy()
    factor = cholesky.factor(at, below, diagonal)
    np.testing.assert_array_equal(below, given[0])
    np.testing.assert_array_equal(diagonal, given[1])
    F, m = np.diag(factor.pivots), at.n_sparse
    F[m:, m:] = np.tril(factor.block)
    for j in range(n):
        rows = at.indices[at.indptr[j] : at.indptr[j + 1]]
        assert (rows > j).all()
        assert (np.diff(rows) > 0).all()
        if j < m:
            F[rows, j] = factor.lower[at.indptr[j] : at.indptr[j + 1]]
    placed = np.empty_like(Q)
    placed[np.ix_(at.place, at.place)] = Q
    close(F @ F.T, placed, 1e-10)
    close(F, np.linalg.cholesky(placed), 1e-10)
    below, on = cholesky.inverse_entries(at, factor)
    inverse = np.linalg.inv(placed)
    close(on, np.diag(inverse), 1e-10)
    for j in range(n):
        rows = at.indices[at.indptr[j] : at.indptr[j + 1]]
        close(below[at.indptr[j] : at.indptr[j + 1]], inverse[rows, j], 1e-10 * np.abs(inverse).max())
    b = np.random.default_rng(0).standard_normal((n, 3))
    close(cholesky.solve(at, factor, b), np.linalg.solve(Q, b), 1e-10)


def test_the_pattern_of_a_path_has_no_fill_and_a_complete_graph_is_full():
    n, pairs = GRAPHS["path"]
    assert len(cholesky.pattern(n, pairs).indices) == n - 1
    n, pairs = GRAPHS["star"]
    assert len(cholesky.pattern(n, pairs).indices) == n - 1
    n, pairs = GRAPHS["complete"]
    assert len(cholesky.pattern(n, pairs).indices) == n * (n - 1) / 2
    assert len(cholesky.pattern(5, np.zeros((0, 2), dtype=int)).indices) == 0


def test_the_dense_block_is_as_large_as_pays():
    n, pairs = GRAPHS["complete"]
    assert cholesky.pattern(n, pairs).n_sparse == 0
    for n, pairs in GRAPHS.values():
        at = cholesky.pattern(n, pairs)
        work = lambda m, at=at, n=n: (
            cholesky.LAPACK_TIMES_FASTER * sum((at.indptr[j + 1] - at.indptr[j]) ** 2 for j in range(m)) + (n - m) ** 3
        )
        assert work(at.n_sparse) == min(work(m) for m in range(n + 1))


def test_a_matrix_that_is_not_positive_definite_is_refused():
    at = cholesky.pattern(2, np.array([[0, 1]]))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        cholesky.factor(at, np.array([-2.0]), np.array([1.0, 1.0]))
