"""Input at the edges: large offsets, wide data, extremes of the parameters, odd numbers."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from samples import forked
from skeltraj import core
from skeltraj.core._data import space as _space
from skeltraj.core._data.canonical_order import canonical_order
from skeltraj.core._runtime import compile as _compile


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


@pytest.mark.parametrize("seed", range(20))
def test_loadings_are_orthonormal_up_to_the_rank(seed):
    rng = np.random.default_rng(seed)
    for n, n_features in ((5, 30), (8, 200), (12, 12), (30, 4)):
        X = rng.standard_normal((n, n_features))
        for d in (2, min(n, n_features)):
            fit = core.ddrtree(X, d, max_iter=3)
            np.testing.assert_allclose(fit.loadings.T @ fit.loadings, np.eye(d), atol=1e-8)


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
    tracemalloc.start()
    try:
        order = canonical_order(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2e7
    shuffle = np.random.default_rng(0).permutation(X.shape[0])
    assert (X[order] != X[shuffle][canonical_order(X[shuffle])]).nnz == 0


def test_tensors_of_other_packages_are_not_taken_for_files():
    class Tensor:
        shape, dtype = (30, 6), "float32"

        def __getitem__(self, at):
            raise AssertionError("was sliced")

        def __array__(self, dtype=None, copy=None):
            return forked(30)[0]

    np.testing.assert_array_equal(core.ddrtree(Tensor()).embedding, core.ddrtree(forked(30)[0]).embedding)


def test_data_with_very_many_rows_and_columns_go_by_products(monkeypatch):
    X = forked(60, 90)[0]
    wanted = core.ddrtree(X, 3, max_iter=5, tol=0)
    monkeypatch.setattr(_space, "_DENSE_FEATURES", 50)
    fit = core.ddrtree(X, 3, max_iter=5, tol=0)
    np.testing.assert_allclose(fit.objective, wanted.objective, rtol=1e-9)
    np.testing.assert_allclose(fit.embedding, wanted.embedding, atol=1e-8)


@pytest.mark.parametrize(("lam", "gamma"), [(1e16, 1.0), (1e11, 1e-6), (1.0, 1e16), (1e-12, 1e-8)])
def test_extreme_weights_still_give_a_fit(lam, gamma):
    X = forked(100)[0]
    fit = core.ddrtree(X, n_nodes=30, lam=lam, gamma=gamma, sigma=0.01, max_iter=5)
    assert np.isfinite(fit.embedding).all()
    assert np.diff(fit.objective).max() <= 1e-9 * np.abs(fit.objective).max()


@pytest.mark.parametrize("factor", [1e-140, 1e140])
def test_extreme_units_change_nothing(factor):
    X = forked(80)[0]
    a, b = core.ddrtree(X, max_iter=5), core.ddrtree(X * factor, max_iter=5)
    np.testing.assert_allclose(b.embedding / factor, a.embedding, rtol=1e-6, atol=1e-9)


def test_points_without_coordinates_are_refused():
    graph = core.Graph(np.array([[0.0, 0], [1, 0]]), np.array([[0, 1]]))
    with pytest.raises(ValueError, match="1 of 2 points have coordinates that are NaN or infinite"):
        core.locate(graph, np.array([[0.0, np.nan], [0, 0]]))


def test_a_tip_of_the_right_component_is_chosen():
    graph = core.Graph(np.array([[0.0], [1], [5], [6]]), np.array([[0, 1], [2, 3]]))
    position = core.locate(graph, np.array([[0.1], [5.8], [5.9]]))
    assert core.tip_near(graph, position, np.array([False, True, True])) == 3
    assert core.tip_near(graph, position, np.array([True, False, False])) == 0


@pytest.mark.parametrize(
    ("X", "kind", "message"),
    [
        (np.ma.masked_greater(forked(30)[0], 0.5), ValueError, r"X has \d+ masked value\(s\); wanted all of them"),
        ("anndata", TypeError, "X is an AnnData; for these use skeltraj.tl"),
    ],
)
def test_what_would_be_misread_is_refused(X, kind, message):
    if isinstance(X, str):
        X = pytest.importorskip("anndata").AnnData(forked(30)[0])
    with pytest.raises(kind, match=message):
        core.ddrtree(X)


def test_results_are_shown_in_a_line():
    fit = core.ddrtree(forked(50)[0])
    assert len(repr(fit).splitlines()) == len(repr(fit.graph).splitlines()) == 1
    assert "nodes in 2 dimensions" in repr(fit)
    assert fit == fit  # arrays inside do not get in the way
    assert len({fit, fit.graph}) == 2


def test_without_a_place_for_the_cache_kernels_are_compiled_all_the_same(monkeypatch):
    real = _compile.njit

    def refuse(**options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function 'f': no locator available for file 'x'")
        return real(**options)

    monkeypatch.setattr(_compile, "njit", refuse)
    assert _compile.compiled(lambda x: x + 1)(1) == 2
