"""Two trees compared by the same points on them."""

from __future__ import annotations

import numpy as np

from skeltraj import core
from skeltraj.core._branches.comparison import TreeWithPoints, _same_fork, compare
from two_forks import TWO_FORKS, along


def test_known_comparison():
    left, up, mid = along([[0, 0], [2, 0]], 20), along([[2, 0], [2, 2]], 20), along([[2, 0], [3, 0]], 10)
    high, low = along([[3, 0], [4, 1]], 15), along([[3, 0], [4, -1]], 15)
    points = np.concatenate([left, up, mid, high, low])
    # the same without the fork at (3, 0): the low arm ends there, and its points crowd at its tip
    other = core.Graph(TWO_FORKS.nodes[:7], TWO_FORKS.edges[:6])
    every = np.arange(len(points))
    trees = [TreeWithPoints(g, core.locate(g, points), every) for g in (TWO_FORKS, other)]
    near = every[:10]
    same = compare(trees[0], trees[0], near)
    np.testing.assert_array_equal(same.branch_overlap, 1)
    np.testing.assert_array_equal(same.fork_found, 1)
    np.testing.assert_array_equal(same.edge_support, 1)
    np.testing.assert_array_equal(same.branch_support, 1)
    np.testing.assert_array_equal(same.fork_triplets, 1)
    np.testing.assert_array_equal(same.matched_branch, trees[0].branch)
    seen = compare(*trees, near)
    # all of the right is one branch of 40 points, the largest part of which has 15
    best = {
        frozenset(map(int, path[[0, -1]])): j for path, j in zip(TWO_FORKS.branches, seen.branch_overlap, strict=True)
    }
    assert best == {
        frozenset({0, 2}): 1,
        frozenset({2, 4}): 1,
        frozenset({2, 5}): 10 / 40,
        frozenset({5, 6}): 15 / 40,
        frozenset({5, 7}): 15 / 40,
    }
    assert dict(zip(TWO_FORKS.forks.tolist(), seen.fork_found.tolist(), strict=True)) == {2: 1, 5: 0}
    assert (seen.matched_branch >= 0).tolist() == [True] * 40 + [False] * 40
    support = {
        frozenset(map(int, path[[0, -1]])): j for path, j in zip(TWO_FORKS.branches, seen.branch_support, strict=True)
    }
    # the low arm's points come before those of the high one, or among them
    assert support[frozenset({0, 2})] == support[frozenset({2, 4})] == 1
    assert support[frozenset({5, 7})] < 0.5
    assert support[frozenset({2, 5})] == best[frozenset({2, 5})]
    triplets = dict(zip(TWO_FORKS.forks.tolist(), seen.fork_triplets.tolist(), strict=True))
    assert triplets == {2: 1, 5: 0}


def test_forks_are_the_same_if_more_than_half_of_each_of_three_sides_is():
    mine = np.repeat([0, 1, 2], 20)
    found = lambda n: _same_fork(mine, 3, np.where(np.arange(60) % 20 < n, mine, 3), 4)
    assert [found(n) for n in (10, 11, 20)] == [False, True, True]
    assert not _same_fork(mine, 3, np.minimum(mine, 1), 2)  # two of its sides are one
