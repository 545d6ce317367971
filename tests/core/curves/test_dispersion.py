"""Dispersions: by moments, their trend, and what each response says of its own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from skeltraj import core
from skeltraj.core._curves.design import make_design
from skeltraj.core._curves.dispersion import LEAST, known_dispersions, shrunk, trend_of
from skeltraj.core._curves.dispersion_kernels import dispersion_variances, fit_dispersions
from skeltraj.core._curves.model import Model, constant_start, estimate_dispersions
from skeltraj.core._curves.responses import Responses
from two_forks import TWO_FORKS

N = 500


def frame(n=N, seed=0, covariates=None):
    rng = np.random.default_rng(seed)
    position = core.Position(np.sort(rng.integers(0, 7, n)), rng.random(n), np.zeros(n))
    basis = core.tree_basis(TWO_FORKS, position, 3)
    design = make_design(basis.rows(position), covariates, np.ones((basis.n_columns, 1)), basis.roughness, 5.0)
    return design, position, rng


def counts_of(mean, phi, rng):
    return rng.poisson(mean * rng.gamma(1 / phi, phi, mean.shape)).astype(float)


def estimate(design, offset, Y):
    """Dispersions by moments at the ends of the fits, with their means and coefficients."""
    rows, T = design.rows, np.ascontiguousarray(design.whole())
    start = constant_start(Y, offset, 1, design, T)
    return fit_dispersions(
        Y, offset, rows.index, rows.value, rows.spans, design.covariates, T, np.full(len(Y), N - T.shape[1]), start,
        Y.sum(axis=1) / np.exp(offset).sum(), LEAST, 60, 1e-14, 1e-10,
    )  # fmt: skip


def test_pearsons_statistic_equals_its_degrees_of_freedom():
    """Around a curve fitted with the dispersion that moments around each count's mean give."""
    design, position, rng = frame(covariates=np.random.default_rng(1).normal(size=(N, 1)))
    offset = rng.normal(0, 0.5, N)
    eta = offset + np.sin(position.distances_from(TWO_FORKS, 0)) + 0.3 * design.covariates[:, 0]
    true = [0.3, 1.0, 3.0]
    Y = np.array([counts_of(np.exp(eta + 1), phi, rng) for phi in true])
    phi, mean, c = estimate(design, offset, Y)
    T = design.whole()
    X = np.hstack([design.rows.dense(), design.covariates]) @ T
    for j in range(3):
        level = np.exp(offset) * Y[j].sum() / np.exp(offset).sum()
        rough = ((Y[j] - level) ** 2 - level).sum() / (level**2).sum()
        wanted = Model("negative_binomial", offset, np.array([rough])).fit(
            slice(0, 1), Y[j : j + 1], design, T, tol=1e-14
        )
        np.testing.assert_allclose(X @ c[j], X @ wanted[0][0], atol=1e-6)
        mu = np.exp(offset + X @ c[j])
        np.testing.assert_allclose(mean[j], mu.mean())
        pearson = lambda a, y=Y[j], mu=mu: ((y - mu) ** 2 / (mu * (1 + a * mu))).sum() - (N - T.shape[1])
        np.testing.assert_allclose(phi[j], brentq(pearson, 0, 100, xtol=1e-12), rtol=1e-6)
        assert abs(phi[j] / true[j] - 1) < 0.4


def test_counts_that_vary_less_than_poisson_have_none():
    design, _, rng = frame()
    Y = np.array([rng.binomial(10, 0.5, N), np.full(N, 3.0), np.zeros(N), rng.integers(4, 6, N)]).astype(float)
    phi, mean, _ = estimate(design, np.zeros(N), Y)
    np.testing.assert_allclose(phi, 0, atol=1e-5)
    np.testing.assert_allclose(mean, Y.mean(axis=1), atol=1e-4)


@pytest.mark.compiled("takes minutes")
def test_variance_is_that_of_repeated_estimates():
    """With means that are known to be near: many responses with one dispersion."""
    design, _, rng = frame(covariates=None)
    offset = rng.normal(0, 0.3, N)
    for true, level in ((0.3, 1.0), (1.0, 3.0), (1.0, -1.0)):
        mean = np.exp(offset + level) * np.ones((300, 1))
        phi, _, c = estimate(design, offset, counts_of(mean, true, rng))
        rows = design.rows
        variance = dispersion_variances(
            offset, rows.index, rows.value, design.covariates, c @ design.whole().T, np.full(300, true)
        )
        assert 0.75 < np.median(variance) / phi.var() < 1.5
        assert abs(np.median(phi) / true - 1) < 0.2


def test_trend_is_a_running_median():
    rng = np.random.default_rng(2)
    mean = np.exp(rng.uniform(-3, 3, 4000))
    true = 0.2 + 1 / mean
    trend = trend_of(mean, true * rng.gamma(8, 1 / 8, 4000))
    middle = np.abs(np.log(mean)) < 2.5
    assert np.abs(np.log(trend / true))[middle].max() < 0.2
    order = np.argsort(mean)
    assert np.corrcoef(np.log(trend[order]), np.log(true[order]))[0, 1] > 0.98
    # few responses: one group, its median; unknown ones and those without a mean have no part in it
    few = trend_of(np.array([1.0, 2, 3, 4, 0]), np.array([0.1, 0.2, 0.9, np.nan, 5.0]))
    np.testing.assert_allclose(few, [0.2, 0.2, 0.2, 0.2, np.nan])
    assert np.isnan(trend_of(np.zeros(3), np.ones(3))).all()
    assert np.isnan(trend_of(np.ones(3), np.full(3, np.nan))).all()
    np.testing.assert_allclose(trend_of(np.ones(3), np.zeros(3)), LEAST)


def test_shrinkage_between_its_limits():
    rng = np.random.default_rng(3)
    trend = np.full(2000, 0.5)
    # nothing but errors around the trend: all are drawn to it
    own = trend + 0.2 * rng.standard_normal(2000)
    final, spread = shrunk(own, trend, np.full(2000, 0.04))
    assert spread < 0.15
    assert np.abs(final - trend).max() < 0.2 * np.abs(own - trend).max()
    # exact estimates: all stay
    own = trend * (1 + 0.5 * rng.uniform(-1, 1, 2000))
    final, spread = shrunk(own, trend, np.zeros(2000))
    np.testing.assert_allclose(final, own)
    # in between, as normal distributions say, by hand; the spread is what the median deviation leaves
    own, variance = trend * (1 + 0.6 * rng.standard_normal(2000)), np.full(2000, 0.01)
    final, spread = shrunk(own, trend, variance)
    off = (own - trend) / trend
    np.testing.assert_allclose(spread, np.sqrt((1.4826 * np.median(np.abs(off))) ** 2 - 0.04))
    weight = spread**2 / (spread**2 + 0.04)
    np.testing.assert_allclose(final, np.maximum(trend + weight * (own - trend), LEAST))
    # what is not known
    final, _ = shrunk(np.array([0.5, np.nan, 0.4]), np.array([0.5, 0.5, np.nan]), np.array([0.1, 0.1, 0.1]))
    np.testing.assert_allclose(final, [0.5, 0.5, LEAST])
    nothing = np.full(2, np.nan)
    np.testing.assert_array_equal(shrunk(np.ones(2), nothing, nothing)[0], 1)


def test_estimates_of_many_responses_are_better_together():
    """Means and dispersions over a wide range, size factors: no bias, and less error than alone."""
    design, position, rng = frame(seed=4)
    offset = rng.normal(0, 0.4, N)
    mean = np.exp(rng.uniform(-2, 2.5, 300))
    true = (0.1 + 0.5 / mean) * rng.gamma(20, 1 / 20, 300)
    curve = 0.5 * np.sin(position.distances_from(TWO_FORKS, 0))
    Y = counts_of(np.exp(offset + curve)[:, None] * mean, true, rng)
    found, c = estimate_dispersions(Responses(Y, np.arange(N), N, counts=True), design, offset)
    assert abs(np.median(found.final / true) - 1) < 0.15
    error = lambda values: np.median(np.abs(np.log(np.maximum(values, 1e-3) / true)))
    assert error(found.final) < error(found.own)
    assert error(found.final) < 0.25
    np.testing.assert_allclose(found.mean, Y.mean(axis=0), rtol=0.1)
    assert c.shape == (300, design.whole().shape[1])
    zero = np.hstack([Y, np.zeros((N, 1))])
    again, _ = estimate_dispersions(Responses(zero, np.arange(N), N, counts=True), design, offset)
    np.testing.assert_allclose(again.final[:300], found.final, rtol=1e-12)
    assert again.final[300] == LEAST


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.ones(2), r"shape \(2,\) and type float64; wanted 3 finite numbers from 0 up"),
        (np.array([1.0, -1, 1]), "wanted 3 finite numbers from 0 up"),
        (np.array([1.0, np.nan, 1]), "wanted 3 finite numbers from 0 up"),
        (np.array([1.0, np.inf, 1]), "wanted 3 finite numbers from 0 up"),
        (np.array(["a", "b", "c"]), "wanted 3 finite numbers from 0 up"),
    ],
)
def test_dispersions_that_are_refused(values, words):
    with pytest.raises(ValueError, match=words):
        known_dispersions(values, "negative_binomial", 3)
    with pytest.raises(ValueError, match="dispersion was given with family='gaussian'"):
        known_dispersions(np.ones(3), "gaussian", 3)


def test_dispersions_that_are_given():
    assert known_dispersions(None, "gaussian", 3) is None
    np.testing.assert_array_equal(known_dispersions([0, 1, 2], "negative_binomial", 3), [LEAST, 1, 2])
