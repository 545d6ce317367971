"""Cox models: equal to the literal likelihood, to statsmodels, and to what follows by hand."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import cox, efron_log_likelihood
from skeltraj.core._survival.cox import concordance, fit_cox, state_at
from skeltraj.core._survival.risk_sets import risk_sets


def cohort(seed, n=60, tied=True):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    lasting, observed = rng.exponential(np.exp(-X @ [0.8, 0, -0.4])), rng.exponential(2, n)
    time = np.minimum(lasting, observed)
    return np.ceil(4 * time) if tied else time, lasting <= observed, X


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_literal_likelihood_is_maximised(seed, tied):
    time, event, X = cohort(seed, tied=tied)
    risk = risk_sets(time, event)
    b = np.array([0.3, -0.2, 0.7])
    for at in (np.zeros(3), b, 5 * b):
        assert state_at(risk, X[risk.order], at).value == pytest.approx(efron_log_likelihood(at, time, event, X))
    fit = fit_cox(risk, X[risk.order])
    wanted, covariance = cox(time, event, X)
    np.testing.assert_allclose(fit.coefficients, wanted, atol=2e-5)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=2e-4, atol=1e-6)
    assert fit.log_likelihood >= efron_log_likelihood(wanted, time, event, X) - 1e-10
    assert not fit.runs_away.any()


@pytest.mark.parametrize("tied", [True, False])
def test_statsmodels_finds_the_same(tied):
    hazard_regression = pytest.importorskip("statsmodels.duration.hazard_regression")
    time, event, X = cohort(2, n=150, tied=tied)
    risk = risk_sets(time, event)
    fit = fit_cox(risk, X[risk.order])
    theirs = hazard_regression.PHReg(time, X, status=event.astype(float), ties="efron").fit()
    np.testing.assert_allclose(fit.coefficients, theirs.params, rtol=1e-6)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.covariance)), theirs.bse, rtol=1e-6)
    assert fit.log_likelihood == pytest.approx(theirs.llf)


def test_two_groups_by_hand():
    # at risk 2 + 2, then 1 + 2, then 1 + 1, of groups 1 and 0: events of groups 1, 0, 1, 0
    time, x = np.array([1.0, 2, 3, 4]), np.array([[1.0], [0], [1], [0]])
    fit = fit_cox(risk_sets(time, np.ones(4, dtype=bool)), x)
    h = np.exp(fit.coefficients[0])
    assert 2 - 2 * h / (2 * h + 2) - h / (h + 2) - h / (h + 1) == pytest.approx(0, abs=1e-6)  # the score
    assert fit.log_likelihood == pytest.approx(2 * np.log(h) - np.log(2 * h + 2) - np.log(h + 2) - np.log(h + 1))


def test_without_columns_there_is_the_likelihood_alone():
    time, event, X = cohort(0)
    fit = fit_cox(risk_sets(time, event), np.empty((60, 0)))
    assert fit.coefficients.shape == (0,)
    assert fit.log_likelihood == pytest.approx(efron_log_likelihood(np.zeros(3), time, event, X))


def test_any_order_of_samples_and_any_unit_of_time_give_the_same():
    time, event, X = cohort(3)
    risk = risk_sets(time, event)
    first = fit_cox(risk, X[risk.order])
    shuffled = np.random.default_rng(0).permutation(60)
    risk = risk_sets(30 * time[shuffled], event[shuffled])
    again = fit_cox(risk, X[shuffled][risk.order])
    np.testing.assert_allclose(again.coefficients, first.coefficients, rtol=1e-9)
    assert again.log_likelihood == pytest.approx(first.log_likelihood)


def test_a_coefficient_without_a_finite_maximum_is_seen():
    time, event, X = cohort(4, n=80)
    never = np.zeros(80)
    never[np.flatnonzero(~event)[:12]] = 1  # a group without an event
    for column in (never, np.where(never > 0, 0.0, 1.0)):
        risk = risk_sets(time, event)
        both = np.column_stack([X[:, 0], column])[risk.order]
        np.testing.assert_array_equal(fit_cox(risk, both).runs_away, [False, True])
    # and one that is only large: 20 of 21 events before any of the others
    time = np.r_[np.arange(1.0, 31), 5.5, np.arange(40.0, 69)]
    x = np.r_[np.ones(30), np.zeros(30)][:, None]
    fit = fit_cox(risk_sets(time, np.ones(60, dtype=bool)), x[np.argsort(time)])
    assert fit.coefficients[0] > 2
    assert not fit.runs_away.any()


def test_steps_that_go_too_far_are_taken_back():
    time, event, X = cohort(5)
    X = 1e4 * X  # for these units steps are far too long
    risk = risk_sets(time, event)
    assert state_at(risk, X[risk.order], np.array([1.0, 0, 0])).value == -np.inf
    X[event & (time == time[event].min()), 0] = 1e6  # an outlier
    fit = fit_cox(risk, X[risk.order])
    np.testing.assert_allclose(fit.coefficients, 1e-4 * fit_cox(risk, 1e-4 * X[risk.order]).coefficients, rtol=1e-6)
    assert np.isfinite(fit.log_likelihood)


@pytest.mark.parametrize("tied", [True, False])
def test_concordance_counts_pairs(tied):
    time, event, X = cohort(6, n=40, tied=tied)
    linear = np.round(X[:, 0], 1)  # some hazards are equal
    known = right = 0.0
    for i in range(40):
        for j in range(40):
            if event[i] and (time[i] < time[j] or (time[i] == time[j] and not event[j])):
                known += 1
                right += 1.0 if linear[i] > linear[j] else 0.5 * (linear[i] == linear[j])
    risk = risk_sets(time, event)
    assert concordance(risk, linear[risk.order], time[risk.order]) == right / known
    assert concordance(risk, np.zeros(40), time[risk.order]) == 0.5
    alone = risk_sets(np.array([3.0]), np.array([True]))
    assert np.isnan(concordance(alone, np.zeros(1), np.array([3.0])))


def test_equal_samples_have_equal_hazards_in_the_concordance():
    """Whatever rounding says of them, which depends on where they stand."""
    rng = np.random.default_rng(0)
    time, event = np.sort(rng.exponential(1, 80)), rng.random(80) < 0.7
    linear = rng.integers(0, 4, 80) * 0.37
    risk = risk_sets(time, event)
    wanted = concordance(risk, linear, time)
    for _ in range(5):
        assert concordance(risk, linear + rng.normal(0, 1e-15, 80), time) == wanted
