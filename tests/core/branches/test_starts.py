"""Which branches other starts have, against counting the points one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

import oracles
from skeltraj import core
from skeltraj.core._branches.starts import agreements, between_ends, same_order, start_support


def divisions(n=200, sizes=(4, 3, 5, 4), seed=0):
    """Divisions of the same points, each the first one with some points moved."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, sizes[0], n)
    others = [np.where(rng.random(n) < 0.6, first % size, rng.integers(0, size, n)) for size in sizes[1:]]
    return [(part, size) for part, size in zip([first, *others], sizes, strict=True)]


def alike(mine, theirs):
    """Points in both over points in either."""
    return len(mine & theirs) / len(mine | theirs)


def parts(division):
    branch, n = division
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
    branch, n = divisions()[0]
    found = start_support([(branch, n), ((branch + 1) % n, n), (n - 1 - branch, n)], 1)
    np.testing.assert_array_equal(found.support, np.ones(n))
    np.testing.assert_array_equal(found.found, np.ones(n))


def test_a_branch_that_another_start_divides_in_halves_is_not_found_there():
    mine = np.repeat([0, 1], 10)
    theirs = np.repeat([0, 1, 2], [10, 5, 5])
    found = start_support([(mine, 2), (theirs, 3), (mine, 2)], 0)
    np.testing.assert_array_equal(found.found, [1, 0.5])
    np.testing.assert_array_equal(found.support, [1, 0.75])


def test_of_a_branch_without_points_nothing_is_known():
    mine = np.repeat([0, 2], 10)
    found = start_support([(mine, 3), (mine, 3), (np.repeat([0, 1], [5, 15]), 4)], 0)
    np.testing.assert_array_equal(found.found, [0.5, np.nan, 1])
    np.testing.assert_array_equal(found.support, [0.75, np.nan, (1 + 10 / 15) / 2])


def test_agreements_are_means_over_the_others():
    given = divisions()
    lists = [branch.tolist() for branch, _ in given]
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
