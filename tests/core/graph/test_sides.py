"""The sides of edges and forks."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from samples import random_tree
from skeltraj import core
from skeltraj.core._graph.sides import Sides


@pytest.mark.parametrize("seed", range(5))
def test_sides_of_a_fork_are_its_parts_without_it(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(12, rng)
    points = rng.standard_normal((50, 2))
    at = core.locate(tree, points)
    assert len(tree.forks)
    for fork in tree.forks.tolist():
        G = nx.Graph([tuple(map(int, e)) for e in tree.edges])
        G.remove_node(fork)
        part = {v: i for i, nodes in enumerate(nx.connected_components(G)) for v in nodes}
        wanted = [next(part[int(v)] for v in tree.edges[e] if v != fork) for e in at.edge]
        sides = Sides(tree).around(fork, at)
        assert len(set(zip(wanted, sides.tolist(), strict=True))) == len(set(wanted)) == len(set(sides.tolist()))
        assert sides.max() < tree.degree[fork]


@pytest.mark.parametrize("seed", range(5))
def test_what_is_below_an_edge_is_its_part_without_it(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(12, rng)
    at = core.locate(tree, rng.standard_normal((60, 2)))
    G = nx.Graph([tuple(map(int, e)) for e in tree.edges])
    for e, below in enumerate(Sides(tree).below(at)):
        G.remove_edge(*map(int, tree.edges[e]))
        above = list(nx.node_connected_component(G, 0))
        G.add_edge(*map(int, tree.edges[e]))
        wanted = ~np.isin(tree.edges[at.edge, 0], above)  # both ends of other edges are on one side
        share = at.fraction[at.edge == e]
        wanted[at.edge == e] = (share if tree.edges[e, 0] in above else 1 - share) > 0.5
        np.testing.assert_array_equal(below, wanted)
