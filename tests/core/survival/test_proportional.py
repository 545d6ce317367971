"""The test of proportional hazards: equal to the literal sums over events, and it sees what changes."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import schoenfeld
from skeltraj.core._survival.cox import fit_cox
from skeltraj.core._survival.proportional import proportional_hazards
from skeltraj.core._survival.risk_sets import risk_sets


def fitted(time, event, X):
    risk = risk_sets(time, event)
    fit = fit_cox(risk, X[risk.order])
    return fit, proportional_hazards(risk, X[risk.order], fit)


@pytest.mark.parametrize("tied", [True, False])
def test_equal_to_the_sums_of_residuals_as_published(tied):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((70, 2))
    lasting, observed = rng.exponential(np.exp(-0.6 * X[:, 0])), rng.exponential(2, 70)
    time, event = np.minimum(lasting, observed), lasting <= observed
    time = np.ceil(3 * time) if tied else time
    fit, found = fitted(time, event, X)
    residuals, V, at = schoenfeld(fit.coefficients, time, event, X)
    np.testing.assert_allclose(residuals.sum(axis=0), 0, atol=1e-5)
    # the share that had the event before each time, by Kaplan and Meier
    stays, before = 1.0, {}
    for t in np.unique(time[event]):
        before[t] = 1 - stays
        stays *= 1 - ((time == t) & event).sum() / (time >= t).sum()
    g = np.array([before[t] for t in at])
    score = g @ residuals
    one, g1, g2 = (np.einsum("k,kij->ij", weight, V) for weight in (np.ones(len(g)), g, g**2))
    covariance = g2 - g1 @ np.linalg.inv(one) @ g1
    np.testing.assert_allclose(found.chi2, score**2 / np.diag(covariance), rtol=1e-6)
    chi2, df, p = found.together(np.arange(2))
    assert chi2 == pytest.approx(score @ np.linalg.solve(covariance, score), rel=1e-6)
    assert df == 2
    assert p == pytest.approx(np.exp(-chi2 / 2))  # of two degrees of freedom
    assert found.together(np.array([1]))[0] == pytest.approx(found.chi2[1])


def test_events_at_one_time_tell_no_change():
    rng = np.random.default_rng(2)
    _, found = fitted(np.full(60, 3.0), np.arange(60) % 2 == 0, rng.standard_normal((60, 2)))
    assert np.isnan(found.p_value).all()
    chi2, df, p = found.together(np.arange(2))
    assert df == 2
    assert np.isnan([chi2, p]).all()


def test_a_hazard_ratio_that_wanes_is_seen_with_its_sign():
    rng = np.random.default_rng(1)
    x = np.repeat([0.0, 1.0], 300)
    # the second group has three times the hazard until 1, and a third of it later
    early = rng.exponential(np.where(x > 0, 1 / 3, 1.0))
    time = np.where(early < 1, early, 1 + rng.exponential(np.where(x > 0, 3.0, 1.0)))
    steady = rng.exponential(np.where(x > 0, 1 / 3, 1.0))
    ones = np.ones(600, dtype=bool)
    _, waning = fitted(time, ones, x[:, None])
    _, constant = fitted(steady, ones, x[:, None])
    assert waning.p_value[0] < 1e-5
    assert waning.slope[0] < -1
    assert constant.p_value[0] > 0.05
    assert abs(constant.slope[0]) < 0.5
