"""Which branches other starts have, against counting the points one by one."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from skeltraj.core._branches.starts import agreements, start_support


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


def test_agreements_are_means_over_the_others():
    given = divisions()
    lists = [branch.tolist() for branch, _ in given]
    for i, value in enumerate(agreements(given)):
        assert value == pytest.approx(
            np.mean([oracles.agreement(lists[i], other) for j, other in enumerate(lists) if j != i])
        )
