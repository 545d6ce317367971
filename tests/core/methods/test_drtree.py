"""DRTree against the literal version, and what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import oracles
from comparing import close
from measuring import peak_memory
from samples import centred, forked
from skeltraj import core
from skeltraj.core._methods import drtree

ROUTES = ["dense", "in parts", "products", "sparse", "float32", "on disk"]


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    ("n", "D", "d", "lam"), [(60, 6, 2, 3.0), (50, 6, 1, 50.0), (40, 90, 3, 5.0), (70, 60, 3, 5.0)]
)
def test_agrees_with_the_literal_version_round_by_round(n, D, d, lam, route, monkeypatch, tmp_path):
    X = forked(n, D)[0]
    if route == "in parts":
        monkeypatch.setattr(drtree, "_MAX_SOLUTION_ENTRIES", 2 * n)
    if route == "products":
        monkeypatch.setattr(drtree, "_MAX_DENSE_COLUMNS", 0)
    given = {"sparse": sparse.csr_matrix, "float32": np.float32}.get(route, np.asarray)(X)
    if route == "float32":
        X = given.astype(np.float64)
    if route == "on disk":
        h5py = pytest.importorskip("h5py")
        given = h5py.File(tmp_path / "X.h5", "w").create_dataset("X", data=X)
    W = oracles.pca(centred(X), d)
    Z = centred(X) @ W
    values = [oracles.drtree_objective(centred(X), W, Z, oracles.kruskal(Z), lam)]
    for rounds in range(1, 5):
        W, Z = oracles.drtree_round(centred(X), W, Z, lam)
        edges = oracles.kruskal(Z)
        values.append(oracles.drtree_objective(centred(X), W, Z, edges, lam))
        fit = core.drtree(given, d, lam=lam, max_iter=rounds, tol=0)
        signs = np.sign((fit.loadings * W).sum(axis=0))
        close(fit.objective, values[: fit.n_iter + 1])
        if fit.n_iter == rounds:
            close(fit.embedding * signs, Z)
            close(fit.loadings * signs, W)
            np.testing.assert_array_equal(fit.edges, edges)


def test_the_objective_is_the_papers_and_never_rises():
    X = forked(300)[0]
    fit = core.drtree(X, 2, lam=30.0, tol=0, max_iter=40)
    wanted = oracles.drtree_objective(centred(X), fit.loadings, fit.embedding, fit.edges, 30.0)
    assert fit.objective[-1] == pytest.approx(wanted, rel=1e-10)
    assert (np.diff(fit.objective) <= 1e-12 * fit.objective[0]).all()
    assert fit.objective[-1] < 0.9 * fit.objective[0]


def test_without_tree_it_is_pca():
    X = forked(80)[0]
    fit = core.drtree(X, 3, lam=0)
    W = oracles.pca(centred(X), 3)
    close(np.abs(fit.loadings), np.abs(W))
    close(fit.embedding, centred(X) @ fit.loadings)
    assert fit.objective[-1] == pytest.approx(np.linalg.norm(centred(X) - centred(X) @ W @ W.T) ** 2)


def test_the_order_of_rows_does_not_matter_to_the_last_bit():
    X = forked(200)[0]
    shuffle = np.random.default_rng(1).permutation(200)
    a, b = core.drtree(X), core.drtree(X[shuffle])
    np.testing.assert_array_equal(a.embedding[shuffle], b.embedding)
    np.testing.assert_array_equal(a.objective, b.objective)
    back = np.sort(shuffle[b.edges], axis=1)
    np.testing.assert_array_equal(back[np.lexsort(back.T[::-1])], a.edges)


def test_units_and_rotation_do_not_matter():
    X = forked(150)[0]
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((X.shape[1],) * 2))[0]
    a, b = core.drtree(X), core.drtree(100 * X @ turn + 7)
    close(b.embedding / 100, a.embedding)
    np.testing.assert_array_equal(a.edges, b.edges)


def test_a_linear_kernel_equals_the_data():
    X = forked(70)[0]
    a, b = core.drtree(X, lam=5.0), core.drtree(X @ X.T, lam=5.0, kernel="precomputed")
    close(np.abs(a.embedding), np.abs(b.embedding), 1e-7)


@pytest.mark.parametrize("lam", [0.0, 1.0, 100.0])
def test_new_rows(lam):
    X = forked(100)[0]
    fit = core.drtree(X, lam=lam)
    close(fit.transform(X), fit.embedding, 1e-12)
    far = fit.transform(X[:5] + 0.01) - fit.embedding[:5]
    assert np.abs(far).max() < 0.1


@pytest.mark.compiled("20,000 points")
def test_no_matrix_of_rows_by_rows_is_formed():
    X = forked(20_000)[0]
    core.drtree(X[:100])
    peak, fit = peak_memory(lambda: core.drtree(X, max_iter=3))
    assert fit.graph.is_tree
    assert peak < 1e8


def test_duplicates_still_give_a_tree():
    X = np.repeat(forked(30)[0], 3, axis=0)
    fit = core.drtree(X, lam=10.0)
    assert fit.graph.is_tree
    assert np.isfinite(fit.embedding).all()


@pytest.mark.parametrize(
    ("X", "options", "error", "message"),
    [
        (np.full((5, 3), np.nan), {}, ValueError, "15 value"),
        (np.ones((5, 3)), {}, ValueError, "all 5 rows are the same"),
        (forked(20)[0], dict(lam=-1), ValueError, "lam=-1 is out of range"),
        (forked(20)[0], dict(n_components=9), ValueError, "n_components=9"),
        (forked(20)[0], dict(max_iter=0), ValueError, "max_iter=0"),
        (forked(20)[0], dict(kernel="linear"), ValueError, "kernel='linear'"),
        (forked(20)[0], dict(init=np.ones((3, 2))), ValueError, r"init has shape \(3, 2\)"),
        (forked(20)[0][:2], {}, ValueError, "2 row"),
    ],
)
def test_errors_name_the_value(X, options, error, message):
    with pytest.raises(error, match=message):
        core.drtree(X, **options)


@pytest.mark.parametrize("kernel", [None, "precomputed"])
def test_a_dask_array_is_computed(kernel):
    da = pytest.importorskip("dask.array")
    X = forked(30)[0]
    X = X if kernel is None else X @ X.T
    a, b = core.drtree(da.from_array(X, chunks=(7, 3)), kernel=kernel), core.drtree(X, kernel=kernel)
    np.testing.assert_array_equal(a.edges, b.edges)
    np.testing.assert_array_equal(a.embedding, b.embedding)
    blocks = da.from_array(X, chunks=(7, -1)).map_blocks(sparse.csr_matrix)
    np.testing.assert_allclose(core.drtree(blocks, kernel=kernel).embedding, b.embedding, atol=1e-9)


def test_the_callback_stops():
    fit = core.drtree(forked(100)[0], lam=100.0, tol=0, callback=lambda i, value: i == 2)
    assert fit.n_iter == 2
    assert not fit.converged
