"""Donors as the unit: scores as by dense fits, p-values as by changing signs, levels whatever donors do, errors."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

import oracles
from skeltraj import core
from skeltraj.core._curves.donor_scores import Spread, evened, mean_shares, p_values_of, spread_of
from skeltraj.core._curves.donors import donors_of
from skeltraj.core._curves.model import Model
from skeltraj.core._curves.unit_kernels import unit_scores
from two_forks import TWO_FORKS


def cells(n_donors, n_each, rng):
    """Points all over a tree with two forks, and whose they are."""
    donor = np.repeat(np.arange(n_donors), n_each)
    position = core.Position(rng.integers(0, 7, len(donor)), rng.random(len(donor)), np.zeros(len(donor)))
    return donor, position, core.tree_basis(TWO_FORKS, position, n_knots=3)


@pytest.mark.parametrize("family", ["negative_binomial", "binomial", "gaussian"])
def test_scores_of_donors_are_those_of_a_dense_fit(family):
    rng = np.random.default_rng(0)
    donor, position, basis = cells(4, 60, rng)
    rows, n = basis.rows(position), len(donor)
    X, factors = rows.dense(), np.exp(rng.normal(0, 0.4, n))
    null, tested = np.eye(basis.n_columns)[:, :3], np.eye(basis.n_columns)[:, 3:6]
    covariate = rng.normal(size=(n, 1))
    mean = factors * np.exp(0.5 + np.array([0, 0.5, -0.5, 1])[donor] + 0.4 * X[:, 1] + 0.2 * covariate[:, 0])
    Y = np.vstack([rng.negative_binomial(2, 1 / (1 + mean / 2)), rng.poisson(mean)]).astype(float)
    offset = np.log(factors)
    if family != "negative_binomial":
        offset = np.zeros(n)
        Y = (Y > [[2], [1]]).astype(float) if family == "binomial" else np.log1p(Y)
    with_covariate = np.zeros((basis.n_columns + 1, 4))
    with_covariate[:-1, :3], with_covariate[-1, 3] = null, 1
    below = np.vstack([tested, np.zeros((1, 3))])
    weights = np.array([1.0, 0.6, 0.3])
    phi = np.array([0.5, 0.01])
    scores, share, used, fitted, scale, shared, lost = unit_scores(
        Y, offset, rows.index, rows.value, covariate, donor, 4, np.arange(4), np.zeros(4, dtype=np.int64),
        with_covariate, below, weights, Model(family, offset, phi).code, phi, 100, 1e-14, True,
    )  # fmt: skip
    np.testing.assert_array_equal(used, [weights, weights])
    for j in range(2):
        wanted, covariance, squares, of_levels, taken = oracles.donor_scores(
            Y[j], offset, np.column_stack([X[:, :3], covariate]), X[:, 3:6], donor, family, phi[j]
        )
        np.testing.assert_allclose(scores[j], wanted, atol=1e-6)
        np.testing.assert_allclose(share[j], np.einsum("ukk,k->u", covariance, weights), atol=1e-6)
        assert abs(fitted[j, 3:-1]).max() == 0
        np.testing.assert_allclose(scale[j] * (n - 8), squares, rtol=1e-6)
        np.testing.assert_allclose(shared[j] @ shared[j].T, of_levels, atol=1e-6)
        np.testing.assert_allclose(lost[j], taken @ weights, atol=1e-6)


def test_sum_over_spread_by_hand():
    """Two donors of weight 1 and one of weight 4, one direction: a weighted mean, and squares around it."""
    score, share = np.array([[[1.0], [3.0], [16.0]]]), np.array([[1.0, 1.0, 4.0]])
    mean = (1 + 3 + 16) / 6
    squares = (1 - mean) ** 2 + (3 - mean) ** 2 + 4 * (4 - mean) ** 2
    ratio, n_free, *_ = spread_of(score, share, np.zeros(3, dtype=int), True)
    assert n_free == 2
    np.testing.assert_allclose(ratio, 20**2 / 6 / (squares / 2))


def test_donors_of_many_points_do_not_rule_by_hand():
    """Four donors, one direction; spread beyond the errors of points is that of donors' own curves."""
    share = np.array([1.0, 1.0, 1.0, 5.0])
    score = np.array([2.0, -3.0, 4.0, -10.0])
    mean = score.sum() / 8
    squares = ((score - share * mean) ** 2 / share).sum()
    between = (squares - 3) / (8 - (3 + 25) / 8)
    keep = 1 / (1 + between * share)
    less, tells = evened(score[None, :, None], share[None], np.zeros(4, dtype=int))
    np.testing.assert_allclose(less[0, :, 0], keep * score)
    np.testing.assert_allclose(tells[0], keep * share)
    alike = np.array([1.0, 1.0, 1.0, 1.5])
    agreeing = np.add(alike, [0.1, -0.1, 0.0, 0.0])
    less, tells = evened(agreeing[None, :, None], alike[None], np.zeros(4, dtype=int))
    np.testing.assert_array_equal(less[0, :, 0], agreeing)
    np.testing.assert_array_equal(tells[0], alike)
    # with 5 of 8 a donor would have more than twice the mean weight, however well donors agree
    _, tells = evened(np.add(share, [0.1, -0.1, 0.0, 0.0])[None, :, None], share[None], np.zeros(4, dtype=int))
    np.testing.assert_allclose(tells[0], 1 / (1 / share + 1 / 5), rtol=1e-8)
    assert tells[0, 3] == pytest.approx(2 * tells[0].mean())


@pytest.mark.compiled("takes minutes")
def test_a_donor_with_most_of_the_points_does_not_rule():
    donor = np.repeat(np.arange(8), [600, *[40] * 7])
    n, rng = len(donor), np.random.default_rng(6)
    graph = core.Graph(np.array([[0, 0], [2, 0], [3, 1], [3, -1.0]]), np.array([[0, 1], [1, 2], [1, 3]]))
    position = core.Position(rng.choice(3, n, p=(0.5, 0.25, 0.25)), rng.random(n), np.zeros(n))
    basis, time = core.tree_basis(graph, position), position.distances_from(graph, 0)
    slope, arm = rng.normal(0, 0.3, (2, 8, 500))
    Y = rng.normal(size=(n, 500)) + slope[donor] * time[:, None] + arm[donor] * (position.edge == 2)[:, None]
    given = dict(family="gaussian", sample=donor)
    for p in (core.association(Y, basis, position, 0, **given).p_value,
              core.branch_test(Y, basis, position, 0, 1, **given).p_value):  # fmt: skip
        assert (p < 0.05).mean() < 0.1
        assert (p < 0.01).mean() < 0.03
        assert (p < 0.001).mean() < 0.01


def test_effective_number_of_directions_has_no_bias():
    """Many donors tell it, in one group and in several, in one space and in each group's own."""
    rng = np.random.default_rng(1)
    truth = 7.5**2 / (16 + 4 + 1 + 0.25)
    variance = np.array([4.0, 2.0, 1.0, 0.5])
    for group in (np.zeros(80, dtype=int), np.repeat([0, 1], 40)):
        scores = rng.standard_normal((1000, 80, 4)) * np.sqrt(variance)
        for one_space in (True, False):
            *_, of_sum, within = spread_of(scores, np.full((1000, 80), 1.0), group, one_space)
            assert abs(np.median(within) / truth - 1) < 0.03
            assert abs(np.median(of_sum) / truth - 1) < 0.03


def test_p_values_of_normal_scores_are_uniform():
    """Whatever the covariance of the directions, which is not known."""
    rng = np.random.default_rng(2)
    weights = np.array([1.0, 0.8, 0.5, 0.3, 0.1])
    for variance in (weights, weights * [9, 1, 1, 1, 1]):
        score = rng.standard_normal((20_000, 10, 5)) * np.sqrt(variance)
        found = spread_of(score, np.full((20_000, 10), 1.0), np.zeros(10, dtype=int), True)
        p = p_values_of(Spread(*found, np.tile(weights, (20_000, 1))), np.zeros(20_000))
        assert abs((p < 0.05).mean() - 0.05) < 0.005
        assert 0.0005 < (p < 0.001).mean() < 0.002


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("groups", [[0] * 3, [0] * 4, [0, 0, 0, 1, 1, 1], np.repeat([0, 1, 2], 3)])
@pytest.mark.parametrize("power", [0.5, 1.0])
def test_p_values_of_few_donors_are_uniform(groups, power):
    """Few donors tell the number of directions badly, many responses together well; three groups have their own."""
    rng = np.random.default_rng(9)
    weights, group = (1 + np.arange(10.0)) ** -1.5, np.array(groups)
    of_group = np.array([[1.0, 0.0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]])[group]
    one_space = group.max() < 2
    score = rng.standard_normal((8000, len(group), 10)) * weights ** (power / 2)
    if not one_space:
        weights = np.repeat(weights, 2)
        score = np.einsum("gdk,dc->gdkc", score, of_group).reshape(8000, len(group), 20)
    found = spread_of(score, np.full(score.shape[:2], 1.0), group, one_space)
    p = p_values_of(Spread(*found, np.tile(weights, (8000, 1))), rng.standard_normal(8000))
    assert 0.04 < (p < 0.05).mean() < 0.06
    assert (p < 0.001).mean() < 0.0023


def test_what_few_donors_tell_of_the_number_of_directions():
    """Its mean, by an integral, is that of simulated scores."""
    rng = np.random.default_rng(10)
    variance = np.array([4.0, 2.0, 1.0, 0.5]) / 7.5
    for n_groups, per_group in ((1, 2), (1, 7), (3, 2)):
        n = n_groups * per_group
        score = rng.standard_normal((40_000, n_groups, per_group, 4)) * np.sqrt(variance)
        squares = (score**2).sum(axis=(1, 2, 3))
        within = (np.einsum("gcdm,gcem->gcde", score, score) ** 2).sum(axis=(1, 2, 3))
        n_pairs = n_groups * per_group**2
        trace2 = (within - squares**2 / n) / (n_pairs + n - 2)
        [wanted] = mean_shares(variance[None], n)
        assert abs((n**2 * trace2 / squares**2).mean() / wanted - 1) < 0.02


def test_p_values_are_like_those_of_changed_signs():
    """Under the null hypothesis a donor's scores may as well have the other sign: all 2^10 ways."""
    rng = np.random.default_rng(3)
    score = rng.standard_t(8, (300, 10, 3)) * np.sqrt([1.0, 0.6, 0.3])
    share, group = np.full((300, 10), 1.0), np.zeros(10, dtype=int)
    found = spread_of(score, share, group, True)
    p = p_values_of(Spread(*found, np.tile([1.0, 0.6, 0.3], (300, 1))), np.zeros(300))
    signs = np.array(list(product([1.0, -1.0], repeat=9)))
    signs = np.column_stack([np.ones(len(signs)), signs])
    total = ((score**2).sum(axis=(1, 2)))[:, None]
    of_sum = (np.einsum("sd,gdm->gsm", signs, score) ** 2).sum(axis=2)
    ratios = of_sum / (total - of_sum / 10)
    by_signs = (ratios >= ratios[:, :1] - 1e-12).mean(axis=1)
    assert np.abs(p - by_signs).mean() < 0.03
    assert np.corrcoef(p, by_signs)[0, 1] > 0.99


def test_one_direction_is_a_t_test():
    rng = np.random.default_rng(4)
    score = rng.standard_normal((50, 7, 1))
    found = spread_of(score, np.full((50, 7), 1.0), np.zeros(7, dtype=int), True)
    p = p_values_of(Spread(*found, np.ones((50, 1))), np.zeros(50))
    np.testing.assert_allclose(p, stats.ttest_1samp(score[:, :, 0], 0, axis=1).pvalue, atol=1e-10)


@pytest.fixture(scope="module")
def flat():
    """Genes that are flat on average, with curves and levels of each donor's own."""
    rng = np.random.default_rng(5)
    donor, position, basis = cells(8, 60, rng)
    time = position.distances_from(TWO_FORKS, 0)
    n_genes = 250
    slope = rng.normal(0, 0.3, (8, n_genes))
    rate = np.exp(0.7 + rng.normal(0, 0.3, (8, n_genes))[donor] + (slope[donor] * (time - time.mean())[:, None]))
    return donor, position, basis, rng.poisson(rate * rng.gamma(4, 1 / 4, rate.shape)), time, rng


@pytest.mark.compiled("takes minutes")
def test_curves_of_donors_are_no_replicates(flat):
    donor, position, basis, counts, *_ = flat
    tests = {
        "association": lambda **more: core.association(counts, basis, position, 0, **more),
        "branches": lambda **more: core.branch_test(counts, basis, position, 0, 2, **more),
        "places": lambda **more: core.contrast(counts, basis, position, 0, 4, **more),
    }
    for name, test in tests.items():
        naive, over_donors = test().p_value, test(sample=donor).p_value
        assert (over_donors < 0.05).mean() < 0.12, name
        assert (over_donors < 0.001).mean() < 0.01, name
        if name != "branches":  # slopes that go on beyond the fork are no difference between arms
            assert (naive < 0.05).mean() > 0.2, name


def test_what_all_donors_share_is_found(flat):
    donor, position, basis, _, time, rng = flat
    rate = np.exp(np.outer(time - time.mean(), [1.0, -1.0]) + rng.normal(0, 0.3, (8, 2))[donor])
    counts = np.column_stack([rng.poisson(3 * rate), rng.poisson(3, (len(donor), 30))])
    found = core.association(counts, basis, position, 0, sample=donor)
    assert (found.p_value[:2] < 1e-6).all()
    assert found.change[0] > 0 > found.change[1]
    assert (found.p_value[2:] < 0.05).sum() <= 5


def test_levels_of_donors_are_nothing_to_the_test():
    """Numbers to which each donor adds another one have the same scores; so do other labels and another order."""
    rng = np.random.default_rng(6)
    donor, position, basis = cells(5, 40, rng)
    Y = rng.normal(size=(len(donor), 20))
    options = dict(family="gaussian", sample=donor)
    first = core.association(Y, basis, position, 0, **options)
    shifted = core.association(Y + rng.normal(0, 5, (5, 20))[donor], basis, position, 0, **options)
    np.testing.assert_allclose(shifted.p_value, first.p_value, rtol=1e-6)
    np.testing.assert_allclose(shifted.score, first.score, rtol=1e-6)
    mixed = rng.permutation(len(donor))
    other = core.association(
        Y[mixed], basis, position.part(mixed), 0, family="gaussian", sample=np.array([7, 3, 11, 0, 5])[donor][mixed]
    )
    np.testing.assert_allclose(other.p_value, first.p_value, rtol=1e-6)


@pytest.mark.parametrize("covariates", [False, True])
@pytest.mark.parametrize("unit", [2.0**-40, 2.0**20])
def test_units_of_numbers_do_not_matter(unit, covariates):
    rng = np.random.default_rng(7)
    donor, position, basis = cells(8, 40, rng)
    time, beside = position.distances_from(TWO_FORKS, 0), rng.normal(size=(len(donor), 1))
    Y = 5 + np.outer(time, [3, -3, 0, 1.0]) + rng.normal(0, 0.3, (8, 4))[donor] + rng.normal(size=(len(donor), 4))
    farther = (rng.random(len(donor)) < 0.15 + 0.7 * time / time.max()).astype(int)
    options = dict(family="gaussian", covariates=beside if covariates else None)
    tests = {
        "association": lambda Y: core.association(Y, basis, position, 0, sample=donor, **options),
        "branches": lambda Y: core.branch_test(Y, basis, position, 0, 2, sample=donor, **options),
        "places": lambda Y: core.contrast(Y, basis, position, 0, 4, sample=donor, **options),
        "paired": lambda Y: core.condition_test(Y, basis, position, farther, sample=donor, **options),
        "nested": lambda Y: core.condition_test(Y, basis, position, farther, sample=donor + 8 * farther, **options),
    }
    for name, test in tests.items():
        one, other = test(Y), test(unit * Y)
        for which in {"p_value", "p_level", "p_shape"} & set(dir(one)):
            np.testing.assert_allclose(getattr(other, which), getattr(one, which), rtol=1e-6, err_msg=f"{name} {which}")


def test_points_without_a_donor_are_left_out(flat):
    donor, position, basis, counts, *_ = flat
    some = donor < 6
    left_out = core.association(counts[:, :5], basis, position, 0, sample=np.where(some, donor, -1))
    used = core.association(counts[:, :5], basis, position, 0, sample=donor, used=some)
    assert left_out.n_used == some.sum()
    np.testing.assert_array_equal(left_out.p_value, used.p_value)


def test_constant_responses_have_no_p_value(flat):
    donor, position, basis, counts, *_ = flat
    some = np.column_stack([np.zeros(len(donor)), counts[:, 0]])
    found = core.association(some, basis, position, 0, sample=donor)
    np.testing.assert_array_equal(np.isnan([found.p_value, found.score]), [[True, False]] * 2)


def test_without_a_p_value_there_is_no_score(flat):
    """One point has a count: no donor tells anything."""
    donor, position, basis, counts, *_ = flat
    some = np.column_stack([*(np.arange(len(donor))[:, None] == np.arange(5, 400, 61)).T, counts[:, 0]]).astype(float)
    for test in (
        lambda: core.association(some, basis, position, 0, sample=donor),
        lambda: core.branch_test(some, basis, position, 0, 2, sample=donor),
        lambda: core.contrast(some, basis, position, 0, 4, sample=donor),
    ):
        found = test()
        assert np.isnan(found.p_value[:-1]).any()
        assert np.isfinite(found.p_value[-1])
        np.testing.assert_array_equal(np.isnan(found.score), np.isnan(found.p_value))


def test_errors_say_what_is_wrong(flat):
    _, position, basis, counts, *_ = flat
    with pytest.raises(ValueError, match="sample: all 480 points that are used are of one donor; wanted at least two"):
        core.association(counts, basis, position, 0, sample=np.zeros(480, dtype=int))
    with pytest.raises(ValueError, match=r"sample is of shape \(3,\); wanted 480 codes"):
        core.branch_test(counts, basis, position, 0, 2, sample=np.zeros(3, dtype=int))
    with pytest.raises(TypeError, match="sample is of type float64; wanted codes"):
        core.contrast(counts, basis, position, 0, 4, sample=np.zeros(480))


def test_who_can_be_compared():
    nested = donors_of(np.repeat([3, 5, 7, 9], 2), np.repeat([0, 0, 1, 1], 2))
    assert not nested.paired
    np.testing.assert_array_equal(nested.group[:, None] == nested.group, np.kron(np.eye(2), np.ones((2, 2))))
    np.testing.assert_array_equal(nested.condition, [0, 0, 1, 1])
    paired = donors_of(np.repeat([3, 5], 4), np.tile([0, 1], 4))
    assert paired.paired
    np.testing.assert_array_equal(paired.donor, [0, 0, 1, 1])
    np.testing.assert_array_equal(paired.group, [0, 0])
    with pytest.raises(ValueError, match="condition 1 has 1 donor; wanted at least two for each"):
        donors_of(np.array([0, 1, 2]), np.array([0, 0, 1]))
    with pytest.raises(ValueError, match="1 of 3 donors have points of several conditions; wanted none, or at least"):
        donors_of(np.array([0, 1, 2, 2]), np.array([0, 1, 0, 1]))
    with pytest.raises(ValueError, match="2 of 2 donors have points of several conditions"):
        donors_of(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]))


def test_two_donors_with_curves_of_their_own_are_no_evidence():
    """Curves of one shape, whose size differs between donors: how many shapes there are, two donors cannot tell."""
    rng = np.random.default_rng(0)
    donor, position, basis = cells(2, 300, rng)
    time = position.distances_from(TWO_FORKS, 0)
    own = rng.normal(0, 2, (2, 150))[donor] * (time - time.mean())[:, None]
    found = core.association(own + rng.standard_normal((600, 150)), basis, position, 0, family="gaussian", sample=donor)
    assert (found.p_value < 0.05).mean() < 0.08
    shared = core.association(
        200 * (time - time.mean())[:, None] + rng.standard_normal((600, 3)),
        basis,
        position,
        0,
        family="gaussian",
        sample=donor,
    )
    assert shared.p_value.max() < 0.1  # what both have alike


def test_donors_as_covariates_give_curves_their_levels():
    """Donors one after another along a line: values rise within each, and fall from one to the next."""
    rng = np.random.default_rng(4)
    graph, donor = core.Graph([[0.0], [1.0]], [[0, 1]]), np.repeat(np.arange(8), 60)
    place = np.clip(rng.normal((donor + 0.5) / 8, 0.2), 0, 1)
    position = core.Position(np.zeros(480, dtype=int), place, np.zeros(480))
    Y = (2 * place - 0.6 * donor)[:, None] + rng.normal(0, 0.5, (480, 12))
    basis, levels = core.tree_basis(graph, position, 3), (donor[:, None] == np.arange(1, 8)).astype(float)
    without, beside = (
        core.association(Y, basis, position, 0, family="gaussian", sample=donor, covariates=covariates)
        for covariates in (None, levels)
    )
    assert without.change_to_tip.max() < -1
    np.testing.assert_allclose(beside.change_to_tip.mean(), 2, atol=0.3)
    np.testing.assert_allclose(beside.p_value, without.p_value, rtol=1e-3)
    assert beside.p_value.max() < 0.01


def test_donors_one_after_another_are_no_spread():
    """The curve follows each donor where no other lies; only where two overlap does it tell that they differ."""
    rng = np.random.default_rng(5)
    graph, donor = core.Graph([[0.0], [1.0]], [[0, 1]]), np.repeat(np.arange(5), 60)
    place = np.clip(rng.normal((donor + 0.5) / 5, 0.1), 0, 1)
    position = core.Position(np.zeros(300, dtype=int), place, np.zeros(300))
    basis, bump = core.tree_basis(graph, position, 5), np.sin(6 * place)[:, None]
    Y = bump + rng.normal(0, 0.5, (5, 400))[donor] + rng.normal(size=(300, 400))
    found = core.contrast(Y, basis, position, 0, 1, family="gaussian", sample=donor)
    assert np.mean(found.p_value < 0.05) < 0.06
    assert np.mean(found.p_value < 0.01) < 0.015


def test_two_donors_tell_two_places_apart():
    """A curve takes from two donors, too, so that less than one is free."""
    rng = np.random.default_rng(6)
    graph, donor = core.Graph([[0.0], [1.0]], [[0, 1]]), np.arange(200) % 2
    position = core.Position(np.zeros(200, dtype=int), rng.random(200), np.zeros(200))
    basis = core.tree_basis(graph, position, 4)
    Y = rng.normal(0, 0.5, (2, 400))[donor] + rng.normal(size=(200, 400))
    test = lambda values: core.contrast(values, basis, position, 0, 1, family="gaussian", sample=donor).p_value
    assert 0.02 < np.mean(test(Y) < 0.05) < 0.08
    assert np.mean(test(Y + 6 * position.fraction[:, None]) < 0.05) > 0.3
