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
