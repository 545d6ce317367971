"""Bounds of what a curve says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from skeltraj.core._curves.intervals import _of_shares


@pytest.mark.parametrize("n", [3.0, 40.0])
def test_bounds_of_shares_are_anscombes(n):
    x = np.arange(n + 1)
    lower, upper = _of_shares(x / n, np.full(len(x), n), stats.norm.isf(0.025))
    middle = np.arcsin(np.sqrt((x + 3 / 8) / (n + 3 / 4)))  # Anscombe 1948
    half = stats.norm.isf(0.025) / (2 * np.sqrt(n + 1 / 2))
    np.testing.assert_allclose(lower, np.sin(np.clip(middle - half, 0, None)) ** 2)
    np.testing.assert_allclose(upper, np.sin(np.clip(middle + half, None, np.pi / 2)) ** 2)
    if n == 40:  # the bounds hold the truth about as often as they say
        share = 0.3
        held = (lower <= share) & (share <= upper)
        assert 0.93 < stats.binom.pmf(x, int(n), share)[held].sum() < 0.98
