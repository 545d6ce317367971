"""Do arms beyond a fork differ: levels, which is up, where they part, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

import oracles
from skeltraj import core
from skeltraj.core._curves.arms import arm_basis, arm_design
from skeltraj.core._curves.branch_test import _roots
from two_forks import TWO_FORKS

N = 600


def scattered(n=N, seed=0):
    """Points all over the tree, of equal density: B1 0-1-2, B2 2-3-4, B3 2-5, B4 5-7, B5 5-6."""
    rng = np.random.default_rng(seed)
    length = TWO_FORKS.edge_length
    position = core.Position(rng.choice(7, n, p=length / length.sum()), rng.random(n), np.zeros(n))
    return position, core.tree_basis(TWO_FORKS, position), rng


def counts_of(mean, phi, rng):
    return rng.poisson(mean * rng.gamma(1 / phi, phi, mean.shape)).astype(float)


@pytest.fixture(scope="module")
def parted():
    """Counts with one curve, and others that part half a unit beyond the fork, by 8 times at the ends."""
    position, basis, rng = scattered(1200)
    beyond = position.distances_from(TWO_FORKS, 2)
    upwards = np.isin(position.edge, (2, 3))
    apart = np.log(8) * np.clip((beyond - 0.5) / 0.5, 0, 1) * upwards
    shared = np.sin(position.distances_from(TWO_FORKS, 0))
    factors = np.exp(rng.normal(0, 0.4, 1200))
    mean = factors * np.exp(1.5 + shared)
    null = counts_of(np.tile(mean[:, None], 100), np.full(100, 0.2), rng)
    other = counts_of(np.tile((mean * np.exp(apart))[:, None], 100), np.full(100, 0.2), rng)
    return position, basis, null, other, factors


def test_arms_that_differ_are_found_and_told(parted):
    position, basis, null, other, factors = parted
    found = core.branch_test(np.hstack([null, other]), basis, position, 0, 2, size_factors=factors)
    assert (found.p_value[100:] < 1e-4).all()
    assert 0.0 <= np.mean(found.p_value[:100] < 0.05) <= 0.12
    assert (found.up[100:] == 0).mean() > 0.98
    np.testing.assert_array_equal(found.arms.branch, [1, 2])
    # on average over the stretch of 2: nothing up to .5, a ramp up to 1, log2(8) up to 2
    np.testing.assert_allclose(np.median(found.change[100:]), 3 * (0.5 * 0.5 + 1) / 2, atol=0.2)
    assert np.abs(np.median(found.level[:100], axis=0)).max() < 0.1
    np.testing.assert_allclose(found.level.sum(axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(found.level.max(axis=1) - found.level.min(axis=1), found.change)
    # half of the difference is reached .75 beyond the fork, whose pseudotime is 2
    parting = found.parting[100:]
    assert abs(np.median(parting) - 2.75) < 0.15
    covered = (found.parting_low[100:] <= 2.75) & (found.parting_high[100:] >= 2.75)
    assert covered.mean() > 0.7
    assert (found.parting_low[100:] <= found.parting_high[100:]).all()
    assert np.isnan(found.parting[:100][found.p_value[:100] > 0.05]).all()
    seen = np.flatnonzero(found.arms.used)
    np.testing.assert_array_equal(found.n_seen, (np.hstack([null, other])[seen] > 0).sum(axis=0))
    np.testing.assert_allclose(found.mean, np.hstack([null, other])[seen].sum(axis=0) / factors[seen].sum())


@pytest.mark.parametrize("highest", [3.0, 0.5])
def test_the_parting_of_genes_that_go_to_nothing_is_known_as_well_as_it_is_found(highest):
    position, basis, rng = scattered(900, seed=2)
    beyond, upwards = position.distances_from(TWO_FORKS, 2), np.isin(position.edge, (2, 3))
    falling = lambda at: highest / (1 + np.exp((at - 0.7) / 0.12))
    mean = np.where(upwards, falling(beyond), highest)
    Y = counts_of(np.tile(mean[:, None], 100), np.full(100, 0.5), rng)
    found = core.branch_test(Y, basis, position, 0, 2)
    # where the logarithms, with half a count among the points that a coefficient rests on, differ by half of the most
    least = 0.5 * (1 + 2 * found.degrees) / found.arms.used.sum()
    at = np.linspace(0, found.arms.stretch.min(), 2001)
    apart = np.log(highest + least) - np.log(falling(at) + least)
    true = 2 + at[np.argmax(apart >= 0.5 * apart[-1])]
    assert np.median(found.parting) == pytest.approx(true, abs=0.05)
    covered = (found.parting_low <= true) & (true <= found.parting_high)
    assert covered.mean() >= 0.9
    width = (found.parting_high - found.parting_low) / found.arms.stretch.min()
    assert np.median(width) < 0.3


def test_yes_and_no_that_one_arm_lacks_have_half_a_point():
    position, basis, rng = scattered(900, seed=2)
    beyond, upwards = position.distances_from(TWO_FORKS, 2), np.isin(position.edge, (2, 3))
    falling = lambda at: 0.5 / (1 + np.exp((at - 0.7) / 0.12))
    share = np.where(upwards, falling(beyond), 0.5)
    Y = (rng.random((900, 100)) < share[:, None]).astype(float)
    found = core.branch_test(Y, basis, position, 0, 2, family="binomial")
    n_near = found.arms.used.sum() / (1 + 2 * found.degrees)
    odds = lambda of: np.log((of * n_near + 0.5) / ((1 - of) * n_near + 0.5))
    at = np.linspace(0, found.arms.stretch.min(), 2001)
    apart = odds(0.5) - odds(falling(at))
    assert np.median(found.change) == pytest.approx(apart.mean(), rel=0.2)
    assert found.change.max() < np.log(2 * n_near + 1)  # nobody against everybody would be twice that
    true = 2 + at[np.argmax(apart >= 0.5 * apart[-1])]
    assert np.median(found.parting) == pytest.approx(true, abs=0.08)
    assert ((found.parting_low <= true) & (true <= found.parting_high)).mean() >= 0.85
    assert np.median(found.parting_high - found.parting_low) < 0.25 * found.arms.stretch.min()


def test_fraction_tells_shares_of_the_way(parted):
    position, basis, _, other, factors = parted
    found = core.branch_test(other[:, :10], basis, position, 0, 2, size_factors=factors, align="fraction")
    assert found.arms.used.sum() > core.branch_test(other[:, :1], basis, position, 0, 2).arms.used.sum()
    assert (found.p_value < 1e-4).all()
    assert abs(np.median(found.parting) - 0.75 / 2) < 0.12
    assert ((found.parting_low >= 0) & (found.parting_high <= 1)).all()


def test_scores_are_those_of_dense_weighted_least_squares(parted):
    position, basis, _, other, factors = parted
    phi = np.full(3, 0.2)
    found = core.branch_test(other[:, :3], basis, position, 0, 2, size_factors=factors, dispersion=phi)
    curves = arm_basis(found.arms)
    points = np.flatnonzero(found.arms.used)
    design = arm_design(curves, found.arms, points, None, 2.0)
    X = design.rows.dense()
    for j in range(3):
        share, _, _ = oracles.weighted_score(
            other[points, j], X, design.null, design.tested, design.weights, np.log(factors[points]),
            "negative_binomial", 0.2,
        )  # fmt: skip
        wanted = share * (len(points) - design.null.shape[1]) / design.weights.sum()
        np.testing.assert_allclose(found.score[j], wanted, rtol=1e-3)
    assert found.degrees == design.tested.shape[1]
    assert found.dispersions is None


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("family", ["negative_binomial", "gaussian", "binomial"])
def test_level_where_arms_do_not_differ(family):
    """500 responses with one curve for both arms."""
    position, basis, rng = scattered(seed=3)
    curve = np.sin(position.distances_from(TWO_FORKS, 0))[:, None]
    if family == "negative_binomial":
        mean, phi = np.exp(rng.uniform(-2, 2, 500)), np.exp(rng.uniform(-2, 2, 500))
        Y = counts_of(mean * np.exp(curve), phi, rng)
    elif family == "gaussian":
        Y = curve + rng.standard_t(4, (N, 500))
    else:
        Y = (rng.random((N, 500)) < 1 / (1 + np.exp(1 - curve))).astype(float)
    found = core.branch_test(Y, basis, position, 0, 2, family=family)
    p = found.p_value[np.isfinite(found.p_value)]
    assert len(p) > 495
    for level in (0.5, 0.2, 0.05, 0.01):
        low, high = stats.binom.ppf([1e-4, 1 - 1e-4], len(p), level)
        assert low <= (p <= level).sum() <= high


def test_numbers_part_in_their_own_unit():
    position, basis, rng = scattered(seed=4)
    beyond, arm = position.distances_from(TWO_FORKS, 5), position.edge == 6
    Y = 100 + 0.01 * (np.clip(beyond, 0, 1) * arm)[:, None] + 0.002 * rng.normal(size=(N, 5))
    found = core.branch_test(Y, basis, position, 0, 5, family="gaussian")
    assert (found.p_value < 1e-6).all()
    np.testing.assert_array_equal(found.up, 0)
    assert np.median(found.change) == pytest.approx(0.01 * (0.5 + 0.414) / np.sqrt(2), rel=0.2)
    assert np.median(found.parting) == pytest.approx(3.5, abs=0.2)
    width = (found.parting_high - found.parting_low) / 2
    assert (width < 0.5).all()
    bigger = core.branch_test(1e6 * Y, basis, position, 0, 5, family="gaussian")
    np.testing.assert_allclose(bigger.p_value, found.p_value, rtol=1e-3)
    np.testing.assert_allclose(bigger.parting_low, found.parting_low, rtol=1e-4)
    holes = np.where(np.arange(N)[:, None] % 9 == 0, np.nan, Y)
    partly = core.branch_test(holes, basis, position, 0, 5, family="gaussian")
    alone = core.branch_test(Y, basis, position, 0, 5, family="gaussian", used=np.arange(N) % 9 > 0)
    np.testing.assert_allclose(partly.change, alone.change, rtol=0.1)


def test_a_gene_that_an_arm_lacks_differs_by_a_finite_factor():
    """A level of zero counts as half a count in each column of the basis: a difference no smaller could be seen."""
    position, basis, rng = scattered(seed=6)
    Y = rng.poisson(6.0, (N, 4)) * (position.edge == 6)[:, None].astype(float)
    found = core.branch_test(Y, basis, position, 0, 5)
    curves = arm_basis(found.arms)
    design = arm_design(curves, found.arms, np.flatnonzero(found.arms.used), None, 2.0)
    least = 0.5 * design.rows.n_columns / found.arms.used.sum()
    np.testing.assert_array_equal(found.up, 0)
    np.testing.assert_allclose(found.change, np.log2((6.0 + least) / least), rtol=0.15)


def test_any_number_of_arms(parted):
    position, basis, _, other, factors = parted
    found = core.branch_test(other[:, :5], basis, position, 2, 2, size_factors=factors)
    assert found.level.shape == (5, 3)
    np.testing.assert_array_equal(found.arms.branch, [0, 1, 2])
    assert set(found.up) == {1}
    assert (found.p_value < 1e-4).all()


def test_constant_responses_order_kinds_and_rows(parted):
    position, basis, null, _, factors = parted
    Y = null[:, :6].copy()
    Y[:, 3] = 0
    found = core.branch_test(Y, basis, position, 0, 2, size_factors=factors)
    for name in ("p_value", "score", "change", "parting"):
        assert np.isnan(getattr(found, name)[3])
    assert found.up[3] == -1
    assert np.isnan(found.level[3]).all()
    assert found.n_seen[3] == found.mean[3] == 0
    assert np.isfinite(np.delete(found.p_value, 3)).all()
    given = dict(dispersion=found.dispersions.final)
    same = core.branch_test(sparse.csr_matrix(Y), basis, position, 0, 2, size_factors=factors, **given)
    np.testing.assert_array_equal(same.p_value, found.p_value)
    order = np.random.default_rng(0).permutation(len(Y))
    shuffled = core.branch_test(Y[order], basis, position.part(order), 0, 2, size_factors=factors[order])
    np.testing.assert_allclose(shuffled.p_value, found.p_value, rtol=1e-9)
    np.testing.assert_array_equal(shuffled.arms.arm, found.arms.arm[order])
    called = []
    core.branch_test(Y, basis, position, 0, 2, callback=lambda done, total: called.append((done, total)))
    assert called[-1] == (12, 12)


def test_arms_are_compared_where_values_are_known():
    """An arm whose values are missing from some place on tells nothing of its end; without any, of nothing."""
    position, basis, rng = scattered(1200, seed=7)
    Y = rng.normal(5, 1, (1200, 20))
    wanted = core.branch_test(Y, basis, position, 0, 2, family="gaussian")
    far = np.isin(position.edge, (2, 3)) & (position.distances_from(TWO_FORKS, 2) > 0.4)
    Y[np.ix_(far, np.arange(20) >= 10)] = np.nan
    found = core.branch_test(Y, basis, position, 0, 2, family="gaussian")
    np.testing.assert_array_equal(found.change[:10], wanted.change[:10])
    assert np.abs(found.change[10:]).max() < 4 * np.abs(wanted.change).max()
    Y[np.isin(position.edge, (2, 3)), 0] = np.nan
    found = core.branch_test(Y, basis, position, 0, 2, family="gaussian")
    assert np.isnan(found.change[0])
    assert np.isnan(found.level[0]).all()
    assert found.up[0] == -1


def test_few_points_on_a_large_tree():
    """The arms have fewer coefficients than the tree, and it is theirs that points are wanted for."""
    position, basis, rng = scattered(3000, seed=5)
    arm = np.isin(position.edge, (5, 6))
    few = np.flatnonzero(arm)[:40]
    used = np.isin(np.arange(3000), few)
    Y = np.log1p(counts_of(np.full((3000, 2), 3.0), np.full(2, 0.2), rng))
    found = core.branch_test(Y, basis, position, 0, 5, family="gaussian", used=used)
    assert found.arms.used.sum() == 40
    assert np.isfinite(found.p_value).all()
    # an arm with points near the fork alone tells nothing of its end: curves are looked at as far as points go
    far = position.distances_from(TWO_FORKS, 5)
    near = arm & ((position.edge == 6) | (far < 0.4))
    found = core.branch_test(Y, basis, position, 0, 5, family="gaussian", used=near)
    assert np.abs(found.level).max() < 3
    assert np.isfinite(found.change).all()


def test_what_is_refused(parted):
    position, basis, null, _, factors = parted
    call = lambda root=0, fork=2, **more: core.branch_test(null[:, :2], basis, position, root, fork, **more)
    for more, error, words in [
        ({"fork": 1}, ValueError, r"node 1 has 1 branch\(es\) away from the root"),
        ({"fork": 8}, ValueError, "fork=8"),
        ({"root": -1}, ValueError, "root=-1"),
        ({"align": "time"}, ValueError, "align='time'"),
        ({"used": np.ones(1200)}, ValueError, "used is of shape .* wanted 1200 of True and False"),
        ({"used": np.ones(3, bool)}, ValueError, r"used is of shape \(3,\)"),
        ({"used": np.arange(1200) < 30}, ValueError, "points to compare; wanted at least 10"),
        ({"dispersion": np.ones(3)}, ValueError, "wanted 2 finite numbers from 0 up"),
        ({"family": "gaussian", "dispersion": np.ones(2)}, ValueError, "dispersion was given with family='gaussian'"),
        ({"size_factors": -factors}, ValueError, "are not finite numbers above 0"),
    ]:
        with pytest.raises(error, match=words):
            call(**more)


def test_roots_follow_the_covariance():
    """Those by eigenvectors jump where two eigenvalues meet, so that rounding chose other curves to be drawn."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    covariance = (axes * [2.0, 1, 1, 1, 0]) @ axes.T
    nearly = covariance + 1e-12 * np.outer(axes[:, 0] + axes[:, 1], axes[:, 0] + axes[:, 1])
    root, other = _roots(np.stack([covariance, nearly]))
    np.testing.assert_allclose(root @ root.T, covariance, atol=1e-12)
    np.testing.assert_allclose(other, root, atol=1e-5)
