"""Principal trees against the literal version, and what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import oracles
from comparing import close
from samples import forked
from skeltraj import core


@pytest.mark.parametrize("route", ["dense", "sparse", "float32", "dask", "on disk"])
@pytest.mark.parametrize(("sigma", "gamma", "K"), [(0.02, 0.5, 15), (0.3, 5.0, 15), (0.0, 1.0, 15), (0.02, 2.0, None)])
def test_a_tree_agrees_with_the_literal_version_round_by_round(sigma, gamma, K, route, tmp_path):
    X = forked(60)[0]
    given = {"sparse": sparse.csr_matrix, "float32": np.float32}.get(route, np.asarray)(X)
    if route == "float32":
        X = given.astype(np.float64)
    if route == "dask":
        given = pytest.importorskip("dask.array").from_array(X, chunks=(23, 4))
    if route == "on disk":
        given = pytest.importorskip("h5py").File(tmp_path / "X.h5", "w").create_dataset("X", data=X)
    F = X.copy() if K is None else X[:K] + 0.01
    literal = oracles.principal_tree(X, F, sigma, gamma, 4)
    for rounds in (1, 2, 4):
        fit = core.principal_tree(
            given,
            n_nodes="all",
            init=None if K is None else F,
            gamma=gamma,
            sigma=sigma or 1.0,
            assignment="soft" if sigma else "hard",
            max_iter=rounds,
            tol=0,
        )
        F1, R1, edges1, _ = literal[fit.n_iter]
        close(fit.objective, [state[-1] for state in literal[: fit.n_iter + 1]])
        close(fit.nodes, F1)
        R = fit.assignment.compute() if route == "dask" else fit.assignment
        close(R.toarray(), R1)
        np.testing.assert_array_equal(fit.edges, edges1)


def test_a_trees_objective_is_the_papers_and_never_rises():
    X = forked(400)[0]
    fit = core.principal_tree(X, tol=0, max_iter=60)
    sigma, gamma = fit.params["sigma"], fit.params["gamma"]
    length = sum(((fit.nodes[i] - fit.nodes[j]) ** 2).sum() for i, j in fit.edges)
    R = fit.assignment.toarray()
    wanted = 2 * length + gamma * oracles.quantisation(X, fit.nodes, R, sigma)
    assert fit.objective[-1] == pytest.approx(wanted, rel=1e-9)
    assert (np.diff(fit.objective) <= 1e-12 * np.ptp(fit.objective)).all()
    np.testing.assert_allclose(R.sum(axis=1), 1.0)
    close(fit.embedding, R @ fit.nodes)
    close(fit.transform(X), fit.embedding, 1e-12)
    np.testing.assert_array_equal(fit.weights, 1.0)


def test_a_tree_follows_the_arms():
    fit = core.principal_tree(forked(600)[0])
    assert len(fit.graph.tips) == 3
    assert len(fit.graph.forks) == 1
