"""The consensus of replicates: what most of them lack goes."""

from __future__ import annotations

import numpy as np

from skeltraj import core
from skeltraj.core._branches.comparison import TreeWithPoints, compare
from skeltraj.core._branches.consensus import consensus
from two_forks import TWO_FORKS, along


def test_consensus_takes_out_what_most_replicates_lack():
    rng = np.random.default_rng(0)
    stem = along([[0, 0], [2, 0]], 100, rng)
    points = np.concatenate(
        [
            stem,
            along([[2, 0], [2, 2]], 100, rng),
            along([[2, 0], [3, 0]], 60, rng),
            along([[3, 0], [4, 1]], 60, rng),
            along([[3, 0], [4, -1]], 6, rng),
        ]
    )
    without = core.Graph(TWO_FORKS.nodes[:7], TWO_FORKS.edges[:6])
    every = np.arange(len(points))
    tree = TreeWithPoints(TWO_FORKS, core.locate(TWO_FORKS, points), every)
    near = every[:10]
    having = compare(tree, tree, near)
    lacking = compare(tree, TreeWithPoints(without, core.locate(without, points), every), near)
    graph, place = consensus(tree, [lacking, lacking, having], points)
    assert (len(graph.forks), len(graph.tips), graph.n_nodes) == (1, 3, 7)
    assert place[7] == -1
    np.testing.assert_array_equal(graph.nodes[place[:7]], TWO_FORKS.nodes[:7])
    graph, place = consensus(tree, [lacking, having, having], points)
    np.testing.assert_array_equal(graph.nodes, TWO_FORKS.nodes)
    np.testing.assert_array_equal(place, np.arange(8))


def test_consensus_joins_forks_that_most_replicates_do_not_tell_apart():
    rng = np.random.default_rng(0)
    ends = [
        ([0, 0], [2, 0], 80),
        ([2, 0], [2, 2], 80),
        ([2, 0], [3, 0], 6),
        ([3, 0], [4, 1], 80),
        ([3, 0], [4, -1], 80),
    ]
    points = np.concatenate([along([a, b], n, rng) for a, b, n in ends])
    every = np.arange(len(points))
    tree = TreeWithPoints(TWO_FORKS, core.locate(TWO_FORKS, points), every)
    star = core.Graph(np.array([[2.5, 0], [0, 0], [2, 2], [4, 1], [4, -1]]), np.array([[0, 1], [0, 2], [0, 3], [0, 4]]))
    # the same four arms, two others of which leave together
    crossed = core.Graph(TWO_FORKS.nodes, np.array([[0, 1], [1, 2], [3, 5], [3, 4], [2, 5], [6, 5], [2, 7]]))
    others = {}
    for name, other in (("star", star), ("crossed", crossed), ("same", TWO_FORKS)):
        seen = TreeWithPoints(other, core.locate(other, points), every)
        if name == "crossed":
            seen.branch, seen.position = tree.branch, tree.position  # where the points lie is the same
        others[name] = compare(tree, seen, every[:10])
    for replicates in (["star"] * 3, ["star", "crossed", "same"]):
        graph, place = consensus(tree, [others[name] for name in replicates], points)
        assert (graph.is_tree, graph.n_nodes, len(graph.tips)) == (True, 7, 4)
        assert graph.degree[graph.forks].tolist() == [4]
        assert place[2] == place[5] == graph.forks[0]
        np.testing.assert_allclose(graph.nodes[place[2]], [2.5, 0])
    graph, place = consensus(tree, [others[name] for name in ("star", "same", "same")], points)
    np.testing.assert_array_equal(place, np.arange(8))
