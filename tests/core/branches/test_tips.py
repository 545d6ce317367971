"""The number of tips, by how well trees agree and by what their branches gain."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import oracles
from skeltraj.core._branches import tips
from skeltraj.core._branches.nested import Nested
from skeltraj.core._branches.tips import alike_with, choose_tips


def drawn(rng, n_points, numbers):
    """Nested trees whose divisions and gains are random."""
    found = {}
    for k in numbers:
        n_branches = 2 * k - 3
        gain = rng.normal(0.05, 0.05) if k > 2 else np.nan
        found[k] = Nested(rng.integers(n_branches, size=n_points), n_branches, gain)
    return found


def of(*divisions, gains):
    """Nested trees from the line on, the gains from three tips on."""
    return {
        k: Nested(np.array(division), max(division) + 1, gain)
        for k, division, gain in zip(range(2, 9), divisions, [np.nan, *gains], strict=False)
    }


LINE, FORK = [0] * 12, [0] * 4 + [1] * 4 + [2] * 4


def test_equals_the_literal_version(monkeypatch):
    rng = np.random.default_rng(0)
    # with the second limit, gains are too large beside a line; random divisions agree by less than trees do by chance
    for most, (n_starts, n_parts) in itertools.product((0.02, 0.001), ((1, 0), (1, 4), (5, 0), (3, 4))):
        monkeypatch.setattr(tips, "_MOST_BESIDE_LINE", most)
        monkeypatch.setattr(tips, "_BY_CHANCE", 0.02)
        # a tree may have fewer tips than parts, and need not have had each number
        some = lambda: [2, *sorted(rng.choice(np.arange(3, 9), rng.integers(1, 6), replace=False).tolist())]
        starts = [drawn(rng, 30, some()) for _ in range(n_starts)]
        parts = [drawn(rng, 30, some()) for _ in range(n_parts)]
        choice = choose_tips(starts, parts)
        constants = tips._BY_CHANCE, tips._GAIN_OF_LINE, tips._MOST_BESIDE_LINE, tips._MANY, tips._MOST_GAIN
        chosen, numbers, alike, gains, values = oracles.choose_tips(starts, parts, *constants)
        assert choice.chosen == chosen
        np.testing.assert_array_equal(choice.n_tips, numbers)
        np.testing.assert_allclose(choice.agreement, alike)
        np.testing.assert_allclose(choice.gain, gains)
        np.testing.assert_allclose(choice.value, values)


def test_a_clear_fork_is_chosen_and_a_line():
    rng = np.random.default_rng(1)
    noise = lambda: rng.integers(5, size=12).tolist()  # a fourth tip that is another in each tree
    forks = [of(LINE, FORK, noise(), gains=[0.3, 0.001]) for _ in range(7)]
    assert choose_tips(forks[:3], forks[3:]).chosen == 3
    halves = lambda: rng.integers(3, size=12).tolist()
    lines = [of(LINE, halves(), noise(), gains=[0.001, 0.001]) for _ in range(7)]
    assert choose_tips(lines[:3], lines[3:]).chosen == 2


def many(*divisions, gains, times=100):
    """The same as `of`, with each point as often as `times` says."""
    return of(*(list(division) * times for division in divisions), gains=gains)


def test_a_line_whose_branches_gain_much_is_not_chosen_though_trees_agree_on_hardly_any_fork():
    other = [0] * 2 + [1] * 2 + [2] * 2 + [0] * 2 + [1] * 2 + [2] * 2
    for times, most in ((100, 0.02), (20, 20 / 240)):  # 1,200 points, and 240
        starts = lambda gain, times=times: [many(LINE, FORK, gains=[gain], times=times)]
        parts = [many(LINE, division, gains=[0.1], times=times) for division in (FORK, *[other] * 27)]
        above, below = (choose_tips(starts(gain), parts) for gain in (1.01 * most, 0.99 * most))
        line = 0.65 * 0.003 / (0.003 + 0.99 * most)
        assert below.value[0] == pytest.approx(line)
        assert 0 < below.value[1] < line
        assert below.chosen == 2
        assert above.value[0] == 0
        assert 0 < above.value[1] < 0.65 * 0.003 / (0.003 + 1.01 * most)
        assert above.chosen == 3
        assert above.is_doubtful
        assert choose_tips(starts(1.01 * most), parts, any_line=True).chosen == 2
    # where no fork is agreed on at all, nothing speaks for one
    none = choose_tips(starts(0.3), parts[1:])
    assert none.value[1] == 0
    assert none.value[0] == pytest.approx(0.65 * 0.003 / 0.303)
    assert none.chosen == 2


def test_branches_that_gain_nothing_are_not_kept_though_all_trees_have_them():
    trees = [of(LINE, FORK, gains=[-0.01]) for _ in range(3)]
    choice = choose_tips(trees, [])
    assert choice.gain.tolist() == [0, 0]
    assert choice.agreement.tolist() == [1, 1]
    assert np.ptp(choice.value) == 0
    assert choice.chosen == 2  # of equals the fewest


def test_without_noise_gains_have_an_end():
    trees = [of(LINE, FORK, gains=[np.inf]) for _ in range(2)]
    choice = choose_tips(trees, [])
    assert np.isfinite(choice.value).all()
    assert choice.chosen == 3


def test_neither_the_order_of_the_points_nor_of_the_trees_matters():
    rng = np.random.default_rng(2)
    starts, parts = [[drawn(rng, 40, range(2, 7)) for _ in range(n)] for n in (4, 3)]
    order = rng.permutation(40)
    turned = [
        [{k: Nested(tree[k].branch[order], tree[k].n_branches, tree[k].gain) for k in tree} for tree in group]
        for group in (starts, parts)
    ]
    choice = choose_tips(starts, parts)
    for again in (choose_tips(*turned), choose_tips(starts[::-1], parts[::-1])):
        assert again.chosen == choice.chosen
        np.testing.assert_allclose(again.value, choice.value)
    np.testing.assert_allclose(alike_with(starts[::-1], parts, 4), alike_with(starts, parts, 4)[::-1])
    # the names of the branches do not matter either
    renamed = [{k: Nested(2 * k - 4 - tree[k].branch, 2 * k - 3, tree[k].gain) for k in tree} for tree in starts]
    np.testing.assert_allclose(choose_tips(renamed, parts).value, choice.value)


def test_parts_are_what_trees_are_compared_with():
    """Starts see the same rows and may share an error; how alike they are to each other does not count."""
    alike = of(LINE, FORK, gains=[0.3])
    other = of(LINE, FORK[::-1][2:] + FORK[:2], gains=[0.3])
    choice = choose_tips([alike, alike], [other])
    assert choice.agreement[1] == pytest.approx(oracles.agreement(alike[3].branch.tolist(), other[3].branch.tolist()))
    assert choice.agreement[1] < 1
    assert choose_tips([alike, alike], []).agreement.tolist() == [1, 1]


def test_a_tree_that_never_had_so_many_tips_agrees_with_none():
    fork, line = of(LINE, FORK, gains=[0.3]), of(LINE, gains=[])
    np.testing.assert_allclose(alike_with([fork, fork, line], [fork], 3), [2 / 3, 2 / 3, 0])
    np.testing.assert_allclose(alike_with([fork, line], [], 3), 0)
    np.testing.assert_allclose(alike_with([fork, line], [line], 2), 1)
    # nor has it a say in what a branch gains
    assert choose_tips([fork, line], []).gain.tolist() == [0, pytest.approx(0.3)]


def test_one_tree_alone_agrees_with_none():
    choice = choose_tips([of(LINE, FORK, gains=[0.3])], [])
    assert choice.agreement.tolist() == [0, 0]
    assert choice.chosen == 2
