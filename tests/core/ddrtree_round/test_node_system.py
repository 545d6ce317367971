"""The nodes' system: its products, and conjugate gradients against the direct solution."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from comparing import close
from samples import as_entries
from skeltraj.core._ddrtree_round import node_system
from skeltraj.core._geometry.assign import assign


@pytest.mark.parametrize("m", [1, 2, 3, 7])
def test_products_with_the_overlap(m):
    rng = np.random.default_rng(0)
    Z, V = rng.standard_normal((200, 2)), rng.standard_normal((30, m))
    R = assign(Z, Z[:30], 0.3).weights
    product = node_system.overlap_times(as_entries(R[:50], R[50:60], R[60:]), V)
    np.testing.assert_allclose(product, R.T @ (R @ V), rtol=1e-12, atol=1e-12)


def test_conjugate_gradients_find_the_direct_solution():
    rng = np.random.default_rng(0)
    Z, C = rng.standard_normal((300, 3)), rng.standard_normal((40, 3))
    R = assign(Z, C, 0.3).weights
    edges = oracles.kruskal(C)
    gathered, mass = rng.standard_normal((40, 7)), np.asarray(R.sum(axis=0)).ravel()
    for lam, gamma in [(0.0, 1.0), (10.0, 0.1), (300.0, 10.0), (1e4, 1e3)]:
        direct = node_system.factorised((R.T @ R).toarray(), mass, gathered, edges, lam, gamma).nodes(np.eye(7))
        system = node_system.NodeSystem(as_entries(R[:100], R[100:]), mass, gathered, edges, lam, gamma)
        for columns in (slice(7), slice(2), slice(1)):
            close(system.solve(gathered[:, columns]), direct[:, columns], 1e-10)
