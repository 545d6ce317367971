"""Fitted curves: those of statsmodels, dispersions as in the test, lineages, what no point tells of, bounds."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse, stats

from skeltraj import core
from skeltraj.core._curves.intervals import intervals
from two_forks import TWO_FORKS

N = 500


@pytest.fixture(scope="module")
def given():
    """Points all over a tree with two forks, counts with size factors, covariates."""
    rng = np.random.default_rng(0)
    position = core.Position(rng.integers(0, 7, N), rng.random(N), np.zeros(N))
    basis = core.tree_basis(TWO_FORKS, position)
    time = position.distances_from(TWO_FORKS, 0)
    factors = np.exp(rng.normal(0, 0.5, N))
    covariates = np.column_stack([rng.random(N) > 0.5, rng.normal(size=N)]).astype(float)
    mean = factors * np.exp(1 + np.sin(time) + 0.3 * covariates[:, 0])
    counts = np.column_stack([rng.negative_binomial(2, 1 / (1 + mean / 2)), rng.poisson(mean), rng.poisson(3 * mean)])
    return basis, position, counts, factors, covariates


def of_statsmodels(trends, basis, position, y, covariates, family, **more):
    """Curve and standard errors at the places, by a design that is dense."""
    X = np.hstack([basis.rows(position).dense(), covariates - covariates.mean(axis=0)])
    at = np.hstack([trends.places.rows.dense(), np.zeros((len(trends.places.branch), covariates.shape[1]))])
    fit = sm.GLM(y, X, family=family, **more).fit(tol=1e-14, tol_criterion="params", maxiter=200)
    return at @ fit.params, np.sqrt(np.einsum("np,pq,nq->n", at, fit.cov_params(), at))


def test_counts_have_the_curves_of_statsmodels(given):
    basis, position, counts, factors, covariates = given
    options = dict(size_factors=factors, covariates=covariates)
    trends = core.trends(counts, basis, position, 0, **options)
    np.testing.assert_array_equal(
        trends.dispersion, core.association(counts, basis, position, 0, **options).dispersions.final
    )
    for j in range(3):
        family = sm.families.NegativeBinomial(alpha=trends.dispersion[j])
        wanted = of_statsmodels(trends, basis, position, counts[:, j], covariates, family, offset=np.log(factors))
        np.testing.assert_allclose([trends.curve[j], trends.error[j]], wanted, rtol=0, atol=1e-6)
    given_dispersion = core.trends(counts, basis, position, 0, **options, dispersion=trends.dispersion)
    np.testing.assert_allclose(given_dispersion.curve, trends.curve, atol=1e-6)
    np.testing.assert_array_equal(
        core.trends(sparse.csr_matrix(counts), basis, position, 0, **options).curve, trends.curve
    )


def test_numbers_and_yes_or_no_have_the_curves_of_statsmodels(given):
    basis, position, counts, _, covariates = given
    values = np.log1p(counts)
    trends = core.trends(values, basis, position, 0, family="gaussian", covariates=covariates)
    wanted = of_statsmodels(trends, basis, position, values[:, 0], covariates, sm.families.Gaussian())
    np.testing.assert_allclose([trends.curve[0], trends.error[0]], wanted, atol=1e-6)
    likely = 1 / (1 + np.exp(-np.sin(position.distances_from(TWO_FORKS, 0))))
    chance = (np.random.default_rng(2).random((N, 2)) < likely[:, None]).astype(float)
    trends = core.trends(chance, basis, position, 0, family="binomial", covariates=covariates)
    wanted = of_statsmodels(trends, basis, position, chance[:, 0], covariates, sm.families.Binomial())
    np.testing.assert_allclose([trends.curve[0], trends.error[0]], wanted, atol=1e-6)
    assert not trends.dispersion.any()


def test_values_that_are_missing_are_left_out(given):
    basis, position, counts, *_ = given
    values = np.log1p(counts.astype(float))
    known = np.random.default_rng(1).random(N) < 0.8
    partly = np.where(known[:, None], values, np.nan)
    trends = core.trends(np.hstack([partly, np.full((N, 1), np.nan)]), basis, position, 0, family="gaussian")
    wanted = core.trends(values, basis, position, 0, family="gaussian", used=known)
    np.testing.assert_allclose(trends.curve[:3], wanted.curve, atol=1e-9)
    np.testing.assert_allclose(trends.error[:3], wanted.error, atol=1e-9)
    assert np.isnan(trends.curve[3]).all()
    # where nothing is known of one branch, its own curve is not
    branch, along = basis.along(position)
    values[(branch == 0) & (along > 0), 1] = np.nan
    trends = core.trends(values, basis, position, 0, family="gaussian")
    own = (trends.places.branch == 0) & (trends.places.along < 1.9)
    assert np.isnan(trends.curve[1, own]).all()
    assert np.isfinite(trends.curve[1, ~own & (trends.places.branch != 0)]).all()
    assert np.isfinite(trends.curve[[0, 2]]).all()


def test_places_and_lineages(given):
    basis, position, counts, *_ = given
    trends = core.trends(counts, basis, position, 0)
    places = trends.places
    for i, tip in enumerate(places.tips):
        on = trends.lineage[:, i]
        path = TWO_FORKS.path(0, tip)
        passed = {int(b) for b in TWO_FORKS.branch_of_edge[TWO_FORKS.edges_along(path)]}
        assert set(places.branch[on]) == passed
        assert places.pseudotime[on].min() == 0
        assert places.pseudotime[on].max() == pytest.approx(TWO_FORKS.distances_from(0)[tip])
    # every point is nearest to one place
    branch, along = basis.along(position)
    length = np.array([spline.length for spline in basis.splines])[branch]
    near = np.round(20 * along / length).astype(int) + 21 * branch
    np.testing.assert_array_equal(trends.n_points, np.bincount(near, minlength=105))
    # where branches meet, all have one value
    for value in trends.curve:
        at_fork = value[np.isclose(places.pseudotime, 2.0) & np.isin(places.branch, [0, 1, 2])]
        assert len(at_fork) == 3
        np.testing.assert_allclose(at_fork, at_fork[0])


def test_points_on_a_branch_without_length_are_counted_at_its_start():
    nodes = np.array([[0, 0], [1, 0], [2, 0], [1, 0], [1, 1.0]])
    graph = core.Graph(nodes, np.array([[0, 1], [1, 2], [1, 3], [1, 4]]))
    position = core.Position(np.repeat(np.arange(4), 20), np.tile(np.linspace(0, 1, 20), 4), np.zeros(80))
    counts = np.random.default_rng(0).poisson(3.0, (80, 2))
    trends = core.trends(counts, core.tree_basis(graph, position, n_knots=3), position, 0)
    short = trends.places.branch == graph.branch_of_edge[2]
    np.testing.assert_array_equal(trends.n_points[short], [20] + [0] * (short.sum() - 1))
    assert trends.n_points[~short].sum() == 60
    assert trends.n_points[~short].max() == 1


def test_constant_responses_have_none_and_absent_counts_hurt_nobody(given):
    basis, position, counts, *_ = given
    time = position.distances_from(TWO_FORKS, 0)
    early = np.where(time < 2, counts[:, 1], 0)
    trends = core.trends(np.column_stack([counts, early, np.zeros(N), np.full(N, 3)]), basis, position, 0)
    assert np.isnan(trends.curve[4:]).all()
    assert np.isnan(trends.error[4:]).all()
    mean, lower, upper = intervals(trends.curve, trends.error, trends.support, "negative_binomial", 0.95)
    late = trends.places.pseudotime > 2.2
    assert mean[3, late].max() < 0.05
    assert (lower[3, late] == 0).all()
    # what no count among so many points leaves, exactly: 3.7 / n; here at least 2.5 / n
    assert (upper[3, late] * trends.support[late] >= 2.5).all()
    assert (upper[3, late & (trends.support > 20)] < 0.1 * mean[3].max()).all()
    assert (lower[:4] <= mean[:4]).all()
    assert (mean[:4] <= upper[:4]).all()


def test_what_no_point_tells_of_is_unknown(given):
    basis, position, counts, *_ = given
    branch, _ = basis.along(position)
    for unused in (0, 1):
        trends = core.trends(counts, basis, position, 2, used=branch != unused)
        own = trends.places.branch == unused
        end = own & np.isclose(trends.places.pseudotime, 0)
        assert end.sum() == 1
        np.testing.assert_array_equal(trends.support > 0, ~own | end)
        np.testing.assert_array_equal(np.isfinite(trends.curve), np.tile(~own | end, (3, 1)))
        np.testing.assert_array_equal(np.isfinite(trends.error), np.tile(~own | end, (3, 1)))


def test_curves_are_nowhere_higher_than_the_counts_near_by():
    """Between the last point and a tip they went up to hundreds, where no point had a count."""
    rng = np.random.default_rng(2)
    graph = core.Graph(np.array([[0.0, 0], [5, 0], [9, 3], [9, -3]]), np.array([[0, 1], [1, 2], [1, 3]]))
    share = graph.edge_length / graph.edge_length.sum()
    position = core.Position(rng.choice(3, 600, p=share), rng.random(600), np.zeros(600))
    basis = core.tree_basis(graph, position)
    factors = np.exp(rng.normal(0, 0.5, 600))
    mean = 0.3 * np.exp(-0.5 * ((position.distances_from(graph, 0) - 2.5) / 1.5) ** 2)
    counts = rng.poisson(np.tile((factors * mean)[:, None], (1, 80))).astype(float)
    found = core.trends(counts, basis, position, 0, size_factors=factors)
    near = (np.abs(found.places.rows.dense()) > 1e-6)[:, None] & (basis.rows(position).dense() != 0)
    near = near.any(axis=2)  # points that share a coefficient with each place
    most = np.where(near[:, :, None], counts / factors[:, None], 0).max(axis=1).T
    curve = np.exp(found.curve)
    assert (curve <= np.maximum(most, 0.05) * (1 + 1e-9)).all()
    none = most == 0
    assert none.any()
    assert curve[none].max() < 0.01


def test_support_is_the_number_of_points_that_tell_of_a_place():
    line = core.Graph(np.array([[0.0, 0], [1, 0]]), np.array([[0, 1]]))
    # two places alone: the curve is a line through the means there
    position = core.Position(np.zeros(12, dtype=int), np.repeat([0.0, 1.0], [4, 8]), np.zeros(12))
    basis = core.tree_basis(line, position)
    counts = np.arange(12)[:, None] % 5
    trends = core.trends(counts, basis, position, 0)
    np.testing.assert_allclose(trends.support[[0, -1]], [4, 8])
    assert trends.support[10] == pytest.approx(1 / (0.25 / 4 + 0.25 / 8))
    np.testing.assert_allclose(np.exp(trends.curve[0, [0, -1]]), [counts[:4].mean(), counts[4:].mean()])
    twice = core.trends(counts, basis, position, 0, size_factors=np.full(12, 2.0))
    np.testing.assert_allclose(twice.support, 2 * trends.support)
    np.testing.assert_allclose(twice.curve, trends.curve - np.log(2))


@pytest.mark.parametrize("z", [1.0, 1.959964])
def test_bounds_are_those_of_wald_where_errors_are_small(z):
    level = 2 * stats.norm.cdf(z) - 1
    support = np.array([1e5])
    for family, curve, slope in (
        ("negative_binomial", np.log(4.0), 4.0),
        ("binomial", np.log(0.25), 0.2 * 0.8),
        ("gaussian", 3.0, 1.0),
    ):
        error = np.array([1e-3])
        mean, lower, upper = intervals(np.array([curve]), error, support, family, level)
        np.testing.assert_allclose([mean - lower, upper - mean], np.full((2, 1), z * slope * 1e-3), rtol=5e-3)


def test_bounds_of_few_counts_hold_the_truth():
    """Of a mean of few Poisson counts, the bounds hold the truth about as often as they say."""
    for total in (1.0, 3.0, 10.0):
        y = np.arange(1, 60)
        curve, error = np.log(y / 20), 1 / np.sqrt(y)
        _, lower, upper = intervals(curve, error, np.full(59, 20.0), "negative_binomial", 0.95)
        held = (lower <= total / 20) & (total / 20 <= upper)
        nothing = intervals(np.array([-30.0]), np.array([1e5]), np.array([20.0]), "negative_binomial", 0.95)[2]
        share = stats.poisson.pmf(y, total)[held].sum() + stats.poisson.pmf(0, total) * (nothing[0] >= total / 20)
        assert 0.91 < share < 0.99


def test_bounds_where_there_is_nothing_or_all():
    curve, error, support = np.array([-30.0, 30.0]), np.array([1e5, 1e5]), np.array([10.0, 10.0])
    mean, lower, upper = intervals(curve, error, support, "binomial", 0.95)
    np.testing.assert_allclose(mean, [0, 1], atol=1e-12)
    np.testing.assert_allclose([lower[0], upper[1]], [0, 1], atol=1e-12)
    assert upper[0] == pytest.approx(1 - lower[1])
    # exactly, no one of 10 leaves 1 - 0.025 ** (1 / 10) = 0.31, of one side 0.26
    assert 0.2 < upper[0] < 0.31
    unknown = np.array([np.nan])
    for family in ("negative_binomial", "binomial", "gaussian"):
        assert np.isnan(intervals(unknown, unknown, np.zeros(1), family, 0.9)).all()


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"root": 9}, ValueError, "root=9 is not a node; wanted a number from 0 to 7"),
        ({"family": "poisson"}, ValueError, "family='poisson' is not known"),
        ({"dispersion": np.ones(2)}, ValueError, r"dispersion is of shape \(2,\) and type float64; wanted 3 finite"),
        ({"dispersion": [-1, 0, 1]}, ValueError, "wanted 3 finite numbers from 0 up"),
        ({"family": "gaussian", "dispersion": np.ones(3)}, ValueError, "dispersion was given with family='gaussian'"),
        ({"used": np.arange(N) < 10}, ValueError, "10 points are used for .* coefficients; wanted at least"),
    ],
)
def test_errors(given, options, kind, message):
    basis, position, counts, *_ = given
    with pytest.raises(kind, match=message):
        core.trends(counts, basis, position, **{"root": 0} | options)


def test_a_root_within_a_branch_is_where_its_lineages_begin():
    nodes = np.array([[0.0, 0], [1, 0], [2.05, 0], [3.5, 1.2], [3.5, -1.5]])
    graph = core.Graph(nodes, np.array([[0, 1], [1, 2], [2, 3], [2, 4]]))
    rng = np.random.default_rng(3)
    position = core.Position(rng.integers(0, 4, 400), rng.random(400), np.zeros(400))
    basis = core.tree_basis(graph, position)
    result = core.trends(rng.poisson(3, (400, 2)), basis, position, 1)
    time, lineage = result.places.pseudotime, result.lineage
    assert lineage.shape[1] == 3
    for of_tip in lineage.T:  # each begins at the root, and at no other place
        assert time[of_tip].min() == 0
    assert (time == 0).sum() == 1
    assert np.bincount(result.places.branch).tolist() == [21, 21, 21]
    for b in range(3):
        assert (np.diff(result.places.along[result.places.branch == b]) > 0).all()
    at_tip = core.trends(rng.poisson(3, (400, 2)), basis, position, 0)  # steps are equal where no root is inside
    steps = np.diff(at_tip.places.along[at_tip.places.branch == 0])
    np.testing.assert_allclose(steps, steps[0])
