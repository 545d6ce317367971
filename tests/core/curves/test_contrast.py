"""Does a response differ between two places: estimates as by statsmodels, levels, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse, stats

from skeltraj import core
from skeltraj.core._graph.position import at_nodes
from two_forks import TWO_FORKS

N = 500


@pytest.fixture(scope="module")
def given():
    rng = np.random.default_rng(0)
    position = core.Position(rng.integers(0, 7, N), rng.random(N), np.zeros(N))
    basis = core.tree_basis(TWO_FORKS, position, 4)
    time = position.distances_from(TWO_FORKS, 0)
    factors = np.exp(rng.normal(0, 0.4, N))
    covariates = rng.normal(size=(N, 1))
    # the first rises all along, the second rises and falls back on the way from node 0 to 4
    eta = 1 + np.column_stack([0.6 * time, 2 * np.sin(np.pi * time / 4)]) + 0.3 * covariates
    mean = factors[:, None] * np.exp(eta)
    return basis, position, rng.poisson(mean * rng.gamma(5, 0.2, mean.shape)).astype(float), factors, covariates


@pytest.mark.compiled("takes minutes")
def test_estimates_are_those_of_statsmodels(given):
    basis, position, Y, factors, covariates = given
    options = dict(size_factors=factors, covariates=covariates, dispersion=np.full(2, 0.2))
    found = core.contrast(Y, basis, position, 0, 4, **options)
    X = np.hstack([basis.rows(position).dense(), covariates - covariates.mean()])
    first, second = basis.rows(at_nodes(TWO_FORKS, np.array([0, 4]))).dense()
    difference = np.r_[second - first, 0]
    least = 0.5 * basis.n_columns / factors.sum()
    for j in range(2):
        fit = sm.GLM(Y[:, j], X, family=sm.families.NegativeBinomial(alpha=0.2), offset=np.log(factors)).fit(tol=1e-12)
        means = np.exp(np.array([first, second]) @ fit.params[:-1])
        heights = means + least
        assert found.change[j] == pytest.approx(np.log2(heights[1] / heights[0]), abs=1e-3)
        error = np.sqrt(difference @ fit.cov_params() @ difference)
        slope = means / heights  # of the logarithm with half a count in that without
        moved = np.r_[slope[1] * second - slope[0] * first, 0]
        with_half = np.sqrt(moved @ fit.cov_params() @ moved + 2 * ((1 - slope) ** 2).sum())
        assert found.error[j] == pytest.approx(with_half / np.log(2), rel=1e-3)
        z = difference @ fit.params / error
        assert np.sqrt(found.score[j]) == pytest.approx(abs(z), rel=0.25, abs=0.3)
    assert found.p_value[0] < 1e-4 < 0.01 < found.p_value[1]
    back = core.contrast(Y, basis, position, 4, 0, **options)
    np.testing.assert_allclose(back.change, -found.change)
    np.testing.assert_allclose(back.p_value, found.p_value, rtol=1e-6)
    same = core.contrast(sparse.csr_matrix(Y), basis, position, 0, 4, **options)
    np.testing.assert_array_equal(same.p_value, found.p_value)
    np.testing.assert_array_equal(found.n_seen, (Y > 0).sum(axis=0))
    np.testing.assert_allclose(found.mean, Y.sum(axis=0) / factors.sum())
    assert found.dispersions is None
    estimated = core.contrast(Y, basis, position, 0, 4, size_factors=factors)
    assert estimated.dispersions.final.shape == (2,)


def test_numbers(given):
    basis, position, Y, _, covariates = given
    values = np.column_stack([np.log1p(Y[:, 0]), np.full(N, 7.0)])
    found = core.contrast(values, basis, position, 0, 4, family="gaussian", covariates=covariates)
    X = np.hstack([basis.rows(position).dense(), covariates - covariates.mean()])
    first, second = basis.rows(at_nodes(TWO_FORKS, np.array([0, 4]))).dense()
    fit = sm.OLS(values[:, 0], X).fit()
    test = fit.t_test(np.r_[second - first, 0])
    assert found.change[0] == pytest.approx(test.effect[0], rel=1e-6)
    assert found.error[0] == pytest.approx(test.sd[0, 0], rel=1e-6)
    assert np.log(found.p_value[0]) == pytest.approx(np.log(test.pvalue), rel=0.1)
    for name in ("p_value", "score", "change", "error"):
        assert np.isnan(getattr(found, name)[1])


@pytest.mark.compiled("takes minutes")
def test_level_where_ends_are_equal(given):
    """What happens between them is no matter."""
    basis, position, _, factors, _ = given
    rng = np.random.default_rng(1)
    time = position.distances_from(TWO_FORKS, 0)
    bump = np.where(np.isin(position.edge, (0, 1, 2, 3)), np.sin(np.pi * time / 4), np.sin(np.pi / 2 + time - 2))
    mean = factors[:, None] * np.exp(np.minimum(1.5 * bump[:, None], 2) + rng.uniform(-1, 1, 400))
    Y = rng.poisson(mean * rng.gamma(4, 0.25, mean.shape)).astype(float)
    p = core.contrast(Y, basis, position, 0, 4, size_factors=factors).p_value
    for level in (0.5, 0.1, 0.01):
        low, high = stats.binom.ppf([1e-4, 1 - 1e-4], 400, level)
        assert low <= (p <= level).sum() <= high


def test_what_is_refused(given):
    basis, position, Y, _, _ = given
    call = lambda first=0, second=4, **more: core.contrast(Y, basis, position, first, second, **more)
    for more, error, words in [
        ({"second": 0}, ValueError, "first and second are both node 0; wanted two nodes"),
        ({"first": 9}, ValueError, "first=9"),
        ({"second": "T1"}, TypeError, "second='T1'"),
        ({"used": ~np.isin(position.edge, (2, 3))}, ValueError, "none of .* lies on branch B2, which ends at tip T2"),
        ({"dispersion": [1.0]}, ValueError, "wanted 2 finite numbers from 0 up"),
    ]:
        with pytest.raises(error, match=words):
            call(**more)
    parts = core.Graph(np.array([[0.0, 0], [2, 0], [0, 5], [2, 5]]), np.array([[0, 1], [2, 3]]))
    on_first = core.Position(np.zeros(N, int), position.fraction, np.zeros(N))
    own = core.tree_basis(parts, on_first)
    with pytest.raises(ValueError, match="no points that are used lie near node 3, so nothing tells of a difference"):
        core.contrast(Y, own, on_first, 0, 3)


def test_of_yes_and_no_half_a_point_is_where_there_is_none():
    rng = np.random.default_rng(1)
    position = core.Position(rng.integers(0, 7, N), rng.random(N), np.zeros(N))
    basis = core.tree_basis(TWO_FORKS, position, 4)
    late = position.distances_from(TWO_FORKS, 0) > 2
    Y = np.column_stack([late, np.ones(N)]).astype(float)
    Y[0, 1] = 0  # or that has one value only
    found = core.contrast(Y, basis, position, 0, 4, family="binomial")
    most = 2 * np.log(2 * N / basis.n_columns + 1)  # everybody at one place, nobody at the other
    assert 0.5 * most < found.change[0] <= most


@pytest.mark.parametrize(("family", "steepness"), [("binomial", 0.0), ("binomial", 2.0), ("negative_binomial", 1.5)])
def test_errors_are_how_much_changes_vary_also_where_nobody_has_it(family, steepness):
    """Those of logarithms without end were in the tens and thousands, beside changes that vary by 1."""
    rng = np.random.default_rng(0)
    position = core.Position(rng.integers(0, 7, N), rng.random(N), np.zeros(N))
    basis = core.tree_basis(TWO_FORKS, position, 4)
    linear = steepness * (position.distances_from(TWO_FORKS, 0) - 2)[:, None]
    if family == "binomial":
        Y = rng.random((N, 60)) < 1 / (1 + np.exp(-linear))
    else:
        Y = rng.poisson(np.exp(linear - 2), (N, 60))
    found = core.contrast(Y.astype(float), basis, position, 0, 4, family=family, dispersion=_none(family, 60))
    assert 0.7 < np.median(found.error) / found.change.std() < 2
    assert np.quantile(found.error, 0.9) < 3 * found.change.std()


def _none(family, n):
    return np.zeros(n) if family == "negative_binomial" else None


def test_changes_of_yes_and_no_that_are_all_but_certain_are_found():
    """From the curve of no difference, where no step led on, they were down to .2."""
    rng = np.random.default_rng(0)
    position = core.Position(rng.integers(0, 7, N), rng.random(N), np.zeros(N))
    basis = core.tree_basis(TWO_FORKS, position, 4)
    time = position.distances_from(TWO_FORKS, 0)
    Y = (rng.random((N, 40)) < 1 / (1 + np.exp(-(time - 2) / 0.3))[:, None]).astype(float)
    found = core.contrast(Y, basis, position, 0, 4, family="binomial")
    along = core.association(Y, basis, position, 0, family="binomial")
    tip = along.places.tips.tolist().index(4)
    np.testing.assert_allclose(found.change, along.change_to_tip[:, tip], rtol=0.1)
