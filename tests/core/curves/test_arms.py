"""The arms beyond a fork, by hand: which points are compared, how far along, and the curves on them."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj import core
from skeltraj.core._curves.arms import ArmBasis, arm_basis, arm_design, arms_of
from skeltraj.core._curves.tree_basis import BranchSpline
from two_forks import TWO_FORKS

# TWO_FORKS: B1 0-1-2, B2 2-3-4, B3 2-5, B4 5-7, B5 5-6; edges 0-1, 1-2, 3-2, 3-4, 2-5, 6-5, 5-7
ROOT2 = np.sqrt(2)


def everywhere(steps=20):
    """Points at equal steps within every edge."""
    edge = np.repeat(np.arange(7), steps)
    return core.Position(edge, np.tile((np.arange(steps) + 0.5) / steps, 7), np.zeros(len(edge)))


def arms_at(root, fork, position=None, used=None, align="pseudotime"):
    position = everywhere() if position is None else position
    return arms_of(TWO_FORKS, position, root, fork, np.ones(len(position.edge), bool) if used is None else used, align)


def test_the_first_fork():
    """Upwards 2 long; to the right 1 and then the square root of 2, with all that lies beyond the second fork."""
    arms, position = arms_at(0, 2), everywhere()
    np.testing.assert_array_equal(arms.branch, [1, 2])
    np.testing.assert_allclose([arms.start, *arms.length, *arms.stretch], [2, 2, 1 + ROOT2, 2, 2])
    upwards, right = np.isin(position.edge, (2, 3)), np.isin(position.edge, (4, 5, 6))
    far = position.distances_from(TWO_FORKS, 2)
    np.testing.assert_array_equal(arms.arm, np.where(upwards, 0, np.where(right & (far <= 2), 1, -1)))
    np.testing.assert_array_equal(arms.used, arms.arm >= 0)
    assert 0 < (right & ~arms.used).sum() < right.sum()
    np.testing.assert_allclose(arms.along[arms.used], far[arms.used] / 2)


def test_shares_of_the_way():
    arms, position = arms_at(0, 2, align="fraction"), everywhere()
    np.testing.assert_allclose(arms.stretch, [2, 1 + ROOT2])
    np.testing.assert_array_equal(arms.used, position.edge > 1)
    far = position.distances_from(TWO_FORKS, 2)
    np.testing.assert_allclose(arms.along[arms.used], (far / np.where(arms.arm == 1, 1 + ROOT2, 2))[arms.used])


def test_the_second_fork_and_other_roots():
    arms = arms_at(0, 5)
    np.testing.assert_array_equal(arms.branch, [3, 4])
    np.testing.assert_allclose([arms.start, *arms.length], [3, ROOT2, ROOT2])
    np.testing.assert_array_equal(arms.arm[everywhere().edge >= 5], np.repeat([1, 0], 20))
    assert (arms.arm[everywhere().edge < 5] == -1).all()
    from_tip = arms_at(7, 5)  # the way back is an arm
    np.testing.assert_array_equal(from_tip.branch, [2, 4])
    np.testing.assert_allclose(from_tip.length, [3, ROOT2])
    itself = arms_at(2, 2)  # the root is the fork: all three
    np.testing.assert_array_equal(itself.branch, [0, 1, 2])
    np.testing.assert_allclose([itself.start, *itself.length], [0, 2, 2, 1 + ROOT2])


def test_points_that_are_left_out():
    position = everywhere()
    used = np.arange(len(position.edge)) % 2 == 0
    np.testing.assert_array_equal(arms_at(0, 2, used=used).arm, np.where(used, arms_at(0, 2).arm, -1))
    at_fork = core.Position(
        np.r_[position.edge, 4, 2, 1], np.r_[position.fraction, 0, 1, 1], np.zeros(len(position.edge) + 3)
    )
    assert (arms_at(0, 2, at_fork).arm[-3:] == -1).all()
    alone = core.Position(position.edge, position.fraction, position.distance, np.where(position.edge == 3, 0, -1))
    assert (arms_at(0, 2, alone).arm[position.edge == 3] == -1).all()


def test_what_is_refused():
    loop = core.Graph(np.array([[0.0, 0], [1, 0], [2, 1], [2, -1]]), np.array([[0, 1], [1, 2], [2, 3], [3, 1]]))
    parts = core.Graph(np.array([[0.0, 0], [1, 0], [5, 5], [6, 5]]), np.array([[0, 1], [2, 3]]))
    place = core.Position(np.zeros(3, int), np.full(3, 0.5), np.zeros(3))
    everyone = np.ones(3, bool)
    for call, words in [
        (lambda: arms_of(loop, place, 0, 1, everyone), r"the skeleton has 1 loop\(s\), so arms .* meet again"),
        (lambda: arms_of(parts, place, 0, 2, everyone), "no path leads from the root, node 0, to node 2"),
        (lambda: arms_at(0, 1), r"node 1 has 1 branch\(es\) away from the root; wanted at least two"),
        (lambda: arms_at(1, 1), "node 1 is no fork but lies within branch B1; wanted a fork"),
        (lambda: arms_at(0, 4), r"node 4 has 0 branch\(es\) away from the root"),
        (
            lambda: arms_at(0, 2, used=~np.isin(everywhere().edge, (2, 3)) | (np.arange(140) == 45)),
            "the arm that begins with branch B2 has 1 points to compare; wanted at least 10",
        ),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


@pytest.mark.parametrize(("smallest", "degree", "inner"), [(10, 1, 0), (20, 2, 0), (35, 3, 0), (45, 3, 1), (90, 3, 2)])
def test_curves_have_what_the_smallest_arm_bears(smallest, degree, inner):
    position = everywhere(100)
    arms = arms_at(0, 2, position)
    small = np.flatnonzero(arms.arm == 0)
    drop = np.ones(len(position.edge), bool)
    drop[small[np.linspace(0, len(small) - 1, len(small) - smallest).astype(int)]] = False
    arms = arms_at(0, 2, position, drop)
    n = np.bincount(arms.arm[arms.used]).min()
    assert abs(n - smallest) <= 1
    basis = arm_basis(arms_at(0, 2, position, drop))
    if n >= smallest:
        assert (basis.spline.degree, len(basis.spline.knots) - 2) == (degree, inner)


def test_all_arms_begin_with_one_value_and_share_their_knots():
    arms = arms_at(2, 2, everywhere(60))
    basis = arm_basis(arms)
    assert basis.n_arms == 3
    assert basis.n_columns == 1 + 3 * basis.n_own
    t = np.linspace(0, 1, 31)
    for a in range(3):
        rows = basis.rows(np.full(31, a), t).dense()
        np.testing.assert_allclose(rows.sum(axis=1), 1)
        assert rows[0, 0] == 1
        others = np.delete(np.arange(1, basis.n_columns), a * basis.n_own + np.arange(basis.n_own))
        assert not rows[:, others].any()
        np.testing.assert_allclose(
            rows[:, np.r_[0, 1 + a * basis.n_own + np.arange(basis.n_own)]], basis.spline.rows(t)
        )
    one_curve = basis.shared() @ np.random.default_rng(0).standard_normal(basis.n_own + 1)
    curves = [basis.rows(np.full(31, a), t).dense() @ one_curve for a in range(3)]
    np.testing.assert_allclose(curves[1], curves[0])
    np.testing.assert_allclose(curves[2], curves[0])
    np.testing.assert_allclose(
        one_curve @ basis.roughness() @ one_curve, 3 * sum(np.diff(curves[0]) ** 2) * 30, rtol=0.05
    )


def test_what_is_tested_is_that_arms_differ():
    arms = arms_at(0, 2, everywhere(60))
    basis = arm_basis(arms)
    points = np.flatnonzero(arms.used)
    design = arm_design(basis, arms, points, None, 2.0)
    assert design.null.shape[1] == basis.n_own + 1
    assert design.tested.shape[1] == basis.n_own  # one arm more
    X = design.rows.dense()
    np.testing.assert_allclose((X @ design.null).T @ (X @ design.tested), 0, atol=1e-6)
    straight = ArmBasis(BranchSpline(1.0, 1, np.array([0.0, 1.0]), np.arange(2)), 2)
    rows = straight.rows(np.array([0, 1, 1]), np.array([0.25, 0.5, 1.0])).dense()
    np.testing.assert_allclose(rows, [[0.75, 0.25, 0], [0.5, 0, 0.5], [0, 0, 1]])
