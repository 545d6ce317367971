"""An order of the rows that does not depend on the order in which they come."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from measuring import peak_memory
from samples import forked
from skeltraj import core
from skeltraj.core._data import canonical_order as module
from skeltraj.core._data.canonical_order import canonical_kernel_order, canonical_order


def test_wide_data_with_equal_rows_do_not_depend_on_their_order():
    X = forked(60, 200)[0]
    X = np.concatenate([X, X[:20], X[:5]])
    shuffle = np.random.default_rng(0).permutation(len(X))
    for wrap in (np.asarray, sparse.csr_matrix):
        a, b = core.ddrtree(wrap(X), max_iter=8), core.ddrtree(wrap(X[shuffle]), max_iter=8)
        np.testing.assert_array_equal(b.embedding, a.embedding[shuffle])
        np.testing.assert_array_equal(a.embedding[60:80], a.embedding[:20])


def test_sparse_rows_that_are_the_same_are_not_filled_in():
    rng = np.random.default_rng(0)  # most rows are empty
    places = rng.integers(0, 20_000, 1000), rng.integers(0, 50_000, 1000)
    X = sparse.csr_matrix((rng.random(1000), places), shape=(20_000, 50_000))
    canonical_order(X[:100])  # compiled
    peak, order = peak_memory(lambda: canonical_order(X))
    assert peak < 2e7
    shuffle = np.random.default_rng(0).permutation(X.shape[0])
    assert (X[order] != X[shuffle][canonical_order(X[shuffle])]).nnz == 0


def test_rows_with_the_same_key_are_told_apart_by_their_entries(monkeypatch):
    """Rows that differ get other keys but for chance, which is forced here."""
    monkeypatch.setattr(module, "_dense_keys", lambda X, weight: np.zeros(len(X)))
    rows = np.random.default_rng(0).integers(0, 2, (16, 12)).astype(float)
    kernel = rows @ rows.T + np.diag(np.arange(16.0))
    shuffle = np.random.default_rng(1).permutation(16)
    first, second = canonical_kernel_order(kernel), canonical_kernel_order(kernel[np.ix_(shuffle, shuffle)])
    np.testing.assert_array_equal(shuffle[second], first)
    # rows that differ in their second largest entry alone
    pairs = np.kron(np.diag([0.5, 0.25]), np.ones((2, 2)))
    np.fill_diagonal(pairs, 1.0)
    in_order = lambda K: K[np.ix_(canonical_kernel_order(K), canonical_kernel_order(K))]
    mixed = pairs[np.ix_([0, 2, 1, 3], [0, 2, 1, 3])]
    np.testing.assert_array_equal(in_order(mixed), in_order(pairs))
