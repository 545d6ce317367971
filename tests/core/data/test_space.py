"""The space of the data: sparse rows far from zero, constant columns, products instead of a covariance matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from samples import forked
from skeltraj import core
from skeltraj.core._data import space


@pytest.mark.parametrize("offset", [1e2, 1e5, 1e8])
@pytest.mark.parametrize("n_features", [6, 300])
def test_sparse_data_far_from_zero_keep_their_digits(offset, n_features):
    X = forked(150, n_features)[0] + offset
    dense, filled = core.ddrtree(X, max_iter=5, tol=0), core.ddrtree(sparse.csr_matrix(X), max_iter=5, tol=0)
    np.testing.assert_allclose(filled.objective, dense.objective, rtol=1e-6)
    np.testing.assert_allclose(filled.embedding, dense.embedding, atol=1e-6)


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("n_features", [5, 40])
def test_rows_that_are_all_the_same_are_refused(wrap, n_features):
    X = np.tile(np.arange(1.0, n_features + 1) / 3, (20, 1))
    with pytest.raises(ValueError, match=rf"all {n_features} columns \(genes\) are constant, all 20 rows are the same"):
        core.ddrtree(wrap(X))


def test_data_with_very_many_rows_and_columns_go_by_products(monkeypatch):
    X = forked(60, 90)[0]
    wanted = core.ddrtree(X, 3, max_iter=5, tol=0)
    monkeypatch.setattr(space, "_MAX_DENSE_FEATURES", 50)
    fit = core.ddrtree(X, 3, max_iter=5, tol=0)
    np.testing.assert_allclose(fit.objective, wanted.objective, rtol=1e-9)
    np.testing.assert_allclose(fit.embedding, wanted.embedding, atol=1e-8)


def test_a_share_of_variance_without_the_covariance_matrix(monkeypatch):
    X = forked(200, 60, noise=0.5)[0]
    wanted = core.ddrtree(X, 0.8, max_iter=1).embedding.shape[1]
    monkeypatch.setattr(space, "_MAX_DENSE_FEATURES", 0)
    assert wanted > 32
    assert core.ddrtree(X, 0.8, max_iter=1).embedding.shape[1] == wanted
