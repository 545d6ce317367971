from __future__ import annotations

import numpy as np
import pytest

import oracles
from skeltraj.core._nodes import distance_bounds, kmeans
from skeltraj.core._nodes.kmeans import seed_nodes


@pytest.mark.parametrize(("n", "d", "K"), [(400, 2, 40), (150, 7, 12), (60, 3, 59), (5, 2, 1)])
def test_nodes_are_those_of_the_literal_version(n, d, K, monkeypatch):
    monkeypatch.setattr(kmeans, "_POINTS_AT_ONCE", 90)
    points = np.random.default_rng(n).standard_normal((n, d))
    found = seed_nodes(points, K, np.random.default_rng(1))
    literal = oracles.k_means_nodes(points, K, np.random.default_rng(1), kmeans._ROUNDS)
    np.testing.assert_allclose(found, literal, rtol=1e-12, atol=1e-12)


def test_copies_do_not_draw_a_point_twice():
    """Four places, ten seeds: an empty node keeps its place."""
    points = np.repeat([[0.0, 0.0], [1.0, 0.0], [5.0, 2.0], [5.0, 3.0]], 5, axis=0)
    nodes = seed_nodes(points, 10, np.random.default_rng(0))
    assert len(nodes) == 10
    np.testing.assert_array_equal(np.unique(nodes, axis=0), np.unique(points, axis=0))
    np.testing.assert_array_equal(nodes, oracles.k_means_nodes(points, 10, np.random.default_rng(0), 20))


@pytest.mark.parametrize("d", [4, 8])
def test_threads_change_nothing(d, monkeypatch):
    points = np.random.default_rng(3).standard_normal((3000, d))
    nodes = [seed_nodes(points, 80, np.random.default_rng(0))]
    for threads, at_once in (("1", 5000), ("2", 7), ("2", 1000)):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        for module in (kmeans, distance_bounds):
            monkeypatch.setattr(module, "_POINTS_AT_ONCE", at_once)
        nodes.append(seed_nodes(points, 80, np.random.default_rng(0)))
    for other in nodes[1:]:
        np.testing.assert_array_equal(nodes[0], other)
