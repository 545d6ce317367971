"""Which keys would come first if all were sorted."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core._geometry.select import select


@pytest.mark.parametrize("kind", ["any", "few values", "sorted", "up and down"])
def test_it_parts_as_sorting_does(kind):
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 17, 200):
        keys = {
            "any": rng.standard_normal(n),
            "few values": rng.integers(0, 3, n).astype(float),
            "sorted": np.arange(float(n)),
            "up and down": np.minimum(np.arange(n), np.arange(n)[::-1]).astype(float),
        }[kind]
        for middle in {0, n // 2, n - 1}:
            alone, beside, order = keys.copy(), keys.copy(), np.arange(n)
            select(alone, None, 0, n - 1, middle)
            select(beside, order, 0, n - 1, middle)
            np.testing.assert_array_equal(alone, beside)
            np.testing.assert_array_equal(keys[order], beside)
            assert alone[middle] == np.sort(keys)[middle]
            assert alone[:middle].max(initial=-np.inf) <= alone[middle] <= alone[middle:].min()


def test_others_stay_where_they_are():
    keys = np.array([9.0, 5.0, 3.0, 4.0, 0.0])
    select(keys, None, 1, 3, 1)
    assert keys[[0, 1, 4]].tolist() == [9, 3, 0]
