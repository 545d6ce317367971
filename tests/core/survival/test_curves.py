"""Curves of Kaplan and Meier: worked by hand, as R has them, and equal to statsmodels."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core._survival.curves import curve, log_rank


def test_by_hand():
    found = curve(np.array([3.0, 1, 2, 2, 5]), np.array([True, True, True, False, False]))
    np.testing.assert_array_equal(found.time, [1, 2, 3, 5])
    np.testing.assert_array_equal(found.n_risk, [5, 4, 2, 1])
    np.testing.assert_array_equal(found.n_events, [1, 1, 1, 0])
    np.testing.assert_array_equal(found.n_censored, [0, 1, 0, 1])
    np.testing.assert_allclose(found.survival, [0.8, 0.6, 0.3, 0.3])
    # 1 until 1, .8 until 2, .6 until 3, .3 until 4
    assert found.restricted_mean(4)[0] == pytest.approx(1 + 0.8 + 0.6 + 0.3)
    # areas from each event on, squared, times d / (n (n - d))
    assert found.restricted_mean(4)[1] == pytest.approx(np.sqrt(1.7**2 / 20 + 0.9**2 / 12 + 0.3**2 / 2))
    assert found.restricted_mean(0.5) == (0.5, 0.0)
    with pytest.raises(ValueError, match="horizon=5.000001 is beyond 5, the last"):
        found.restricted_mean(5.000001)
    with pytest.raises(ValueError, match="horizon=7 is beyond 5, the last time of this curve"):
        found.restricted_mean(7)
    ended = curve(np.array([3.0, 1]), np.array([True, True]))
    assert ended.restricted_mean(7)[0] == 2  # nobody is left
    assert found.median()[0] == 3


def test_intervals_as_in_r():
    """The first and last rows of R's survfit(Surv(time, event) ~ 1, conf.type = "log-log") (survival 3.5-3)."""
    time = [2, 4, 5, 1, 3, 4, 1, 1, 4, 10, 11, 1, 9, 5, 5, 1, 7, 4, 1, 1, 8, 8, 3, 5]
    event = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1]
    found = curve(np.array(time, dtype=float), np.array(event, dtype=bool))
    np.testing.assert_allclose(found.survival[[0, 4, 9]], [0.79166666667, 0.29936974790, 0.04989495798])
    np.testing.assert_allclose(found.low[[0, 4, 9]], [0.569846986763, 0.123943839123, 0.003466271896])
    np.testing.assert_allclose(found.high[[0, 4, 9]], [0.9075167588, 0.4982361877, 0.2046402869])
    assert found.median() == (4, 3, 5)
    np.testing.assert_allclose(found.restricted_mean(9), [4.7321428571, 0.5859184356])


def test_statsmodels_finds_the_same():
    survfunc = pytest.importorskip("statsmodels.duration.survfunc")
    rng = np.random.default_rng(0)
    time, event = np.ceil(10 * rng.exponential(size=80)), rng.random(80) < 0.6
    group = rng.integers(0, 4, 80)
    found = curve(time, event)
    theirs = survfunc.SurvfuncRight(time, event.astype(float))
    ended = found.n_events > 0
    np.testing.assert_allclose(found.survival[ended], theirs.surv_prob)
    np.testing.assert_array_equal(found.n_risk[ended], theirs.n_risk)
    chi2, p = survfunc.survdiff(time, event.astype(float), group)
    assert log_rank(time, event, group) == (pytest.approx(chi2), 3, pytest.approx(p))


def test_limits_at_the_ends_of_a_curve():
    all_had_it = curve(np.array([1.0, 2, 3]), np.array([False, True, True]))
    np.testing.assert_allclose(all_had_it.survival, [1, 0.5, 0], atol=1e-15)
    assert (all_had_it.low[0], all_had_it.high[0]) == (1, 1)
    assert all_had_it.low[2] == 0
    assert all_had_it.high[2] == all_had_it.high[1] < 1
    assert all_had_it.median()[0] == 2
    one = curve(np.array([4.0]), np.array([True]))
    assert (one.survival[0], one.low[0], one.high[0]) == (0, 0, 1)
    nobody = curve(np.array([1.0, 2]), np.array([False, False]))
    assert nobody.median() == (np.inf, np.inf, np.inf)
    assert nobody.restricted_mean(2) == (2, 0)


def test_log_rank_by_hand():
    # at risk 2 + 2, then 1 + 2, then 0 + 2 of the groups
    time, event, group = np.array([1.0, 2, 3, 4]), np.array([True, True, True, False]), np.array([0, 0, 1, 1])
    expected, variance = 2 / 4 + 2 / 3 + 1, 4 / 16 + 2 / 9
    assert log_rank(time, event, group)[0] == pytest.approx((1 - expected) ** 2 / variance)
