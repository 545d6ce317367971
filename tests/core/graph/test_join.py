"""The shortest edges that join the parts of a graph."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import oracles
import skeltraj as st
from skeltraj.core._graph.join import ends_of_parts


def shortest_joins(nodes, parts, allowed):
    """Kruskal over the parts, by all pairs of nodes: total length."""
    pairs = sorted(
        (np.linalg.norm(nodes[a] - nodes[b]), a, b)
        for a, b in itertools.combinations(allowed, 2)
        if parts[a] != parts[b]
    )
    group, joins = {part: part for part in parts}, []
    for _, a, b in pairs:
        one, two = group[parts[a]], group[parts[b]]
        if one != two:
            group = {part: one if at == two else at for part, at in group.items()}
            joins.append((a, b))
    return joins


@pytest.mark.parametrize("seed", range(12))
def test_the_shortest_edges_over_all_pairs_of_nodes(seed):
    rng = np.random.default_rng(seed)
    nodes = rng.standard_normal((40, 2 + seed % 3))
    edges = oracles.kruskal(nodes)
    edges = edges[rng.random(len(edges)) < 0.6]
    graph = st.core.Graph(nodes, edges)
    assert graph.component.max() > 3
    for allowed in (None, ends_of_parts(graph)):
        joins = st.core.joining_edges(graph, allowed)
        wanted = shortest_joins(nodes, graph.component, range(40) if allowed is None else allowed.tolist())
        assert [tuple(edge) for edge in joins.tolist()] == wanted
        assert st.core.Graph(nodes, np.vstack([edges, joins])).is_tree
    # whatever the order of the nodes
    turn = rng.permutation(40)
    back = np.argsort(turn)
    again = st.core.joining_edges(st.core.Graph(nodes[turn], back[edges]))
    assert {frozenset(turn[edge].tolist()) for edge in again} == {
        frozenset(edge) for edge in st.core.joining_edges(graph).tolist()
    }


def test_ends_are_tips_lone_nodes_and_all_of_a_circle():
    square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    nodes = np.array([*square, [5, 0], [6, 0], [7, 0], [9, 9]], dtype=float)
    graph = st.core.Graph(nodes, np.array([[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6]]))
    np.testing.assert_array_equal(ends_of_parts(graph), [0, 1, 2, 3, 4, 6, 7])
