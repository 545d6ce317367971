"""The graph's weights against the linear programme."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from skeltraj.core._solvers import l1_graph
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


@pytest.mark.parametrize(("K", "D"), [(12, 2), (9, 40), (6, 200)])
@pytest.mark.parametrize("constant", [0.0, 2.0, 1e4])
def test_the_programme_and_its_dual_have_the_same_optimum(K, D, constant, monkeypatch):
    points = np.random.default_rng(0).standard_normal((K, D))
    graph = L1Graph(points, np.column_stack(np.triu_indices(K, 1)), 10.0, constant)
    costs = []
    for wide in (0, np.inf):
        monkeypatch.setattr(l1_graph, "_WIDE", wide)
        weights = graph.solve(0.8 * points)
        assert (weights >= 0).all()
        costs.append(graph.cost(0.8 * points, weights))
    assert costs[0] == pytest.approx(costs[1], rel=1e-6)
