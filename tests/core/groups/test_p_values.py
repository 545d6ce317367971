"""Several tests at once: Benjamini and Hochberg's procedure as printed."""

from __future__ import annotations

import numpy as np

from skeltraj.core._groups.p_values import adjusted, as_far, p_value


def test_adjusted_reject_what_the_procedure_as_printed_does():
    rng = np.random.default_rng(0)
    for p in (rng.random(40) ** 3, np.array([0.02]), np.repeat(0.3, 5), np.array([1.0, 0.001, 0.01, 0.01])):
        p_given = p.copy()
        q = adjusted(p)
        np.testing.assert_array_equal(p, p_given)
        for level in np.r_[0.001, 0.01, 0.05, 0.2, 0.5, q]:
            ranked = np.sort(p)
            passing = [k for k in range(len(p)) if ranked[k] <= level * (k + 1) / len(p) + 1e-15]
            rejected = p <= ranked[passing[-1]] if passing else np.zeros(len(p), dtype=bool)
            np.testing.assert_array_equal(q <= level + 1e-15, rejected)


def test_all_p_values_of_a_table_are_adjusted_together():
    p = np.random.default_rng(1).random((6, 4))
    np.testing.assert_array_equal(adjusted(p), adjusted(p.ravel()).reshape(6, 4))
    np.testing.assert_array_equal(adjusted(p[:, :1])[:, 0], adjusted(p[:, 0]))
    assert adjusted(np.empty(0)).shape == (0,)
    np.testing.assert_array_equal(adjusted(np.full((2, 3), np.nan)), np.full((2, 3), np.nan))


def test_p_values_count_the_observed_arrangement_too():
    np.testing.assert_allclose(p_value(np.array([0, 4, 19]), 19), [0.05, 0.25, 1.0])


def test_hits_are_as_far_from_zero_up_to_rounding():
    values = np.array([1.0, -1.0, 1 - 1e-12, 1 - 1e-6, 1.1, 0.0])
    np.testing.assert_array_equal(as_far(values, np.array(1.0)), [True, True, True, False, True, False])
    assert as_far(np.array(0.0), np.array(1e-13))  # what is zero but for rounding
    assert not as_far(np.array(0.0), np.array(1e-11))
