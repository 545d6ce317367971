"""Support of a tree in other trees of the same points: known cases, the order of points and names, errors."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj import core
from two_forks import TWO_FORKS, along, forked_at


@pytest.fixture
def points():
    rng = np.random.default_rng(1)
    return np.concatenate([along(path, 60, rng) for path in ([[0, 0], [8, 0]], [[8, 0], [10, 2]], [[8, 0], [10, -2]])])


def test_means_over_the_other_trees(points):
    line = core.Graph(np.array([[0.0, 0], [8, 0], [10, 2]]), np.array([[0, 1], [1, 2]]))
    tree = forked_at(8)
    one = core.support(tree, points, [(tree, points)])
    for name, values in vars(one).items():
        np.testing.assert_array_equal(values, 1, err_msg=name)
    other = core.support(tree, points, [(line, points)])
    both = core.support(tree, points, [(tree, points), (line, points), (tree, points), (tree, points)])
    for name, values in vars(both).items():
        np.testing.assert_allclose(values, (3 + getattr(other, name)) / 4, err_msg=name)
    assert other.fork_support.tolist() == [0]
    assert (other.branch_found == (other.branch_support > 0.5)).all()


def test_neither_the_order_of_points_nor_of_nodes_nor_spaces_matter(points):
    rng = np.random.default_rng(0)
    tree, others = forked_at(8), [(forked_at(7), points), (TWO_FORKS, points / 2)]
    expected = core.support(tree, points, others)
    new = rng.permutation(tree.n_nodes)
    nodes = np.empty_like(tree.nodes)
    nodes[new] = tree.nodes
    renamed = core.Graph(nodes, new[tree.edges][rng.permutation(len(tree.edges))][:, ::-1])
    rows = rng.permutation(len(points))
    turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    moved = [(core.Graph(g.nodes @ turn, g.edges), at[rows] @ turn) for g, at in others[::-1]]
    seen = core.support(renamed, points[rows], moved)
    for name, values in vars(expected).items():
        if name == "edge_support":  # in the order of the edges
            number = {frozenset(edge): i for i, edge in enumerate(renamed.edges.tolist())}
            order = [number[frozenset(new[edge].tolist())] for edge in tree.edges]
            np.testing.assert_allclose(seen.edge_support[order], values, atol=1e-12)
        else:
            np.testing.assert_allclose(getattr(seen, name), values, atol=1e-12, err_msg=name)


def test_a_branch_with_hardly_any_points_is_judged_by_those_on_its_sides():
    """As the stretch between two samples of a time course, on which no point lies."""
    rng = np.random.default_rng(2)
    sides = [along(path, 40, rng) for path in ([[0, 0], [2, 0], [2, 2]], [[4, 1], [3.02, 0.02], [4, -1]])]
    points = np.concatenate(sides)
    [bridge] = [i for i, path in enumerate(TWO_FORKS.branches) if TWO_FORKS.degree[path[[0, -1]]].min() == 3]
    on = core.locate(TWO_FORKS, points)
    assert not (TWO_FORKS.branch_of_edge[on.edge] == bridge).any()
    same = core.support(TWO_FORKS, points, [(TWO_FORKS, points)])
    assert same.branch_support[bridge] == same.branch_found[bridge] == 1
    assert same.branch_overlap[bridge] == 0
    rows = np.arange(len(points))
    mixed = points[np.where(rows % 2, rows, rows[::-1])]  # half of the points of each side are on the other
    other = core.support(TWO_FORKS, points, [(TWO_FORKS, points), (TWO_FORKS, mixed)])
    assert other.branch_support[bridge] < 0.8
    assert other.branch_found[bridge] == 0.5
    stray = np.vstack([np.tile(points, (2, 1)), [[2.5, 0.0]]])  # one of 161 is on the bridge, elsewhere in the other
    there = np.vstack([stray[:-1], [[0.5, 0.0]]])
    result = core.support(TWO_FORKS, stray, [(TWO_FORKS, there)])
    assert result.branch_overlap[bridge] < 0.1
    assert result.branch_support[bridge] > 0.95
    few = np.vstack([points, [[2.4, 0.0], [2.6, 0.0]]])  # two of 82 are more than a hundredth
    there = np.vstack([points, np.zeros((2, 2))])
    result = core.support(TWO_FORKS, few, [(TWO_FORKS, there)])
    assert result.branch_support[bridge] == result.branch_overlap[bridge] < 0.1


def test_a_bridge_to_nothing_has_no_support():
    rng = np.random.default_rng(3)
    points = along([[0, 0], [2, 0], [2, 2]], 100, rng)
    points = points[core.locate(TWO_FORKS, points).fraction < 0.95]
    [bridge] = [i for i, path in enumerate(TWO_FORKS.branches) if TWO_FORKS.degree[path[[0, -1]]].min() == 3]
    result = core.support(TWO_FORKS, points, [(TWO_FORKS, points)])
    assert result.branch_support[bridge] == result.branch_found[bridge] == 0


def test_errors(points):
    tree = forked_at(8)
    parts = core.Graph(tree.nodes, tree.edges[1:])
    with pytest.raises(ValueError, match="others holds no tree; wanted at least one"):
        core.support(tree, points, [])
    with pytest.raises(ValueError, match=r"the skeleton has 0 loop\(s\) and 2 part\(s\); wanted one tree"):
        core.support(parts, points, [(tree, points)])
    with pytest.raises(ValueError, match=r"the skeleton others\[1\] has 0 loop\(s\) and 2 part\(s\); wanted one tree"):
        core.support(tree, points, [(tree, points), (parts, points)])
    with pytest.raises(ValueError, match=r"the skeleton others\[0\] has 179 points; wanted 180, as many as the first"):
        core.support(tree, points, [(tree, points[1:])])
