"""The trees through which pruning passes: each is what `prune` leaves with so many tips."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from skeltraj import core
from skeltraj.core._branches.nested import nested_trees
from skeltraj.core._branches.overlap import agreement

# a stem 0 - 1 - 2 - 3 with three forks, the last two near each other, and four arms
NODES = np.array([[0.0, 0], [3, 0], [5, 0], [5.4, 0], [8, 2], [8, -2], [3, 2], [5, -3], [6, 5]])
EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [3, 5], [1, 6], [2, 7], [4, 8]])
ENDS = [(0, 1), (1, 3), (3, 4), (3, 5), (1, 6), (2, 7), (4, 8)]


def scattered(d=4, noise=0.3, n=40, seed=0):
    """A tree in `d` dimensions, points along it, and where they were measured."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0][:2]
    nodes = NODES @ turn + 0.05 * rng.standard_normal((len(NODES), d))
    points = np.concatenate([nodes[a] + rng.random((n, 1)) * (nodes[b] - nodes[a]) for a, b in ENDS])
    return nodes, points, points + noise * rng.standard_normal(points.shape)


def same(mine, theirs):
    """Whether two trees divide the points alike."""
    return agreement(mine.branch, theirs.branch, mine.n_branches, theirs.n_branches) == 1


@pytest.mark.parametrize("resolution", [0.0, 0.5])
@pytest.mark.parametrize("d", [2, 4])
def test_each_is_what_pruning_leaves(d, resolution):
    nodes, points, data = scattered(d)
    graph = core.Graph(nodes, EDGES)
    nested = nested_trees(graph, points, data, resolution=resolution)
    assert sorted(nested) == [2, 3, 4, 5]
    for n_tips, tree in nested.items():
        pruned = core.prune(graph, points, data, n_tips=n_tips, resolution=resolution)
        assert len(pruned.graph.tips) == n_tips
        on = pruned.graph.branch_of_edge[core.locate(pruned.graph, points).edge]
        assert tree.n_branches == len(pruned.graph.branches)
        assert oracles.agreement(tree.branch.tolist(), on.tolist()) == 1
        if n_tips > 2:
            assert tree.gain == core.prune(graph, points, data, n_tips=n_tips - 1).removed[-1].gain
    assert np.isnan(nested[2].gain)  # a line has no branch to lose
    assert nested[2].n_branches == 1


def test_the_gain_is_that_of_the_branch_that_goes_next():
    nodes, points, data = scattered()
    nested = nested_trees(core.Graph(nodes, EDGES), points, data)
    arms = {0: [[0, 1]], 5: [[3, 5]], 6: [[1, 6]], 7: [[2, 7]], 8: [[3, 4], [4, 8]]}
    assert nested[5].gain == pytest.approx(min(oracles.gain(nodes, EDGES, gone, data) for gone in arms.values()))


def test_trees_of_many_tips_are_left_out():
    nodes, points, data = scattered()
    graph = core.Graph(nodes, EDGES)
    whole, some = nested_trees(graph, points, data), nested_trees(graph, points, data, most=4)
    assert sorted(some) == [2, 3, 4]
    assert all(same(some[n_tips], whole[n_tips]) and some[n_tips].gain == whole[n_tips].gain for n_tips in (3, 4))


def test_neither_the_order_of_the_points_nor_numbers_units_or_rotations_matter():
    nodes, points, data = scattered()
    rng = np.random.default_rng(5)
    order, number = rng.permutation(len(points)), rng.permutation(len(nodes))
    turn = 100 * np.linalg.qr(rng.standard_normal((4, 4)))[0]
    first = nested_trees(core.Graph(nodes, EDGES), points, data, resolution=0.5)
    again = nested_trees(core.Graph(nodes, EDGES), points[order], data[order], resolution=0.5)
    turned = nested_trees(core.Graph(nodes @ turn + 3, EDGES), points @ turn + 3, data @ turn + 3, resolution=50.0)
    others = np.empty_like(nodes)
    others[number] = nodes
    renumbered = nested_trees(core.Graph(others, number[EDGES]), points, data, resolution=0.5)
    assert first.keys() == again.keys() == turned.keys() == renumbered.keys()
    for n_tips, tree in first.items():
        np.testing.assert_array_equal(again[n_tips].branch, tree.branch[order])
        np.testing.assert_equal(again[n_tips].gain, tree.gain)
        for other in (turned[n_tips], renumbered[n_tips]):
            assert same(other, tree)
            np.testing.assert_allclose(other.gain, tree.gain, rtol=1e-6)


def test_a_line_and_points_on_the_nodes_without_noise():
    line = nested_trees(core.Graph(NODES[:3], EDGES[:2]), NODES[:3], NODES[:3])
    assert list(line) == [2]
    np.testing.assert_array_equal(line[2].branch, 0)
    exact = nested_trees(core.Graph(NODES, EDGES), NODES, NODES)
    assert sorted(exact) == [2, 3, 4, 5]
    assert exact[5].gain == np.inf  # nothing else is left to describe


def test_errors():
    loop = core.Graph(NODES[:3], np.array([[0, 1], [1, 2], [2, 0]]))
    with pytest.raises(ValueError, match=r"1 loop\(s\); wanted a tree"):
        nested_trees(loop, NODES, NODES)
    with pytest.raises(ValueError, match=r"points have shape \(9, 2\) and data \(3, 2\); wanted"):
        nested_trees(core.Graph(NODES, EDGES), NODES, NODES[:3])


@pytest.mark.parametrize("resolution", [0.0, 0.5])
def test_of_a_line_it_says_where_points_lie(resolution):
    nodes, points, data = scattered()
    graph = core.Graph(nodes, EDGES)
    nested = nested_trees(graph, points, data, resolution=resolution)
    left = core.prune(graph, points, data, n_tips=2, resolution=resolution).graph
    from_tip = core.locate(left, points).distances_from(left, int(left.tips[0]))
    line = nested[2].line
    assert np.allclose(line, from_tip) or np.allclose(line.max() - line, from_tip - from_tip.min())
    assert [nested[k].line for k in (3, 4, 5)] == [None, None, None]
