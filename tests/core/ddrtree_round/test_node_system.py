"""The nodes' system: its products, and conjugate gradients against the direct solution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import oracles
from samples import as_entries
from skeltraj.core._ddrtree_round import node_system
from skeltraj.core._ddrtree_round.node_system import overlap_times
from skeltraj.core._geometry.assign import assign


def problem(D, d, gamma, *, seed=0, n=200, K=30):
    """R, R'X, X'X and the tree for some nodes, with X short in its last directions."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) * np.geomspace(1, 0.2, D)
    C = X[:K, :d] + 0.01 * rng.standard_normal((K, d))
    R = assign(X[:, :d], C, 0.3).weights
    return X, R, oracles.kruskal(C), 2.0 * n, gamma


@pytest.mark.parametrize("m", [1, 2, 3, 7])
def test_products_with_the_overlap(m):
    _, R, *_ = problem(12, 2, 1.0)
    V = np.random.default_rng(0).standard_normal((R.shape[1], m))
    found = overlap_times(as_entries(R[:50], R[50:60], R[60:]), V)
    np.testing.assert_allclose(found, R.T @ (R @ V), rtol=1e-12, atol=1e-12)


def close(a, b, tolerance=1e-8):
    """Largest difference relative to the largest entry."""
    a, b = (x.toarray() if sparse.issparse(x) else np.asarray(x) for x in (a, b))
    assert a.shape == b.shape
    assert np.abs(a - b).max() <= tolerance * np.abs(b).max()


def test_conjugate_gradients_find_the_direct_solution():
    rng = np.random.default_rng(0)
    Z, C = rng.standard_normal((300, 3)), rng.standard_normal((40, 3))
    R = assign(Z, C, 0.3).weights
    edges = oracles.kruskal(C)
    pull, mass = rng.standard_normal((40, 7)), np.asarray(R.sum(axis=0)).ravel()
    for lam, gamma in [(0.0, 1.0), (10.0, 0.1), (300.0, 10.0), (1e4, 1e3)]:
        direct = node_system.factorised((R.T @ R).toarray(), mass, pull, edges, lam, gamma)
        system = node_system.NodeSystem(as_entries(R[:100], R[100:]), mass, pull, edges, lam, gamma)
        for columns in (slice(7), slice(2), slice(1)):
            close(system.solve(pull[:, columns]), direct[:, columns], 1e-10)
