"""Fits of many responses: those of statsmodels and of literal Fisher scoring; errors of contrasts; what has no end."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse

import oracles
from skeltraj import core
from skeltraj.core._curves.design import make_design
from skeltraj.core._curves.effects import covariances
from skeltraj.core._curves.kernels import (
    GAUSSIAN,
    NEGATIVE_BINOMIAL,
    contrast_errors,
    fit_responses,
    saturated_likelihoods,
)
from skeltraj.core._curves.model import Model, constant_start
from skeltraj.core._curves.responses import scatter
from two_forks import TWO_FORKS

N = 400
EXACT = 1e-14
FAMILIES = ["negative_binomial", "gaussian", "binomial"]


@pytest.fixture(scope="module")
def given():
    """A design with covariates on a tree with two forks, its points sorted by place, and three responses of each."""
    rng = np.random.default_rng(0)
    position = core.Position(np.sort(rng.integers(0, 7, N)), rng.random(N), np.zeros(N))
    basis = core.tree_basis(TWO_FORKS, position, 4)
    covariates = np.column_stack([rng.random(N) > 0.5, 30 * rng.normal(size=N)]).astype(float)
    design = make_design(basis.rows(position), covariates, np.ones((basis.n_columns, 1)), basis.roughness, 5.0)
    eta = np.sin(position.distances_from(TWO_FORKS, 0)) + 0.3 * covariates[:, 0]
    offset = rng.normal(0, 0.5, N)
    mean = np.exp(eta + offset)
    responses = {
        "negative_binomial": np.array([rng.poisson(mean * rng.gamma(1 / a, a, N)) for a in (0.1, 0.7, 3.0)]),
        "gaussian": np.array([eta + s * rng.normal(size=N) for s in (0.1, 1.0, 10.0)]) + 100,
        "binomial": np.array([rng.random(N) < 1 / (1 + np.exp(-eta - a)) for a in (-2, 0, 1)]),
    }
    return design, offset, {name: Y.astype(float) for name, Y in responses.items()}


PHI = np.array([0.1, 0.7, 3.0])


def model_of(family, offset):
    counts = family == "negative_binomial"
    return Model(family, offset if counts else np.zeros(N), PHI if counts else np.zeros(3))


def by_statsmodels(family, y, X, offset, phi):
    of = {
        "negative_binomial": sm.families.NegativeBinomial(alpha=phi) if phi else None,
        "gaussian": sm.families.Gaussian(),
        "binomial": sm.families.Binomial(),
    }[family]
    model = sm.GLM(y, X, family=of, offset=offset if family == "negative_binomial" else None)
    return model.fit(tol=1e-14, tol_criterion="params", maxiter=300)


def dense(design):
    return np.hstack([design.rows.dense(), design.covariates])


@pytest.mark.parametrize("family", FAMILIES)
def test_fits_are_those_of_statsmodels(given, family):
    """Predictions, standard errors of contrasts, and how much likelihood the curve adds."""
    design, offset, responses = given
    Y, model = responses[family], model_of(family, offset)
    T, null = design.whole(), np.ascontiguousarray(design.null)
    assert T.shape[1] == design.n_coefficients
    c, likelihood, n_iter, curvature = model.fit(slice(0, 3), Y, design, T, tol=EXACT)
    c0, likelihood0, _, _ = model.fit(slice(0, 3), Y, design, null, tol=EXACT)
    assert n_iter.max() < 40
    X = dense(design)
    contrasts = np.random.default_rng(1).standard_normal((4, design.n_coefficients))
    variance = np.ones(3)
    for j in range(3):
        wanted = by_statsmodels(family, Y[j], X, offset, model.dispersion[j])
        nothing = by_statsmodels(family, Y[j], X @ null, offset, model.dispersion[j])
        np.testing.assert_allclose(X @ T @ c[j], X @ wanted.params, atol=1e-6)
        np.testing.assert_allclose(c0[j], nothing.params, atol=1e-6)
        if family == "gaussian":
            variance[j] = wanted.scale
            gain = N / 2 * np.log(likelihood0[j] / likelihood[j])  # of errors whose variance is fitted, too
        else:
            gain = likelihood[j] - likelihood0[j]
        np.testing.assert_allclose(gain, wanted.llf - nothing.llf, rtol=1e-6)
        error = np.sqrt(np.diagonal(contrasts @ wanted.cov_params() @ contrasts.T) / variance[j])
        np.testing.assert_allclose(contrast_errors(curvature[j : j + 1], T, contrasts)[0], error, rtol=1e-5)
        covariance = covariances(curvature[j : j + 1], T, design.n_coefficients)[0]
        np.testing.assert_allclose(covariance, wanted.cov_params() / variance[j], atol=1e-4 * np.abs(covariance).max())


def test_saturated_likelihoods_are_those_of_means_that_equal_the_counts(given):
    """The deviance is twice what a fit lacks of it."""
    design, offset, responses = given
    Y, model = responses["negative_binomial"], model_of("negative_binomial", offset)
    T = design.whole()
    _, likelihood, _, _ = model.fit(slice(0, 3), Y, design, T, tol=EXACT)
    saturated = saturated_likelihoods(Y, NEGATIVE_BINOMIAL, PHI)
    for j in range(3):
        wanted = by_statsmodels("negative_binomial", Y[j], dense(design), offset, PHI[j])
        np.testing.assert_allclose(2 * (saturated[j] - likelihood[j]), wanted.deviance, rtol=1e-9)
    poisson = saturated_likelihoods(Y, NEGATIVE_BINOMIAL, np.full(3, 1e-9))
    there = np.where(Y > 0, Y, 1.0)
    np.testing.assert_allclose(poisson, (Y * np.log(there) - Y).sum(axis=1), rtol=1e-6)
    np.testing.assert_array_equal(saturated_likelihoods(Y, GAUSSIAN, PHI), 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_steps_are_those_of_fisher_scoring_and_never_lose_likelihood(given, family):
    design, offset, responses = given
    model = model_of(family, offset)
    T, y, X = design.whole(), responses[family][1], dense(design)
    start = constant_start(y[None], model.offset, model.code, design, T)
    literal = oracles.fisher_scoring(y, X @ T, model.offset, family, model.dispersion[1], start[0], 6)
    values = []
    for n in range(7):
        c, likelihood, n_iter, _ = fit_responses(
            y[None], model.offset, design.rows.index, design.rows.value, design.rows.spans, design.covariates, T,
            model.code, model.dispersion[1:2], start, n, EXACT,
        )  # fmt: skip
        values.append(likelihood[0])
        if n_iter[0] == n:  # it has not ended before
            np.testing.assert_allclose(c[0], literal[n][0], atol=1e-8 * max(1, np.abs(literal[n][0]).max()))
            np.testing.assert_allclose(likelihood[0] - values[0], literal[n][1] - literal[0][1], atol=1e-7)
    assert (np.diff(values) >= -1e-9).all()
    c, likelihood, n_iter, _ = fit_responses(  # the last step is taken, though nothing is computed there any more
        y[None], model.offset, design.rows.index, design.rows.value, design.rows.spans, design.covariates, T,
        model.code, model.dispersion[1:2], start, 60, 1e-2,
    )  # fmt: skip
    np.testing.assert_allclose(c[0], literal[n_iter[0] + 1][0], atol=1e-8 * max(1, np.abs(c).max()))
    np.testing.assert_allclose(likelihood[0], values[n_iter[0]])
    assert values[-1] > values[0] + 1


def test_a_bad_start_still_climbs(given):
    """Steps are bounded and halved: from far off each of them gains."""
    design, offset, responses = given
    T, y = np.ascontiguousarray(design.null), responses["negative_binomial"][0]
    wanted = by_statsmodels("negative_binomial", y, dense(design) @ T, offset, 0.1).params
    for far in (-12.0, 9.0):
        start = np.full((1, T.shape[1]), 0.0)
        start[0, 0] = far
        values, iterations = [], list(range(0, 40))
        for n in iterations:
            c, likelihood, _, _ = fit_responses(
                y[None], offset, design.rows.index, design.rows.value, design.rows.spans, design.covariates, T,
                NEGATIVE_BINOMIAL, PHI[:1], start, n, EXACT,
            )  # fmt: skip
            values.append(likelihood[0])
        assert (np.diff(values) >= -1e-9 * np.abs(values[-1])).all()
        np.testing.assert_allclose(c[0], wanted, atol=1e-6)


def test_a_constant_is_fitted_alone(given):
    """Without covariates a constant of counts has a way of its own."""
    design, offset, responses = given
    alone = make_design(design.rows, None, np.ones((design.rows.n_columns, 1)), np.eye(design.rows.n_columns), 3.0)
    Y, model = responses["negative_binomial"], model_of("negative_binomial", offset)
    c, _, _, _ = model.fit(slice(0, 3), Y, alone, np.ascontiguousarray(alone.null), tol=EXACT)
    for j in range(3):
        wanted = by_statsmodels("negative_binomial", Y[j], np.ones((N, 1)), offset, PHI[j]).params
        np.testing.assert_allclose(c[j], wanted, atol=1e-6)


def test_a_region_without_counts_ends(given):
    """The likelihood has no maximum there, but a limit."""
    design, offset, responses = given
    Y, model = responses["negative_binomial"].copy(), model_of("negative_binomial", offset)
    branch = design.rows.value[:, 0] > 0.5
    Y[:, branch] = 0
    Y[2] = 0
    T = design.whole()
    c, likelihood, n_iter, curvature = model.fit(slice(0, 3), Y, design, T, tol=1e-6)
    assert n_iter.max() < 60
    for values in (c, likelihood, curvature):
        assert np.isfinite(values).all()
    better = model.fit(slice(0, 3), Y, design, T, tol=1e-9)[1]
    assert (better - likelihood < 1e-4).all()
    assert abs(likelihood[2]) < 1e-5  # all zero: means go to 0, and the likelihood with them
    sure = np.tile((np.arange(N) < 200).astype(float), (3, 1))
    c, likelihood, _, _ = model_of("binomial", offset).fit(slice(0, 3), sure, design, T, tol=1e-6)
    assert np.isfinite(c).all()
    assert np.isfinite(likelihood).all()


def test_unknown_values_are_rows_left_out(given):
    design, offset, responses = given
    known = np.random.default_rng(2).random(N) < 0.7
    T = design.whole()
    for family in ("gaussian", "binomial"):
        model, Y = model_of(family, offset), np.where(known, responses[family], np.nan)
        c, likelihood, _, curvature = model.fit(slice(0, 3), Y, design, T, tol=EXACT)
        X = dense(design)[known]
        for j in range(3):
            wanted = by_statsmodels(family, Y[j, known], X, offset, 0.0)
            np.testing.assert_allclose(X @ T @ c[j], X @ wanted.params, atol=1e-6)
        part = make_design(design.rows.part(known), None, design.null[:-2, :1], np.eye(design.rows.n_columns), 3.0)
        part = type(design)(part.rows, design.covariates[known], design.null, design.tested, design.weights)
        fewer = Model(family, np.zeros(known.sum()), np.zeros(3))
        again = fewer.fit(slice(0, 3), np.ascontiguousarray(Y[:, known]), part, T, tol=EXACT)
        np.testing.assert_allclose(again[1], likelihood, rtol=1e-9)
        np.testing.assert_allclose(again[3], curvature, rtol=1e-7, atol=1e-7)


def test_tiny_dispersions_are_those_of_poisson(given):
    design, offset, responses = given
    T, Y = design.whole(), responses["negative_binomial"][:1]
    X = dense(design) @ T
    wanted = sm.GLM(Y[0], X, family=sm.families.Poisson(), offset=offset).fit(tol=1e-14, tol_criterion="params")
    for phi in (1e-12, 1e-9, 1e-6):
        c = Model("negative_binomial", offset, np.array([phi])).fit(slice(0, 1), Y, design, T, tol=EXACT)[0]
        np.testing.assert_allclose(X @ c[0], X @ wanted.params, atol=max(1e-6, 1e3 * phi))
    either = [
        Model("negative_binomial", offset, np.array([phi])).fit(slice(0, 1), Y, design, T, tol=EXACT)
        for phi in (0.99999e-4, 1.00001e-4)  # the logarithms are taken in two ways
    ]
    np.testing.assert_allclose(either[0][1], either[1][1], rtol=1e-7)
    np.testing.assert_allclose(either[0][0], either[1][0], atol=1e-6)


def test_columns_that_others_span_are_left_out(given):
    """The same column twice: fitted values as with it once, and no error of what cannot be told."""
    design, offset, responses = given
    twice = np.hstack([design.covariates, design.covariates[:, :1]])
    both = make_design(design.rows, twice, design.null[:-2, :1], np.eye(design.rows.n_columns), 3.0)
    T = both.whole()
    assert T.shape[1] == design.n_coefficients
    model, Y = model_of("negative_binomial", offset), responses["negative_binomial"]
    c = model.fit(slice(0, 3), Y, both, T, tol=EXACT)[0]
    once = model.fit(slice(0, 3), Y, design, design.whole(), tol=EXACT)[0]
    np.testing.assert_allclose(c @ (dense(both) @ T).T, once @ (dense(design) @ design.whole()).T, atol=1e-6)
    everything = np.eye(both.n_coefficients)  # without taking the span first
    c, _, n_iter, curvature = model.fit(slice(0, 3), Y, both, everything, tol=EXACT)
    assert n_iter.max() < 40
    np.testing.assert_allclose(c @ dense(both).T, once @ (dense(design) @ design.whole()).T, atol=1e-6)
    assert contrast_errors(curvature, everything, everything[-1:]).max() == 0


def test_covariates_of_any_unit_leave_curves_alone(given):
    design, offset, responses = given
    model, Y = model_of("negative_binomial", offset), responses["negative_binomial"]
    fitted = []
    for unit in (1.0, 1e9, 1e-9):
        C = 5 * unit + unit * design.covariates
        same = make_design(design.rows, C, np.ones((design.rows.n_columns, 1)), np.eye(design.rows.n_columns), 3.0)
        T = same.whole()
        c = model.fit(slice(0, 3), Y, same, T, tol=EXACT)[0]
        fitted.append(c @ (dense(same) @ T).T)
    np.testing.assert_allclose(fitted[1], fitted[0], atol=1e-6)
    np.testing.assert_allclose(fitted[2], fitted[0], atol=1e-6)
    with_constant = make_design(
        design.rows, np.full((N, 1), 0.3), np.ones((design.rows.n_columns, 1)), np.eye(design.rows.n_columns), 3.0
    )
    assert not with_constant.covariates.any()
    assert with_constant.whole().shape[1] == design.rows.n_columns


def test_sparse_columns_become_rows():
    rng = np.random.default_rng(3)
    X = sparse.random(30, 12, 0.3, random_state=rng, format="csc")
    place = np.full(30, -1)
    rows = rng.permutation(30)[:20]
    place[rows] = np.arange(20)
    block = scatter(X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data, place, 20)
    np.testing.assert_array_equal(block, X.toarray()[rows].T)
