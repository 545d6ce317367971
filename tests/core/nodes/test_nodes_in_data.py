"""What principal trees and principal graphs have in common."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from comparing import close
from samples import forked
from skeltraj import core
from skeltraj.core._nodes import nodes_in_data

FITS = [core.principal_tree, core.principal_graph]


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("n_nodes", [25, "all"])
def test_the_order_of_rows_does_not_matter(fit, n_nodes):
    X = forked(90)[0]
    shuffle = np.random.default_rng(1).permutation(90)
    a, b = fit(X, n_nodes=n_nodes), fit(X[shuffle], n_nodes=n_nodes)
    np.testing.assert_array_equal(a.objective, b.objective)
    if n_nodes == "all":
        np.testing.assert_array_equal(a.nodes[shuffle], b.nodes)
        np.testing.assert_array_equal(a.assignment[shuffle][:, shuffle].toarray(), b.assignment.toarray())
        back = np.sort(shuffle[b.edges], axis=1)
        by = np.lexsort(back.T[::-1])
        np.testing.assert_array_equal(back[by], a.edges)
        np.testing.assert_array_equal(b.weights[by], a.weights)
    else:
        np.testing.assert_array_equal(a.nodes, b.nodes)
        np.testing.assert_array_equal(a.assignment[shuffle].toarray(), b.assignment.toarray())


@pytest.mark.parametrize("fit", FITS)
def test_distances_of_rows_to_places_among_the_nodes(fit):
    X = forked(60)[0]
    result = fit(X, n_nodes=20)
    places = core.locate(result.graph, result.embedding).places(result.graph)
    wanted = np.linalg.norm(X - places, axis=1)
    np.testing.assert_allclose(result.distances(X, places), wanted, rtol=1e-12)
    np.testing.assert_allclose(result.distances(sparse.csr_matrix(X), places), wanted, rtol=1e-12)


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("route", ["dense", "sparse", "float32", "dask", "on disk"])
@pytest.mark.parametrize(("n_obs", "n_features"), [(120, 6), (40, 70)])
def test_the_order_of_columns_does_not_matter(fit, route, n_obs, n_features, tmp_path):
    X = forked(n_obs, n_features)[0]
    shuffle = np.random.default_rng(2).permutation(n_features)
    if route == "sparse":
        X = np.maximum(X, 0)
    if route == "float32":
        X = X.astype(np.float32)

    def given(values, name):
        if route == "sparse":
            return sparse.csr_matrix(values)
        if route == "dask":
            return pytest.importorskip("dask.array").from_array(values, chunks=(33, -1))
        if route == "on disk":
            return pytest.importorskip("h5py").File(tmp_path / name, "w").create_dataset("X", data=values)
        return values

    a, b = fit(given(X, "a.h5")), fit(given(X[:, shuffle], "b.h5"))
    assert b.params["sigma"] == pytest.approx(a.params["sigma"], rel=1e-9)
    assert b.objective[-1] == pytest.approx(a.objective[-1], rel=1e-7)
    np.testing.assert_array_equal(b.edges, a.edges)
    close(b.nodes, a.nodes[:, shuffle], 1e-6)


def test_the_order_of_columns_does_not_matter_where_some_rows_are_drawn(monkeypatch):
    monkeypatch.setattr(nodes_in_data, "sample_size", lambda K: 4 * K)
    X = forked(900)[0]
    shuffle = np.random.default_rng(2).permutation(6)
    a, b = core.principal_tree(X, n_nodes=30), core.principal_tree(X[:, shuffle], n_nodes=30)
    close(b.nodes, a.nodes[:, shuffle], 1e-6)
    np.testing.assert_array_equal(b.edges, a.edges)


@pytest.mark.parametrize("fit", FITS)
def test_units_and_place_do_not_matter(fit):
    X = forked(150)[0]
    a, b = fit(X), fit(100 * X + 7)
    close(b.nodes, 100 * a.nodes + 7, 1e-5)
    assert len(a.edges) == len(b.edges)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(n_nodes=1), ValueError, "n_nodes=1"),
        (dict(n_nodes=41), ValueError, "n_nodes=41"),
        (dict(n_nodes="many"), ValueError, "n_nodes='many'"),
        (dict(gamma=0), ValueError, "gamma=0"),
        (dict(sigma=-1.0), ValueError, "sigma=-1"),
        (dict(assignment="firm"), ValueError, "assignment='firm'"),
        (dict(init=np.ones((5, 2))), ValueError, "6 columns"),
        (dict(tol=np.nan), ValueError, "tol=nan"),
    ],
)
def test_errors_name_the_value(fit, options, error, message):
    with pytest.raises(error, match=message):
        fit(forked(40)[0], **options)


@pytest.mark.parametrize("fit", FITS)
def test_few_rows_duplicates_and_constant_data(fit):
    assert np.isfinite(fit(forked(3)[0]).nodes).all()
    assert np.isfinite(fit(np.repeat(forked(20)[0], 4, axis=0), n_nodes="all").nodes).all()
    with pytest.raises(ValueError, match="all 9 rows are the same"):
        fit(np.ones((9, 3)))
    with pytest.raises(ValueError, match="NaN"):
        fit(np.full((9, 3), np.nan))


@pytest.mark.parametrize("fit", FITS)
def test_convergence_does_not_depend_on_where_zero_is(fit):
    """The entropy makes the objective negative; a relative change at zero would never be small."""
    learned = fit(forked(300)[0], tol=1e-4)
    offset = learned.params["gamma"] * learned.params["sigma"] * 300 * np.log(len(learned.nodes))
    change = np.abs(np.diff(learned.objective)) / (learned.objective + offset)[:-1]
    assert learned.converged
    assert (learned.objective + offset > 0).all()
    assert change[-1] <= 1e-4 * 1.001
    assert (change[:-1] > 1e-4 * 0.999).all()
