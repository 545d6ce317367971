"""Which branches other starts have, against counting the points one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

import oracles
from skeltraj import core
from skeltraj.core._branches.division import Division
from skeltraj.core._branches.starts import agreements, between_ends, same_order, start_support


def divisions(n=200, sizes=(4, 3, 5, 4), seed=0):
    """Divisions of the same points, each the first one with some points moved."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, sizes[0], n)
    others = [np.where(rng.random(n) < 0.6, first % size, rng.integers(0, size, n)) for size in sizes[1:]]
    return [Division(part, size) for part, size in zip([first, *others], sizes, strict=True)]


def alike(mine, theirs):
    """Points in both over points in either."""
    return len(mine & theirs) / len(mine | theirs)


def parts(division):
    branch, n = division.branch, division.n_branches
    return [set(np.flatnonzero(branch == i).tolist()) for i in range(n)]


@pytest.mark.parametrize("chosen", [0, 2])
def test_support_is_the_one_defined(chosen):
    given = divisions()
    found = start_support(given, chosen)
    others = [parts(division) for i, division in enumerate(given) if i != chosen]
    for i, mine in enumerate(parts(given[chosen])):
        best = [max(alike(mine, theirs) for theirs in other) for other in others]
        assert found.support[i] == pytest.approx(np.mean(best))
        assert found.found[i] == np.mean([value > 0.5 for value in best])
    assert 0 < found.found.min() < found.found.max() or 0 < found.support.min() < found.support.max() < 1


def test_the_same_trees_support_all_of_their_branches_whatever_these_are_called():
    branch, n = divisions()[0].branch, divisions()[0].n_branches
    found = start_support([Division(branch, n), Division((branch + 1) % n, n), Division(n - 1 - branch, n)], 1)
    np.testing.assert_array_equal(found.support, np.ones(n))
    np.testing.assert_array_equal(found.found, np.ones(n))


def test_a_branch_that_another_start_divides_in_halves_is_not_found_there():
    mine = np.repeat([0, 1], 10)
    theirs = np.repeat([0, 1, 2], [10, 5, 5])
    found = start_support([Division(mine, 2), Division(theirs, 3), Division(mine, 2)], 0)
    np.testing.assert_array_equal(found.found, [1, 0.5])
    np.testing.assert_array_equal(found.support, [1, 0.75])


TWO_FORKS = np.array([[0, 4], [1, 4], [2, 5], [3, 5], [4, 5]])  # four arms, and a branch between the forks


def two_forks(arm, ends=TWO_FORKS):
    return Division(np.asarray(arm), 5, ends)


def test_a_bridge_is_found_where_the_points_on_its_sides_are_kept_apart():
    arm = np.repeat([0, 1, 2, 3], 25)
    mine = two_forks(arm)
    assert mine.bridges.tolist() == [4]
    assert two_forks(np.append(arm, 4)).bridges.tolist() == [4]  # 1 of 101
    assert two_forks(np.append(arm, [4, 4])).bridges.tolist() == []
    renamed = two_forks((arm + 2) % 4)
    crossed = two_forks(np.array([0, 2, 1, 3])[arm])  # the same arms, joined otherwise
    moved = two_forks(np.where(np.arange(100) < 5, 3, arm))  # five points of one side are on the other
    for other, support in ((renamed, 1.0), (crossed, 1 - 25 / 49), (moved, 1 - 5 / 49)):
        found = start_support([mine, other], 0)
        assert found.support[4] == pytest.approx(support)
        assert found.found[4] == (support > 0.5)
    mixed = start_support([mine, renamed, crossed, moved], 0)
    assert mixed.support[4] == pytest.approx((1 + 24 / 49 + 44 / 49) / 3)
    assert mixed.found[4] == pytest.approx(2 / 3)
    assert start_support([mine, crossed], 0).found.tolist() == [1, 1, 1, 1, 0]


def test_a_bridge_is_not_found_in_a_line_or_with_nothing_on_one_side():
    line = Division(np.zeros(100, dtype=int), 1)
    mine = two_forks(np.repeat([0, 1, 2, 3], 25))
    assert start_support([mine, line], 0).found[4] == 0
    one_sided = two_forks(np.repeat([0, 1], 50))
    assert start_support([one_sided, one_sided], 0).support[4] == 0


def test_cuts_and_splits_are_those_by_hand():
    division = two_forks([0, 1, 2, 3, 4])
    points = frozenset(range(5))
    smaller = {
        min(frozenset(np.flatnonzero(side)), points - set(np.flatnonzero(side)), key=len) for side in division.cuts
    }
    assert smaller == {frozenset(part) for part in ((), (0,), (1,), (2,), (3,), (0, 1), (2, 3))}
    assert division.splits.shape == (5, 5)
    np.testing.assert_array_equal(division.splits[4, :2], division.splits[4, 0])
    np.testing.assert_array_equal(division.splits[4, 2:4], ~division.splits[4, :2])


def test_agreements_are_means_over_the_others():
    given = divisions()
    lists = [division.branch.tolist() for division in given]
    for i, value in enumerate(agreements(given)):
        assert value == pytest.approx(
            np.mean([oracles.agreement(lists[i], other) for j, other in enumerate(lists) if j != i])
        )


def test_same_order_is_the_mean_rank_correlation_with_the_others_whichever_end_is_first():
    rng = np.random.default_rng(0)
    first = np.round(rng.random(90), 1)  # with ties
    lines = [first, -first + 0.3 * rng.standard_normal(90), None, rng.random(90)]
    expected = np.mean([abs(spearmanr(first, lines[i]).statistic) for i in (1, 3)])
    assert same_order(lines, 0) == pytest.approx(expected, rel=1e-12)
    order = rng.permutation(90)
    assert same_order([line if line is None else line[order] for line in lines], 0) == same_order(lines, 0)
    assert same_order([first, 1 - first], 1) == pytest.approx(1)
    assert same_order([first, np.zeros(90)], 0) == 0  # all at one place: no order


def test_of_what_is_no_line_there_is_no_order():
    line = np.arange(9.0)
    assert np.isnan(same_order([None, line, line], 0))
    assert np.isnan(same_order([line, None, None], 0))
    assert np.isnan(start_support(divisions(), 0).order)


def test_between_ends_by_hand():
    corner = core.Graph(np.array([[0.0, 0], [3, 0], [3, 4]]), np.array([[0, 1], [1, 2]]))
    assert between_ends(corner) == pytest.approx(5 / 7)
    for edges in ([[0, 1], [1, 2], [2, 0]], [[0, 1]]):  # a ring; a line with a node apart
        assert np.isnan(between_ends(core.Graph(corner.nodes, np.array(edges))))
    assert np.isnan(between_ends(core.Graph(np.ones((2, 3)), np.array([[0, 1]]))))  # without length, and a warning
