"""The curvature of log det Q by distances, against its definition and the second derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigvalsh

import oracles
from samples import forked
from skeltraj import core
from skeltraj.core._similarity import curvature
from skeltraj.core._similarity.curvature import PairCurvature
from skeltraj.core._similarity.pair_distances import PairDistances


def neighbor_pairs(phi, k=5):
    near = phi.neighbors(k)
    return np.unique(np.sort(np.column_stack([np.repeat(np.arange(phi.n), k), near.ravel()]), axis=1), axis=0)


def given(kind):
    X = forked(40)[0]
    values = {
        "rows": X,
        "sparse rows": sparse.csr_matrix(X),
        "kernel": X @ X.T,
        "distances": oracles.squared_distances(X),
    }[kind]
    phi = PairDistances(values, kind.split()[-1], name="X")
    return phi, oracles.squared_distances(X[phi.order])


@pytest.mark.parametrize("kind", ["rows", "sparse rows", "kernel", "distances"])
def test_it_is_the_sum_over_rows(kind):
    phi, squares = given(kind)
    pairs, d = neighbor_pairs(phi), 2
    scale = np.maximum(phi.of_pairs(pairs) / d, 0.01)
    P = PairCurvature(phi, pairs, d, scale)
    wanted = oracles.pair_curvature(squares, pairs, d, scale, curvature._DAMPING)
    found = np.column_stack([P.times(unit) for unit in np.eye(len(pairs))])
    np.testing.assert_allclose(found, wanted, atol=1e-10)
    np.testing.assert_allclose(P.diagonal, np.diag(wanted), atol=1e-10)


def test_the_solution_in_some_entries(monkeypatch):
    monkeypatch.setattr(curvature, "_TOL", 1e-12)
    monkeypatch.setattr(curvature, "_MAX_ITER", 1000)
    phi, squares = given("rows")
    pairs = neighbor_pairs(phi)
    scale = phi.of_pairs(pairs) / 2
    rng = np.random.default_rng(0)
    free, b = rng.random(len(pairs)) < 0.7, rng.normal(size=len(pairs))
    matrix = oracles.pair_curvature(squares, pairs, 2, scale, curvature._DAMPING)
    x = PairCurvature(phi, pairs, 2, scale).solve(b, free)
    np.testing.assert_allclose(x[free], np.linalg.solve(matrix[np.ix_(free, free)], b[free]), rtol=1e-6, atol=1e-9)
    assert not x[~free].any()


def test_many_pairs_of_a_row_are_taken_in_parts(monkeypatch):
    """Near ones together; the entries between two parts are left out."""
    phi, _ = given("rows")
    pairs = np.array([(0, j) for j in range(1, 8)])
    scale = phi.of_pairs(pairs) / 2
    whole = PairCurvature(phi, pairs, 2, scale)
    monkeypatch.setattr(curvature, "_MOST_TOGETHER", 3)
    parts = PairCurvature(phi, pairs, 2, scale)
    part = np.empty(7, dtype=int)
    part[np.argsort(scale)] = np.arange(7) // 3
    full = np.column_stack([whole.times(unit) for unit in np.eye(7)])
    found = np.column_stack([parts.times(unit) for unit in np.eye(7)])
    np.testing.assert_allclose(found, np.where(part[:, None] == part, full, 0.0), atol=1e-12)


@pytest.mark.parametrize(("n_features", "least"), [(2, 0.02), (10, 0.1), (100, 0.1)])
def test_it_is_near_the_second_derivatives_at_the_maximum(n_features, least):
    """From `least` to 1.5 are the second derivatives, in its units, which is better than the diagonal alone."""
    X = np.random.default_rng(0).normal(size=(80, n_features))
    phi = PairDistances(X, "rows", name="X")
    fit = core.mpme(phi.rows, 2, tol=1e-9)
    Q = oracles.similarity_laplacian(fit.similarity.toarray()) + fit.params["lam"] * np.eye(80)
    a, b = fit.edges.T
    units = np.eye(80)[a] - np.eye(80)[b]
    scale = phi.of_pairs(fit.edges) / 2
    second = (units @ np.linalg.inv(Q) @ units.T) ** 2 / scale / scale[:, None]
    P = oracles.pair_curvature(oracles.squared_distances(phi.rows), fit.edges, 2, scale, curvature._DAMPING)
    share = eigvalsh(second, P)
    alone = eigvalsh(second)
    assert least < share[0]
    assert share[-1] < 1.5
    assert share[-1] / share[0] < 0.7 * alone[-1] / alone[0]
