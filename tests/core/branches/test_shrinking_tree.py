"""Points on a tree from which branches go: kept up to date, they are where they would be put anew."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj import core
from skeltraj.core._branches.shrinking_tree import Branch, ShrinkingTree, _meeting
from skeltraj.core._graph.position import on_edges


def shrinking(seed, d, *, rounded=False):
    rng = np.random.default_rng(seed)
    nodes = rng.standard_normal((50, d))
    edges = np.array([[i, rng.integers(max(0, i - 8), i)] for i in range(1, 50)])
    points = nodes[rng.integers(50, size=400)] + 0.5 * rng.standard_normal((400, d))
    if rounded:  # so that many edges are equally near
        nodes, points = 0.1 * np.arange(50)[:, None] + np.round(nodes), np.round(points)
    return ShrinkingTree(core.Graph(nodes, edges), points), points


def anew(tree, points):
    live = np.flatnonzero(tree.live)
    return live[on_edges(points, tree.nodes, tree.edges[live])[0]]


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_points_are_where_they_would_be_put_anew(seed, rounded):
    tree, points = shrinking(seed, 3, rounded=rounded)
    for step in range(12):
        terminal, internal = tree.branches
        if step % 3 == 0:
            tree.drop(min(terminal, key=lambda branch: branch.n_points))
        elif step % 3 == 1 and internal:
            tree.merge(min(internal, key=lambda branch: branch.length))
        elif len(internal) > 4:
            tree.merge_at_once(internal[:3])
        np.testing.assert_array_equal(tree.edge, anew(tree, points))


def test_branches_are_those_of_the_tree_that_is_left():
    tree, _ = shrinking(0, 3)
    for _ in range(6):
        terminal, internal = tree.branches
        live = np.flatnonzero(tree.live)
        graph = core.Graph(tree.nodes, tree.edges[live])
        assert len(terminal) + len(internal) == len(graph.branches)
        for branch in (*terminal, *internal):
            np.testing.assert_array_equal(branch.edges, live[graph.edges_along(branch.path)])
            assert branch.length == pytest.approx(graph.edge_length[graph.edges_along(branch.path)].sum(), rel=1e-12)
            assert branch.n_points == np.isin(tree.edge, branch.edges).sum()
            assert len(np.unique(tree.branch[branch.edges])) == 1
        assert (tree.branch[~tree.live] == -1).all()
        assert len(np.unique(tree.branch[tree.live])) == len(graph.branches)
        tree.drop(terminal[0])


def test_a_copy_shrinks_by_itself():
    tree, points = shrinking(1, 2)
    before = [values.copy() for values in (tree.nodes, tree.edges, tree.live, tree.edge)]
    lengths = [branch.length for branch in tree.branches[0]]
    other = tree.copy()
    other.merge_at_once(other.branches[1])
    other.drop(other.branches[0][0])
    for was, values in zip(before, (tree.nodes, tree.edges, tree.live, tree.edge), strict=True):
        np.testing.assert_array_equal(was, values)
    assert [branch.length for branch in tree.branches[0]] == lengths
    np.testing.assert_array_equal(other.edge, anew(other, points))


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (0, 3, 4, 2, 1)])
def test_branches_that_meet_one_with_the_next_are_one_group(order):
    ends = [(0, 5), (8, 9), (5, 7), (2, 3), (7, 2)]  # 0 - 5 - 7 - 2 - 3, and apart from it 8 - 9
    branches = [Branch(np.array([a, 10 + i, b]), np.array([i]), 1.0, 0) for i, (a, b) in enumerate(ends)]
    groups = _meeting([branches[i] for i in order])
    assert sorted(sorted(int(branch.edges[0]) for branch in group) for group in groups) == [[0, 2, 3, 4], [1]]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1)])
def test_forks_of_branches_that_meet_become_one(order):
    spine = np.column_stack([np.arange(4.0), np.zeros(4)])
    tips = np.array([[-1.0, 1], [-1, -1], [1, 1], [2, -1], [4, 1], [4, -1]])
    edges = np.array([[0, 1], [1, 2], [2, 3], [4, 0], [5, 0], [6, 1], [7, 2], [8, 3], [9, 3]])
    points = np.vstack([tips, [[1.5, 0.1]]])
    tree = ShrinkingTree(core.Graph(np.vstack([spine, tips]), edges), points)
    _, internal = tree.branches
    tree.merge_at_once([internal[i] for i in order])
    left, number = tree.finish()
    (fork,) = left.forks
    np.testing.assert_array_equal(left.nodes[fork], spine.mean(axis=0))
    assert (left.n_nodes, left.degree[fork], left.n_parts) == (7, 6, 1)
    assert set(number[:4]) == {fork}
    np.testing.assert_array_equal(tree.edge, anew(tree, points))


@pytest.mark.parametrize("seed", range(3))
def test_branches_grow_together_and_are_never_parted(seed):
    tree, _ = shrinking(seed, 3)
    first = tree.branch.copy()
    for _ in range(8):
        tree.drop(tree.branches[0][0])
        numbers, now = tree.grown
        live = np.flatnonzero(tree.live)
        np.testing.assert_array_equal(numbers, np.unique(first[live]))
        for number, branch in zip(numbers, now, strict=True):
            assert set(tree.branch[live[first[live] == number]]) == {branch}
