"""Nodes of a skeleton among the same points in another space."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from oracles import kruskal
from skeltraj.core import Graph, nodes_on


def line(places):
    nodes = np.array(places, dtype=float)[:, None] * [1.0, 0.0]
    return Graph(nodes, np.column_stack([np.arange(len(nodes) - 1), np.arange(1, len(nodes))]))


def test_weighted_means_literally():
    rng = np.random.default_rng(0)
    R = rng.random((30, 5)) ** 6
    R[R < 0.1] = 0
    R[:, 4] += 1e-6
    points = rng.standard_normal((30, 3)) + 100
    nodes = nodes_on(line(range(5)), sparse.csr_matrix(R), points)
    wanted = [sum(R[i, k] * points[i] for i in range(30)) / sum(R[i, k] for i in range(30)) for k in range(5)]
    np.testing.assert_allclose(nodes, wanted, rtol=1e-12)
    turn = rng.permutation(30)
    np.testing.assert_allclose(nodes_on(line(range(5)), sparse.csr_matrix(R[turn]), points[turn]), nodes, rtol=1e-13)


def test_between_nodes_with_points_linearly_in_the_path_length_and_beyond_them_at_the_last():
    # nodes at 0, 1, 4, 5, 9, 10 along a line; those at 1 and 9 have points
    R = sparse.csr_matrix(np.array([[0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0]], dtype=float))
    nodes = nodes_on(line([0, 1, 4, 5, 9, 10]), R, np.array([[0.0, 10.0, 3.0], [8.0, 2.0, 3.0]]))
    share = np.array([0, 0, 3 / 8, 4 / 8, 1, 1])[:, None]
    np.testing.assert_allclose(nodes, (1 - share) * [0, 10, 3] + share * [8, 2, 3], atol=1e-12)


def test_at_an_empty_fork_by_one_over_the_lengths():
    graph = Graph(np.array([[0.0, 0], [1, 0], [0, 2], [-4, 0]]), np.array([[0, 1], [0, 2], [3, 0]]))
    R = sparse.csr_matrix((np.ones(3), ([0, 1, 2], [1, 2, 3])), shape=(3, 4))
    points = np.array([[0.0, 0.0], [7.0, 0.0], [0.0, 7.0]])
    nodes = nodes_on(graph, R, points)
    weight = np.array([1 / 1, 1 / 2, 1 / 4])
    np.testing.assert_allclose(nodes[0], weight @ points / weight.sum())
    np.testing.assert_array_equal(nodes[1:], points)


def test_edges_of_no_length_parts_without_points_and_lone_nodes():
    nodes = np.array([[0.0, 0], [1, 0], [1, 0], [2, 0], [0.1, 5], [0.1, 6], [2.2, -7]])
    graph = Graph(nodes, np.array([[0, 1], [1, 2], [2, 3], [4, 5]]))
    R = sparse.csr_matrix((np.ones(2), ([0, 1], [0, 3])), shape=(2, 7))
    coordinates = nodes_on(graph, R, np.array([[0.0, 1.0], [4.0, 1.0]]))
    # parts 4-5 and 6 stand with the nodes that are nearest in the skeleton's own space, 0 and 3
    np.testing.assert_allclose(coordinates[:, 0], [0, 2, 2, 4, 0, 0, 4], atol=1e-6)
    np.testing.assert_allclose(coordinates[:, 1], 1)


@pytest.mark.parametrize("seed", range(6))
def test_empty_nodes_are_the_means_of_their_neighbours(seed):
    rng = np.random.default_rng(seed)
    nodes = rng.standard_normal((40, 3))
    graph = Graph(nodes, kruskal(nodes))
    held = rng.random(40) < 0.4
    R = sparse.csr_matrix(rng.random((60, 40)) * held)
    coordinates = nodes_on(graph, R, rng.standard_normal((60, 2)))
    for node in np.flatnonzero(~held):
        around = graph.neighbors(node)
        weight = 1 / np.linalg.norm(nodes[around] - nodes[node], axis=1)
        np.testing.assert_allclose(coordinates[node], weight @ coordinates[around] / weight.sum(), atol=1e-9)


def test_errors():
    graph, R = line(range(3)), sparse.csr_matrix(np.eye(3))
    with pytest.raises(ValueError, match="points holds 1 value"):
        nodes_on(graph, R, np.array([[0.0, 1], [np.nan, 1], [0, 0]]))
    with pytest.raises(ValueError, match=r"assignment has shape \(3, 3\); wanted \(2, 3\), points by nodes"):
        nodes_on(graph, R, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="no point is assigned to any of the 3 nodes"):
        nodes_on(graph, 0 * R, np.zeros((3, 2)))
