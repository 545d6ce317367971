"""The best loadings where the nodes' system is solved by products alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import oracles
from samples import as_entries
from skeltraj.core._data.space import Moment
from skeltraj.core._ddrtree_round.leading import leading
from skeltraj.core._ddrtree_round.node_system import NodeSystem, factorised
from skeltraj.core._geometry.assign import assign


def problem(D, d, gamma, *, seed=0, n=200, K=30):
    """R, R'X, X'X and the tree for some nodes, with X short in its last directions."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) * np.geomspace(1, 0.2, D)
    C = X[:K, :d] + 0.01 * rng.standard_normal((K, d))
    R = assign(X[:, :d], C, 0.3).weights
    return X, R, oracles.kruskal(C), 2.0 * n, gamma


def solved(X, R, edges, lam, gamma, start):
    mass, gathered = np.asarray(R.sum(axis=0)).ravel(), R.T @ X
    system = NodeSystem(as_entries(R[:70], R[70:]), mass, gathered, edges, lam, gamma)
    W, C = leading(Moment(None, X.T @ X), system, start, np.zeros((len(mass), start.shape[1])))
    G = factorised((R.T @ R).toarray(), mass, gathered, edges, lam, gamma).nodes(np.eye(X.shape[1]))
    S = X.T @ X + gamma * gathered.T @ G
    return W, C, G, (S + S.T) / 2


@pytest.mark.parametrize("gamma", [0.1, 10.0, 1e3])
@pytest.mark.parametrize(("D", "d"), [(12, 1), (12, 2), (12, 5), (3, 3), (60, 3)])
def test_they_are_the_leading_eigenvectors(D, d, gamma):
    X, R, edges, lam, gamma = problem(D, d, gamma)
    start = np.linalg.qr(np.random.default_rng(1).standard_normal((D, d)))[0]
    W, C, G, S = solved(X, R, edges, lam, gamma, start)
    values, vectors = np.linalg.eigh(S)
    wanted = vectors[:, ::-1][:, :d]
    wanted = wanted * np.sign(np.sum(W * wanted, axis=0))
    np.testing.assert_allclose(W, wanted, atol=1e-10)
    np.testing.assert_allclose(C, G @ wanted, atol=1e-10 * np.abs(G).max() * 10)
    np.testing.assert_allclose(np.sum(W * (S @ W), axis=0), values[::-1][:d], rtol=1e-12)


def test_a_start_that_is_orthogonal_to_what_leads_is_left():
    X, R, edges, lam, gamma = problem(12, 2, 10.0)
    X[:, 4:] = 0.0  # eight directions in which nothing varies
    W, _, _, S = solved(X, R, edges, lam, gamma, np.eye(12)[:, -2:])
    assert np.isclose(np.trace(W.T @ S @ W), np.linalg.eigvalsh(S)[-2:].sum(), rtol=1e-12)


def test_equal_and_zero_eigenvalues():
    X, R, edges, lam, gamma = problem(12, 3, 10.0)
    X[:, 2:] = 0.0  # the third eigenvalue is zero, ten times
    W, _, _, S = solved(X, R, edges, lam, gamma, np.eye(12)[:, :3])
    np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.trace(W.T @ S @ W), np.trace(S), rtol=1e-12)
    X = np.vstack([X, X[:, [1, 0, *range(2, 12)]]])  # the first two are equal
    R = sparse.vstack([R, R], format="csr")
    W, _, _, S = solved(X, R, edges, lam, gamma, np.eye(12)[:, :1])
    assert np.isclose((W.T @ S @ W).item(), np.linalg.eigvalsh(S)[-1], rtol=1e-12)
