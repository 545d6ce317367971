"""Nodes and edges as a graph."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj import core

LINE = core.Graph([[0, 0], [1, 0], [2, 0]], [[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("nodes", "edges", "kind", "message"),
    [
        ([[0, np.nan], [1, 0]], [[0, 1]], ValueError, "nodes: 1 of 2 hold NaN or infinite coordinates"),
        ([0, 1], [[0, 1]], ValueError, r"nodes: an array of shape \(2,\) was given; wanted \(n, n_components\)"),
        ([[0j, 1], [1, 0]], [[0, 1]], TypeError, "nodes: entries are of type complex128; wanted real numbers"),
        ([[0, 0], [1, 0]], [[0, 2]], ValueError, "edges: there is no 2 among 2 nodes; wanted numbers from 0 to 1"),
        ([[0, 0], [1, 0]], [[0, -1]], ValueError, "edges: there is no -1 among 2 nodes"),
        ([[0, 0], [1, 0]], [[0.0, 1.0]], TypeError, "edges: entries are of type float64; wanted whole numbers"),
        ([[0, 0], [1, 0]], [0, 1], ValueError, r"edges: an array of shape \(2,\) was given; wanted \(m, 2\)"),
        ([[0, 0], [1, 0]], [[0, 1], [1, 1]], ValueError, "edges: node 1 is joined to itself"),
    ],
)
def test_nodes_and_edges_that_are_no_graph(nodes, edges, kind, message):
    with pytest.raises(kind, match=message):
        core.Graph(nodes, edges)


def test_a_graph_holds_numbers_and_whole_numbers_however_they_were_given():
    assert LINE.nodes.dtype == np.float64
    assert LINE.edges.dtype == np.int64
    assert core.Graph(np.zeros((2, 1)), []).edges.shape == (0, 2)


def test_a_graph_stays_what_it_was_where_the_arrays_given_are_changed():
    nodes, edges = np.array([[0.0, 0], [2, 0], [3, 0]]), np.array([[0, 1], [1, 2]])
    graph = core.Graph(nodes, edges)
    assert graph.edge_length.tolist() == [2, 1]  # known from here on
    nodes[0], edges[0] = 9.0, [0, 2]
    assert graph.nodes[0].tolist() == [0, 0]
    assert graph.edges[0].tolist() == [0, 1]
    assert graph.distances_from(0).tolist() == [0, 2, 3]


def test_an_edge_that_is_there_twice_is_refused():
    with pytest.raises(ValueError, match="edges: nodes 1 and 2 are joined more than once; wanted each edge once"):
        core.Graph(np.eye(3), np.array([[0, 1], [1, 2], [2, 1]]))


def test_branches_from_one_end_come_in_the_order_of_their_other_ends():
    # from a fork on the left two arms, of which the one that ends first turns back
    nodes = [[0, 0], [1, 1], [2, 1], [1.5, 2], [1.2, -1], [3, -1], [0.5, 3]]
    graph = core.Graph(nodes, [[0, 1], [1, 2], [2, 3], [0, 4], [4, 5], [0, 6]])
    assert [(int(path[0]), int(path[-1])) for path in graph.branches] == [(0, 6), (0, 3), (0, 5)]
    graph = core.Graph(nodes, [[0, 4], [4, 3], [0, 1], [1, 5], [0, 6], [2, 5]])
    assert [int(path[-1]) for path in graph.branches] == [6, 3, 2]


def test_edges_of_branches_are_those_that_their_paths_pass():
    rng = np.random.default_rng(0)
    for n_more in (0, 3):  # a tree, and with loops
        pairs = [(int(rng.integers(i)), i) for i in range(1, 40)]
        pairs += [tuple(sorted(rng.choice(40, 2, replace=False))) for _ in range(n_more)]
        edges = np.array(sorted(set(pairs)))
        graph = core.Graph(rng.standard_normal((40, 2)), edges)
        assert sorted(np.concatenate(graph.branch_edges).tolist()) == list(range(len(edges)))
        for path, along in zip(graph.branches, graph.branch_edges, strict=True):
            np.testing.assert_array_equal(along, graph.edges_along(path))
            assert set(graph.branch_of_edge[along].tolist()) == {graph.branch_of_edge[along[0]]}
    circle = core.Graph([[0, 0], [1, 0], [1, 1], [5, 5]], [[0, 1], [1, 2], [0, 2]])
    assert [path.tolist() for path in circle.branches] == [[0, 1, 2, 0]]
    assert [along.tolist() for along in circle.branch_edges] == [[0, 1, 2]]
    assert core.Graph([[0, 0], [1, 0]], []).branch_edges == []
    apart = core.Graph(
        [[5, 5], [6, 5], [6, 6], [0, 0], [1, 0], [1, 1]], [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5]]
    )
    assert [path.tolist() for path in apart.branches] == [[3, 4, 5, 3], [0, 1, 2, 0]]


def test_components_are_numbered_by_coordinates_however_nodes_are():
    nodes = np.array([[5.0, 0], [6, 0], [1, 0], [0, 0], [3, 3]])
    edges = np.array([[0, 1], [2, 3]])
    assert core.Graph(nodes, edges).component.tolist() == [2, 2, 0, 0, 1]
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(nodes))
        turned = core.Graph(nodes[order], np.argsort(order)[edges])
        np.testing.assert_array_equal(turned.component, core.Graph(nodes, edges).component[order])


def test_it_prints_counts_with_their_nouns():
    assert repr(LINE) == "Graph: 3 nodes in 2 dimensions, 2 edges, 1 part, 2 tips, 0 forks"
    assert repr(core.Graph([[0.0], [1.0], [3.0]], [[0, 1]])).endswith("1 dimension, 1 edge, 2 parts, 2 tips, 0 forks")
