"""Curves that differ between conditions: p-values as by permuting donors, by hand, laws, errors."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from skeltraj import core
from skeltraj.core._curves.condition_test import _Designs, fisher
from skeltraj.core._curves.donor_levels import Comparison, _linear, comparisons_of, level_differences, level_test
from skeltraj.core._curves.donor_scores import donor_scores
from skeltraj.core._curves.donors import donors_of
from skeltraj.core._curves.frame import Frame
from skeltraj.core._curves.moderation import moderated
from two_forks import TWO_FORKS

N_DONORS, N_EACH = 8, 45
DONOR = np.repeat(np.arange(N_DONORS), N_EACH)
CONDITION = DONOR % 2
TIP_BRANCH = [2, 3]  # edges of a branch with a tip


@pytest.fixture(scope="module")
def tree():
    rng = np.random.default_rng(0)
    position = core.Position(rng.integers(0, 7, len(DONOR)), rng.random(len(DONOR)), np.zeros(len(DONOR)))
    return core.tree_basis(TWO_FORKS, position, n_knots=3), position, position.distances_from(TWO_FORKS, 0)


@pytest.mark.compiled("takes minutes")
def test_level_and_shape_are_told_apart(tree):
    basis, position, time = tree
    rng = np.random.default_rng(1)
    effect = np.column_stack([np.zeros(len(DONOR)), CONDITION * 1.0, CONDITION * 0.8 * (time - time.mean())])
    rate = np.exp(1 + 0.3 * time[:, None] + effect + rng.normal(0, 0.15, (N_DONORS, 3))[DONOR])
    null = np.exp(1 + rng.normal(0, 0.15, (N_DONORS, 40))[DONOR])
    counts = rng.poisson(np.hstack([rate, null]))
    found = core.condition_test(counts, basis, position, CONDITION, sample=DONOR)
    assert found.p_level[1] < 1e-4 < found.p_shape[1]
    assert found.p_shape[2] < 1e-4  # its mean differs, too
    assert found.p_value[1:3].max() < 1e-4 < 0.01 < found.p_value[0]
    assert (found.p_value[3:] < 0.05).sum() <= 6
    np.testing.assert_allclose(found.average[1], 1 / np.log(2), atol=0.4)
    assert abs(found.change[2, 0]) > 1
    np.testing.assert_array_equal(found.conditions, [0, 1])
    np.testing.assert_array_equal(found.n_points, [180, 180])
    assert (found.n_samples, found.paired) == (8, False)
    points = core.condition_test(counts, basis, position, CONDITION)
    assert points.n_samples == 0
    assert points.p_level[1] < 1e-10
    assert points.p_shape[2] < 1e-6
    np.testing.assert_array_equal(points.change, found.change)


def test_where_curves_differ_most_by_hand(tree):
    """Without noise: the second condition is above the first by the way, the third below by half of it."""
    basis, position, time = tree
    condition = np.arange(len(DONOR)) % 3
    far = time.max()
    Y = (np.array([0.0, 1.0, -0.5])[condition] * time)[:, None] + 1e-6 * np.random.default_rng(2).normal(size=(360, 1))
    found = core.condition_test(Y, basis, position, condition, family="gaussian")
    at = basis.position(found.branch[0], found.along[0]).distances_from(TWO_FORKS, 0)
    np.testing.assert_allclose(found.change[0], [at[0], -at[1] / 2], atol=0.02)
    assert (at > 0.6 * far).all()  # where curves are told by few points, their difference weighs less
    assert found.p_value[0] < 1e-100


@pytest.mark.compiled("takes minutes")
def test_p_values_are_like_those_of_permuted_donors(tree):
    """All 35 ways to split eight donors in four and four: ranks of the statistics, and p-values."""
    basis, position, _ = tree
    rng = np.random.default_rng(3)
    node = rng.normal(0, 0.3, (N_DONORS, basis.n_columns, 60))
    Y = np.einsum("np,npg->ng", basis.rows(position).dense(), node[DONOR]) + rng.normal(size=(len(DONOR), 60))
    ways = [way for way in combinations(range(N_DONORS), 4) if 0 in way]
    tests = [
        core.condition_test(Y, basis, position, np.isin(DONOR, way).astype(int), sample=DONOR, family="gaussian")
        for way in ways
    ]
    for name in ("p_level", "p_shape", "p_value"):
        p = np.array([getattr(test, name) for test in tests])
        by_permutation = (p <= p[:1] + 1e-12).mean(axis=0)
        assert np.abs(p[0] - by_permutation).mean() < 0.1, name  # of 35 ways, .06 by chance
        assert np.corrcoef(p[0], by_permutation)[0, 1] > 0.9, name
        assert abs((p < 0.1).mean() - 0.1) < 0.03, name


def test_paired_donors_are_compared_with_themselves(tree):
    """Donors differ much more than conditions do: only the comparison within donors sees it."""
    basis, position, _ = tree
    rng = np.random.default_rng(4)
    condition = np.arange(len(DONOR)) % 2
    rate = np.exp(1.5 + rng.normal(0, 1.5, (N_DONORS, 25))[DONOR] + np.outer(condition, [0.7] + [0.0] * 24))
    found = core.condition_test(rng.poisson(rate), basis, position, condition, sample=DONOR)
    assert (found.n_samples, found.paired) == (8, True)
    assert found.p_level[0] < 1e-5
    assert (found.p_level[1:] < 0.05).sum() <= 4


def test_conditions_may_have_any_codes_and_points_any_order(tree):
    basis, position, _ = tree
    rng = np.random.default_rng(5)
    counts = rng.poisson(2, (len(DONOR), 6))
    first = core.condition_test(counts, basis, position, CONDITION, sample=DONOR)
    mixed = rng.permutation(len(DONOR))
    second = core.condition_test(
        counts[mixed], basis, position.part(mixed), np.array([9, 2])[CONDITION][mixed], sample=DONOR[mixed] + 5
    )
    np.testing.assert_array_equal(second.conditions, [2, 9])
    for name in ("p_value", "p_level", "p_shape"):
        np.testing.assert_allclose(getattr(second, name), getattr(first, name), rtol=1e-4)
    np.testing.assert_allclose(second.change, -first.change, atol=1e-3)
    left_out = core.condition_test(counts, basis, position, np.where(DONOR < 6, CONDITION, -1), sample=DONOR)
    assert (left_out.n_points.sum(), left_out.n_samples) == (6 * N_EACH, 6)


@pytest.mark.compiled("takes minutes")
def test_without_donors_cells_are_replicates(tree):
    basis, position, _ = tree
    rng = np.random.default_rng(6)
    rate = np.exp(1 + rng.normal(0, 0.4, (N_DONORS, 200))[DONOR])
    counts = rng.poisson(rate)
    naive = core.condition_test(counts, basis, position, CONDITION)
    over_donors = core.condition_test(counts, basis, position, CONDITION, sample=DONOR)
    assert (naive.p_value < 0.05).mean() > 0.5
    assert (over_donors.p_value < 0.05).mean() < 0.1
    same = core.condition_test(rng.poisson(2, (len(DONOR), 200)), basis, position, CONDITION)
    assert 0.02 < (same.p_value < 0.05).mean() < 0.09


def test_levels_are_weighted_least_squares():
    """Against a design that is dense: blocks of donors, weights; and a plain t-test without either."""
    rng = np.random.default_rng(7)
    block, condition = np.repeat(np.arange(5), 2), np.tile([0, 1], 5)
    y, weight = rng.normal(size=(3, 10)), rng.uniform(0.5, 2, (3, 10))
    found = _linear(y, weight, Comparison(np.ones(10, dtype=bool), block, condition, 1))
    blocks = (block[:, None] == np.arange(5)).astype(float)
    both = np.column_stack([blocks, condition])
    for j in range(3):
        left = []
        for X in (blocks, both):
            root = np.sqrt(weight[j])[:, None]
            coefficients = np.linalg.lstsq(root * X, root[:, 0] * y[j], rcond=None)[0]
            left.append((weight[j] * (y[j] - X @ coefficients) ** 2).sum())
        W = np.diag(weight[j])
        M = W - W @ both @ np.linalg.pinv(both.T @ W @ both) @ both.T @ W
        np.testing.assert_allclose([found.left[j], found.explained[j]], [left[1], left[0] - left[1]])
        np.testing.assert_allclose(found.per_variance[j], np.trace(M))
        assert found.n_free[j] == 4
        information = 1 / np.linalg.pinv(both.T @ W @ both)[-1, -1]
        np.testing.assert_allclose(found.information[j], information)
        np.testing.assert_allclose(found.score[j], information * coefficients[-1])
    donors = donors_of(np.arange(8), np.arange(8) % 2)
    level = rng.normal(size=(5, 8))
    p = level_test(level, np.full((5, 8), 3.0), donors, np.zeros(5))
    np.testing.assert_allclose(p, stats.ttest_ind(level[:, ::2], level[:, 1::2], axis=1).pvalue)


def _some_of_each(n_paired, n_nested):
    """Donors that have both of two conditions, and others that have one in turn."""
    condition = np.r_[np.tile([0, 1], n_paired), np.arange(n_nested) % 2]
    return donors_of(np.r_[np.repeat(np.arange(n_paired), 2), n_paired + np.arange(n_nested)], condition)


def test_donors_with_one_condition_count_beside_those_with_several():
    """By hand: a paired and an unpaired t-test, as normal differences, weighted by their precision."""
    rng, donors = np.random.default_rng(9), _some_of_each(4, 6)
    level, error = rng.normal(size=(5, 14)), 1 / 3
    p = level_test(level, np.full((5, 14), 1 / error), donors, np.zeros(5))
    paired, nested = level[:, :8].reshape(5, 4, 2), level[:, 8:]
    within = stats.ttest_rel(paired[:, :, 1], paired[:, :, 0], axis=1)
    between = stats.ttest_ind(nested[:, 1::2], nested[:, ::2], axis=1)
    # variances between units beyond `error`, as five responses tell them: the median
    beyond = lambda left, n_free, n: max(0.0, np.median(left / n_free) - error)
    left = (paired[:, :, 1] - paired[:, :, 0] - (paired[:, :, 1] - paired[:, :, 0]).mean(axis=1)[:, None]) ** 2
    of_pairs = error + beyond(left.sum(axis=1) / 2, 3, 8)
    left = [(some - some.mean(axis=1)[:, None]) ** 2 for some in (nested[:, ::2], nested[:, 1::2])]
    of_others = error + beyond(sum(some.sum(axis=1) for some in left), 4, 6)
    weights = np.array([4 / (2 * of_pairs), 3 / (2 * of_others)])
    z = [np.sign(test.statistic) * stats.norm.isf(test.pvalue / 2) for test in (within, between)]
    both = np.sqrt(weights) @ z / np.sqrt(weights.sum())
    np.testing.assert_allclose(p, 2 * stats.norm.sf(np.abs(both)))


@pytest.mark.parametrize("n_conditions", [2, 3])
def test_of_some_donors_of_each_kind_p_values_are_uniform(n_conditions):
    """Donors' own levels tell nothing; more differences are found than by either kind of donors alone."""
    rng = np.random.default_rng(10)
    donor = np.r_[np.repeat(np.arange(4), n_conditions), 4 + np.arange(4 * n_conditions)]
    condition = np.r_[np.tile(np.arange(n_conditions), 4), np.arange(4 * n_conditions) % n_conditions]
    donors = donors_of(donor, condition)
    assert [one.rank for one in comparisons_of(donors)] == [n_conditions - 1] * 2
    precision = rng.uniform(5, 20, (20_000, len(donor)))
    level = rng.normal(0, 0.5, (20_000, donor.max() + 1))[:, donor]
    level += rng.normal(0, 0.3, precision.shape) + rng.normal(size=precision.shape) / np.sqrt(precision)
    p = level_test(level, precision, donors, rng.normal(size=20_000))
    for limit in (0.2, 0.05, 0.01):
        assert abs((p < limit).mean() / limit - 1) < 0.2, limit
    higher = level + 0.8 * (condition == 1)
    p = level_test(higher, precision, donors, np.zeros(len(level)))
    alone = [
        level_test(higher[:, some], precision[:, some], donors_of(donor[some], condition[some]), np.zeros(len(level)))
        for some in (donor < 4, donor >= 4)
    ]
    assert (p < 0.01).mean() > 1.2 * max((one < 0.01).mean() for one in alone)


def test_a_few_cells_under_the_other_condition_do_not_hide_what_nested_donors_tell(tree):
    basis, position, _ = tree
    rng = np.random.default_rng(14)
    rate = np.exp(1.2 + rng.normal(0, 0.2, (N_DONORS, 60))[DONOR] + np.outer(CONDITION, [1.0] * 10 + [0.0] * 50))
    counts, mixed = rng.poisson(rate), CONDITION.copy()
    for donor in (0, 1):
        mixed[np.flatnonzero(donor == DONOR)[:3]] = 1 - CONDITION[donor == DONOR][0]
    nested, found = (
        core.condition_test(counts, basis, position, condition, sample=DONOR) for condition in (CONDITION, mixed)
    )
    assert nested.p_level[:10].max() < 1e-3
    assert found.p_level[:10].max() < 0.01
    assert np.median(found.p_level[:10]) < 1e-3
    assert (found.p_level[10:] < 0.05).sum() <= 6


def _apart(paired):
    """Places of a condition near the root and of one beyond the forks, for the most part, and the conditions."""
    rng = np.random.default_rng(11)
    condition = np.arange(len(DONOR)) % 2 if paired else CONDITION
    near = rng.random(len(DONOR)) < np.where(condition == 0, 0.9, 0.1)
    edge = np.where(near, rng.integers(0, 2, len(DONOR)), rng.integers(2, 7, len(DONOR)))
    position = core.Position(edge, rng.random(len(DONOR)), np.zeros(len(DONOR)))
    return core.tree_basis(TWO_FORKS, position, n_knots=3), position, condition


@pytest.mark.parametrize("paired", [False, True])
def test_the_error_of_the_shared_curve_is_that_of_least_squares(paired):
    """Of units' levels beside a curve in one dense design, and of the differences that they make."""
    basis, position, condition = _apart(paired)
    Y = np.random.default_rng(12).normal(size=(len(DONOR), 2))
    frame = Frame.of(Y, basis, position, "gaussian", None, None, None, None)
    of, donors = condition[frame.rows], donors_of(DONOR[frame.rows], condition[frame.rows])
    design, model = _Designs.of(frame, of, 2).shape, frame.model(frame.tree_design())[0]
    at, values = slice(0, 2), np.ascontiguousarray(Y[frame.rows].T)
    _, fitted, shared = donor_scores(model, design, donors)(at, values)
    _, precision, error, _ = level_differences(model, design, donors)(at, values, fitted, shared)
    curve = basis.rows(position.part(frame.rows)).dense()
    of_unit = (donors.unit[:, None] == np.arange(donors.n_units)).astype(float)
    both = np.hstack([of_unit, curve - curve.mean(axis=0)])
    covariance = np.linalg.pinv(both.T @ both)[: donors.n_units, : donors.n_units]
    block = donors.donor if paired else np.zeros(donors.n_units, dtype=int)
    X = np.column_stack([(block[:, None] == np.arange(block.max() + 1)), donors.condition == 1]).astype(float)
    for k, weight in enumerate((precision[0], np.ones(donors.n_units))):
        W = np.diag(weight)
        take = (np.linalg.pinv(X.T @ W @ X) @ X.T @ W)[-1]
        own = (take**2 / precision[0]).sum()
        np.testing.assert_allclose(error[0, k, 0, 0], take @ covariance @ take - own, rtol=1e-6)
    assert error[0, 1, 0, 0] > 0.2 * own


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.compiled("takes minutes")
def test_levels_of_conditions_that_lie_at_different_places(paired):
    """Nothing differs but the curve that all share and donors' levels; the curve tells such levels apart badly."""
    basis, position, condition = _apart(paired)
    rng = np.random.default_rng(13)
    shared = basis.rows(position).dense() @ rng.normal(0, 1, (basis.n_columns, 600))
    Y = shared + rng.normal(0, 0.3, (N_DONORS, 600))[DONOR] + rng.normal(size=(len(DONOR), 600))
    found = core.condition_test(Y, basis, position, condition, sample=DONOR, family="gaussian")
    assert 0.02 < (found.p_level < 0.05).mean() < 0.075
    assert (found.p_level < 0.001).sum() <= 4
    higher = Y + 1.5 * condition[:, None]
    found = core.condition_test(higher, basis, position, condition, sample=DONOR, family="gaussian")
    assert (found.p_level < 0.05).mean() > 0.5


@pytest.mark.compiled("takes minutes")
def test_levels_of_some_donors_of_each_kind_at_different_places():
    """The error of the curve is the same for donors with both conditions and for those with one."""
    rng = np.random.default_rng(15)
    donor = np.repeat(np.arange(12), 40)
    condition = np.where(donor < 6, np.arange(480) % 2, donor % 2)
    near = rng.random(480) < np.where(condition == 0, 0.97, 0.03)
    edge = np.where(near, rng.integers(0, 2, 480), rng.integers(2, 7, 480))
    position = core.Position(edge, rng.random(480), np.zeros(480))
    basis = core.tree_basis(TWO_FORKS, position, n_knots=3)
    shared = basis.rows(position).dense() @ rng.normal(0, 1, (basis.n_columns, 800))
    Y = shared + rng.normal(0, 0.05, (12, 800))[donor] + rng.normal(size=(480, 800))
    found = core.condition_test(Y, basis, position, condition, sample=donor, family="gaussian")
    assert (found.p_level < 0.05).mean() < 0.075
    assert (found.p_level < 0.01).mean() < 0.02
    higher = Y + 2.0 * condition[:, None]
    found = core.condition_test(higher, basis, position, condition, sample=donor, family="gaussian")
    assert (found.p_level < 0.05).mean() > 0.5


def test_how_many_differences_donors_tell():
    ranks = lambda donor, condition: [one.rank for one in comparisons_of(donors_of(donor, condition))]
    paired = np.repeat(np.arange(4), 2), np.tile([0, 1], 4)
    assert ranks(*paired) == [1]
    for n in (3, 49, 98, 103):  # one condition alone is compared with none
        assert ranks(np.r_[paired[0], 4 + np.arange(n)], np.r_[paired[1], np.ones(n, dtype=int)]) == [1]
    assert ranks(np.r_[paired[0], 4 + np.arange(6)], np.r_[paired[1], np.arange(6) % 2]) == [1, 1]
    assert ranks(np.arange(9), np.arange(9) % 3) == [2]
    # two donors with the first two conditions, two with the last two, and nested ones of the outer two
    both = np.repeat(np.arange(4), 2), np.array([0, 1, 0, 1, 1, 2, 1, 2])
    assert ranks(np.r_[both[0], 4 + np.arange(4)], np.r_[both[1], [0, 2, 0, 2]]) == [2, 1]


def test_variances_are_drawn_together():
    """Those that are the same become so; those that differ much stay; few are left as they are."""
    rng = np.random.default_rng(8)
    free, along = np.full(5000, 10.0), np.zeros(5000)
    same = rng.chisquare(10, 5000) / 10
    variance, degrees = moderated(3 * same, free, along)
    assert np.abs(variance / 3 - 1).max() < 0.1
    assert degrees.min() > 100
    drawn = 6 / rng.chisquare(6, 5000)  # a prior of six degrees of freedom
    _, degrees = moderated(drawn * same, free, along)
    assert abs(degrees[0] - 16) < 1
    np.testing.assert_array_equal(moderated(same[:5], free[:5], along[:5])[0], same[:5])


def test_independent_p_values_are_combined():
    statistic, p = fisher(np.array([0.03, np.nan, np.nan]), np.array([0.2, 0.4, np.nan]))
    np.testing.assert_allclose(p[0], stats.combine_pvalues([0.03, 0.2]).pvalue)
    np.testing.assert_allclose(statistic[0], stats.combine_pvalues([0.03, 0.2]).statistic / 4)
    np.testing.assert_allclose([p[1], p[2], statistic[2]], [0.4, np.nan, np.nan])
    statistic, p = fisher(np.array([0.0]), np.array([0.3]))  # too small for a double
    assert 300 < statistic[0] < np.inf
    assert 0 < p[0] < 1e-300


def test_what_cannot_be_tested_is_nan(tree):
    basis, position, _ = tree
    counts = np.column_stack([np.zeros(len(DONOR)), np.random.default_rng(9).poisson(2, len(DONOR))])
    found = core.condition_test(counts, basis, position, CONDITION, sample=DONOR)
    for name in ("score", "p_value", "p_level", "p_shape"):
        np.testing.assert_array_equal(np.isnan(getattr(found, name)), [True, False])
    np.testing.assert_array_equal(np.isnan(found.change[:, 0]), [True, False])
    assert found.branch[0, 0] == -1


def test_values_far_from_0_are_tested_as_well(tree):
    basis, position, time = tree
    rng = np.random.default_rng(5)
    Y = rng.standard_normal((len(DONOR), 12)) + rng.standard_normal((N_DONORS, 12))[DONOR] + time[:, None]
    Y[rng.random(Y.shape) < 0.05] = np.nan
    near, far = (
        core.condition_test(Y + shift, basis, position, CONDITION, sample=DONOR, family="gaussian")
        for shift in (0.0, 2.0**30)
    )
    assert np.isfinite(near.p_value).all()
    for name in ("p_value", "p_level", "p_shape"):
        np.testing.assert_allclose(getattr(far, name), getattr(near, name), rtol=1e-4)


def test_errors_say_what_is_wrong(tree):
    basis, position, _ = tree
    counts = np.ones((len(DONOR), 1))
    with pytest.raises(ValueError, match="condition: all 360 points that are used are of one condition; wanted"):
        core.condition_test(counts, basis, position, np.zeros(360, dtype=int))
    with pytest.raises(ValueError, match="condition 1 has 1 donor; wanted at least two for each"):
        core.condition_test(counts, basis, position, (DONOR == 3).astype(int), sample=DONOR)
    with pytest.raises(ValueError, match="all 360 points that are used are of one donor"):
        core.condition_test(counts, basis, position, CONDITION, sample=np.zeros(360, dtype=int))
    with pytest.raises(ValueError, match="condition is of shape .* wanted 360 codes"):
        core.condition_test(counts, basis, position, CONDITION[:4])
    few = np.zeros(360, dtype=bool)
    few[:25] = True
    with pytest.raises(ValueError, match="coefficients of 2 conditions; wanted at least"):
        core.condition_test(counts, basis, position, np.arange(360) % 2, used=few)
    with pytest.raises(ValueError, match="no stretch of the skeleton has points of several conditions"):
        core.condition_test(counts, basis, position, np.isin(position.edge, TIP_BRANCH).astype(int))


@pytest.mark.parametrize("sample", [None, DONOR])
def test_covariates_that_tell_the_condition_are_refused(tree, sample):
    basis, position, _ = tree
    counts = np.random.default_rng(2).poisson(2, (len(DONOR), 2))
    donors = (DONOR[:, None] == np.arange(1, N_DONORS)).astype(float)
    of_third = np.isin(DONOR, [2, 4])
    third = np.where(of_third, 2, CONDITION)  # told from both others, which are not told apart
    for covariates, condition in (
        (donors, CONDITION),
        (1e-9 * CONDITION[:, None], CONDITION),
        (1e6 + CONDITION[:, None], CONDITION),
        (of_third[:, None] * 1.0, third),
    ):
        with pytest.raises(ValueError, match="the covariates determine a condition"):
            core.condition_test(counts, basis, position, condition, sample=sample, covariates=covariates)
    crossed = (np.arange(len(DONOR)) % 3 == 0)[:, None] * 1.0
    assert np.isfinite(core.condition_test(counts, basis, position, CONDITION, covariates=crossed).p_value).all()


def test_differences_are_of_places_where_both_conditions_are_known(tree):
    """A response that is unknown for one condition on a branch says nothing of it there, nor of values elsewhere."""
    basis, position, _ = tree
    Y = np.random.default_rng(8).normal(5, 1, (len(DONOR), 20))
    lost = (CONDITION == 1) & (basis.along(position)[0] == 1)
    wanted = core.condition_test(Y, basis, position, CONDITION, family="gaussian")
    Y[np.ix_(lost, np.arange(20) >= 10)] = np.nan
    found = core.condition_test(Y, basis, position, CONDITION, family="gaussian")
    assert (found.branch[10:] != 1).all()
    assert np.abs(found.change[10:]).max() < 2 * np.abs(wanted.change).max()
    assert np.abs(found.average[10:]).max() < 3 * np.abs(wanted.average).max()
    np.testing.assert_array_equal(found.change[:10], wanted.change[:10])
    np.testing.assert_array_equal(found.n_seen, (~np.isnan(Y)).sum(axis=0))
    Y[CONDITION == 1, 0] = np.nan  # known in one condition alone
    Y[:, 1] = np.nan
    found = core.condition_test(Y, basis, position, CONDITION, family="gaussian")
    for values in (found.p_level, found.p_shape, found.change[:, 0], found.average[:, 0]):
        assert np.isnan(values[:2]).all()
    assert found.n_seen[1] == 0


@pytest.mark.compiled("takes minutes")
def test_donors_one_after_another_are_no_spread_of_shapes():
    """The shared curve follows donors where they lie alone, so that less of their spread is left."""
    rng = np.random.default_rng(11)
    p_values = []
    for _ in range(3):
        place, edge = rng.random(400), rng.integers(0, 3, 400)
        position = core.Position(edge, place, np.zeros(400))
        graph = core.Graph([[0.0, 0.0], [1.0, 0.0], [2.0, 1.0], [2.0, -1.0]], [[0, 1], [1, 2], [1, 3]])
        place = (place + (edge > 0)) / 2
        donor = np.clip(10 * place + rng.normal(0, 0.8, 400), 0, 9).astype(int)
        curve = rng.normal(0, 0.5, (10, 200))[donor] + rng.normal(0, 0.4, (10, 200))[donor] * np.sin(3 * place)[:, None]
        Y, basis = curve + rng.normal(size=(400, 200)), core.tree_basis(graph, position)
        p_values.append(core.condition_test(Y, basis, position, donor % 2, family="gaussian", sample=donor).p_shape)
    assert np.mean(np.concatenate(p_values) < 0.05) < 0.08


def test_differences_of_few_counts_are_no_larger_than_the_counts_near_by():
    """Where no point lies, fitted curves of two conditions were 2 to the 30th apart."""
    graph = core.Graph(np.array([[0.0, 0], [5, 0], [9, 3], [9, -3]]), np.array([[0, 1], [1, 2], [1, 3]]))
    rng = np.random.default_rng(0)
    share = graph.edge_length / graph.edge_length.sum()
    position = core.Position(rng.choice(3, 600, p=share), rng.random(600), np.zeros(600))
    mean = 0.3 * np.exp(-0.5 * ((position.distances_from(graph, 0) - 2.5) / 1.5) ** 2)
    counts = rng.poisson(np.tile(mean[:, None], (1, 60))).astype(float)
    basis, condition = core.tree_basis(graph, position), rng.integers(0, 2, 600)
    most = np.log2(counts.max() / (0.5 * basis.n_columns / 600) + 1)
    for given in ({}, dict(covariates=rng.normal(size=(600, 1)))):
        assert np.nanmax(np.abs(core.condition_test(counts, basis, position, condition, **given).change)) < most


def test_differences_of_yes_and_no_have_half_a_point_where_there_is_none(tree):
    basis, position, _ = tree
    Y = np.column_stack([CONDITION, np.arange(len(DONOR)) % 2]).astype(float)
    Y[:2, 0] = 1 - Y[:2, 0]
    found = core.condition_test(Y, basis, position, CONDITION, family="binomial")
    most = 2 * np.log(2 * 180 / basis.n_columns + 1)  # everybody of one condition, nobody of the other
    assert 0.9 * most < np.abs(found.change[0]).max() <= most


@pytest.mark.compiled("draws of many genes")
@pytest.mark.parametrize("numbers", [[1, 0, 2], [2, 0, 1], [7, 50, 3]])
def test_p_values_of_few_counts_do_not_depend_on_what_conditions_are_called(tree, numbers):
    """Behind them are random draws, which follow neither the numbers of the conditions nor the order of the points."""
    basis, position, _ = tree
    rng = np.random.default_rng(8)
    condition = rng.integers(0, 3, len(DONOR))
    counts = rng.poisson(0.05 + 0.05 * (condition == 1)[:, None], (len(DONOR), 25))
    found = core.condition_test(counts, basis, position, condition)
    other = core.condition_test(counts, basis, position, np.array(numbers)[condition])
    np.testing.assert_allclose(other.p_level, found.p_level, rtol=1e-9)
    np.testing.assert_allclose(other.p_shape, found.p_shape, rtol=1e-6)
    order = rng.permutation(len(DONOR))
    turned = core.condition_test(counts[order], basis, position.part(order), np.array(numbers)[condition[order]])
    np.testing.assert_allclose(turned.p_level, found.p_level, rtol=1e-9)
    unused = condition == 2
    two = [core.condition_test(counts, basis, position, np.where(unused, -1, c)) for c in (condition, 1 - condition)]
    np.testing.assert_allclose(two[1].p_level, two[0].p_level, rtol=1e-9)
