"""The consensus of replicates: what most of them lack goes."""

from __future__ import annotations

import numpy as np

from skeltraj import core
from skeltraj.core._branches.comparison import TreeWithPoints, compare
from skeltraj.core._branches.consensus import _best_agreement, consensus
from two_forks import TWO_FORKS, along, forked_at


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


def test_consensus_keeps_a_fork_whose_place_along_the_trunk_varies():
    rng = np.random.default_rng(0)
    points = np.concatenate(
        [along([a, b], n, rng) for a, b, n in (([0, 0], [8, 0], 400), ([8, 0], [10, 2], 40), ([8, 0], [10, -2], 40))]
    )
    every = np.arange(len(points))
    trees = [TreeWithPoints(g, core.locate(g, points), every) for g in map(forked_at, (8, 5.6, 5.8, 6, 6.2))]
    tree, replicates = trees[0], [compare(trees[0], other, every[:10]) for other in trees[1:]]
    arms = np.bincount(tree.branch) == 40
    assert arms.sum() == 2
    for replicate in replicates:
        assert (replicate.branch_overlap[arms] < 0.5).all()  # what was the trunk lies on the arms
        assert replicate.fork_found.tolist() == [0]
        assert (replicate.branch_support[arms] > 0.95).all()
        assert replicate.fork_triplets[0] > 0.95
    graph, _ = consensus(tree, replicates, points)
    assert (len(graph.forks), len(graph.tips)) == (1, 3)
    np.testing.assert_array_equal(graph.nodes, tree.graph.nodes)
    # not so if the replicates are a line along one of the arms
    line = core.Graph(np.array([[0.0, 0], [8, 0], [10, 2]]), np.array([[0, 1], [1, 2]]))
    lines = [compare(tree, TreeWithPoints(line, core.locate(line, points), every), every[:10])] * 3
    assert lines[0].fork_triplets[0] < 0.5
    graph, _ = consensus(tree, lines, points)
    assert (len(graph.forks), len(graph.tips)) == (0, 2)


def test_the_sides_of_a_division_have_no_order():
    mine = np.repeat([0, 1], 4)
    other = np.array([1, 1, 1, 1, 0, 2, 2, 2])  # one side is the same, of the other a quarter is there
    assert _best_agreement(mine, [other]) == _best_agreement(1 - mine, [other]) == 0.25
    assert _best_agreement(mine, [other, 1 - mine]) == 1
