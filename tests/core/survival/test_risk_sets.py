"""Who is at risk at each event, counted one by one."""

from __future__ import annotations

import numpy as np

from skeltraj.core._survival.risk_sets import risk_sets


def test_by_hand():
    # two events and an end of observation at 2; the sample at 1 ends before the first event
    time, event = np.array([2.0, 1, 3, 2, 2]), np.array([True, False, True, False, True])
    risk = risk_sets(time, event)
    np.testing.assert_array_equal(time[risk.order], [1, 2, 2, 2, 3])
    np.testing.assert_array_equal(risk.event_time, [2, 2, 3])
    np.testing.assert_array_equal(risk.fraction, [0, 0.5, 0])
    values = np.array([16.0, 1, 8, 4, 2])[risk.order]
    np.testing.assert_array_equal(risk.sums(values), [30, 30 - 9, 8])  # 16 + 2 had the event at 2
    of_sample = np.empty(5)
    of_sample[risk.order] = risk.shares(np.array([1.0, 10, 100]))
    np.testing.assert_array_equal(of_sample, [6, 0, 111, 11, 6])


def test_sums_and_shares_are_each_other_turned_round():
    rng = np.random.default_rng(0)
    time, event = np.ceil(4 * rng.random(60)), rng.random(60) < 0.6
    risk = risk_sets(time, event)
    u, v = rng.random(60), rng.random(risk.n_events)
    np.testing.assert_allclose(v @ risk.sums(u), risk.shares(v) @ u)
    both = risk.sums(np.column_stack([u, u**2]))
    np.testing.assert_allclose(both, np.column_stack([risk.sums(u), risk.sums(u**2)]))
