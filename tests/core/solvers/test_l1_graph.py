"""The graph's weights against the linear programme."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from skeltraj.core._solvers.l1_graph import L1Graph


@pytest.mark.parametrize("constant", [0.0, 0.7])
def test_the_weights_are_the_linear_programmes_optimum(constant):
    rng = np.random.default_rng(0)
    A, F = rng.standard_normal((14, 3)), rng.standard_normal((14, 3))
    allowed = rng.random((14, 14)) < 0.5
    pairs = np.argwhere(np.triu(allowed, 1))
    graph = L1Graph(A, pairs, 5.0, constant)
    weights = graph.solve(F)
    G = np.zeros((14, 14))
    G[pairs[:, 0], pairs[:, 1]] = G[pairs[:, 1], pairs[:, 0]] = weights
    assert graph.cost(F, weights) == pytest.approx(oracles.l1_graph_cost(A, F, G, 5.0, constant), rel=1e-10)
    literal = oracles.l1_graph_cost(A, F, oracles.l1_graph(A, F, allowed, 5.0, constant), 5.0, constant)
    assert graph.cost(F, weights) == pytest.approx(literal, rel=1e-6)
    assert (weights > 0).any()
