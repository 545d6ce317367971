"""Benjamini and Hochberg's procedure as printed."""

from __future__ import annotations

import numpy as np
from scipy import stats

from skeltraj.core._groups.benjamini_hochberg import benjamini_hochberg


def test_benjamini_hochberg_as_printed():
    rng = np.random.default_rng(0)
    for p in (rng.random(40) ** 3, np.array([0.02]), np.repeat(0.3, 5), np.array([1.0, 0.001, 0.01, 0.01])):
        p = p.copy()
        q = benjamini_hochberg(p)
        for level in np.r_[0.001, 0.01, 0.05, 0.2, 0.5, q]:
            ranked = np.sort(p)
            passing = [k for k in range(len(p)) if ranked[k] <= level * (k + 1) / len(p) + 1e-15]
            rejected = p <= ranked[passing[-1]] if passing else np.zeros(len(p), dtype=bool)
            np.testing.assert_array_equal(q <= level + 1e-15, rejected)
        np.testing.assert_allclose(q, stats.false_discovery_control(p))
        np.testing.assert_array_equal(benjamini_hochberg(p[:, None]), q[:, None])
