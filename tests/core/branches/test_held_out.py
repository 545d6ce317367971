"""The gain of a branch, judged by coordinates that did not place the points."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj import core
from skeltraj.core._branches.held_out import HeldOut, _Half, divisions
from skeltraj.core._branches.shrinking_tree import ShrinkingTree


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 20])
def test_what_places_the_points_has_no_part_in_judging(d):
    for by, within in divisions(d):
        if d < 3:
            np.testing.assert_array_equal(by, within)
            continue
        both = np.hstack([by, within])
        np.testing.assert_allclose(both.T @ both, np.eye(d), atol=1e-12)
        assert by.shape[1] >= 2
    assert len(divisions(d)) == (1 if d < 3 else 4)
    if d > 3:
        (by, within), (other_by, other_within), *_ = divisions(d)
        np.testing.assert_array_equal(by, other_within)
        np.testing.assert_array_equal(within, other_by)


@pytest.mark.parametrize("seed", range(3))
def test_branches_of_many_pieces_are_judged_anew_only_where_they_must_be(seed):
    """What is kept after a branch has gone, or two forks have become one, equals what is found from the beginning."""
    rng = np.random.default_rng(seed)
    nodes = rng.standard_normal((40, 6))
    edges = np.array([[i, rng.integers(max(0, i - 6), i)] for i in range(1, 40)])
    data = nodes[rng.integers(40, size=300)] + 0.4 * rng.standard_normal((300, 6))
    tree = ShrinkingTree(core.Graph(nodes, edges), data)
    judge = HeldOut(tree, data)
    for step in range(9):
        branches, internal = tree.branches
        gain = judge.gain(branches)
        merged = tree.copy()
        between = min(internal, key=lambda branch: branch.length)
        merged.merge(between)
        # the directions stay those of the tree as it was given
        anew, anew_merged = (
            [_Half(one, data, half._placing, half._judging) for half in judge._halves] for one in (tree, merged)
        )
        numbers = [int(tree.branch[branch.edges[0]]) for branch in branches]
        np.testing.assert_allclose(gain, np.mean([half.gain(numbers) for half in anew], axis=0), rtol=1e-9)
        wanted = np.mean([after.total / before.total - 1 for before, after in zip(anew, anew_merged, strict=True)])
        gain_of_order, of_merged = judge.without_order(between)
        assert gain_of_order == pytest.approx(wanted, rel=1e-9)
        left, _ = of_merged.tree.branches
        numbers = [int(of_merged.tree.branch[branch.edges[0]]) for branch in left]
        gain_of_merged = np.mean([half.gain(numbers) for half in anew_merged], axis=0)
        np.testing.assert_allclose(of_merged.gain(left), gain_of_merged, rtol=1e-9)
        if step % 3 == 2:
            judge.shrunk(tree.merge(between))
        else:
            judge.shrunk(tree.drop(branches[int(gain.argmin())]))


def test_what_a_branch_gains_does_not_depend_on_how_many_points_there_are():
    """Neither of a branch that is there nor of one that is not, which has none."""
    nodes = np.array(
        [[0.0, 0, 0, 0, 0, 0], [5, 0, 1, 0, 1, 0], [10, 0, 0, 1, 0, 0], [6, 2, 3, 1, 1, 1], [5, 0, 1, 0, 1, 1.2]]
    )
    edges = np.array([[0, 1], [1, 2], [1, 3], [1, 4]])

    def gains(n):
        rng = np.random.default_rng(0)
        at = rng.choice(3, n, p=[0.45, 0.45, 0.1])  # none on the last
        t = rng.random((n, 1))
        data = nodes[edges[at, 0]] * (1 - t) + nodes[edges[at, 1]] * t + 0.5 * rng.standard_normal((n, 6))
        tree = ShrinkingTree(core.Graph(nodes, edges), data)
        branches, _ = tree.branches
        return dict(zip([int(p.path[0]) for p in branches], HeldOut(tree, data).gain(branches), strict=True))

    few, many = gains(5000), gains(40_000)
    assert many[3] == pytest.approx(few[3], rel=0.25)
    assert few[3] > 0.04
    assert max(few[4], many[4]) < -0.03  # points come to it by chance, and it describes them worse


def test_few_points_that_lie_far_from_everything_do_not_rule():
    """Two in a hundred, thrown ten times as far in all directions: a branch gains nearly what it does without them."""
    rng = np.random.default_rng(0)
    nodes = np.array([[0.0, 0, 0, 0, 0, 0], [5, 0, 1, 0, 1, 0], [10, 0, 0, 1, 0, 0], [6, 3, 3, 2, 1, 1]])
    edges = np.array([[0, 1], [1, 2], [1, 3]])
    at, t, noise = rng.integers(3, size=2000), rng.random((2000, 1)), 0.5 * rng.standard_normal((2000, 6))
    data = nodes[edges[at, 0]] * (1 - t) + nodes[edges[at, 1]] * t + noise
    far = data.copy()
    far[::50] += 9 * noise[::50]

    def gain(points):
        tree = ShrinkingTree(core.Graph(nodes, edges), points)
        return next(HeldOut(tree, points).gain([branch]) for branch in tree.branches[0] if branch.path[0] == 3)[0]

    assert gain(far) > 0.7 * gain(data) > 0  # of squares it would be about a third
