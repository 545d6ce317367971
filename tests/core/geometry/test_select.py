"""Keys in order, or those that would come first if all were."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core._geometry.select import select, sort


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


@pytest.mark.parametrize("n", [0, 1, 2, 5, 60, 300])
def test_the_first_are_sorted_with_what_goes_with_them(n):
    rng = np.random.default_rng(n)
    keys = rng.permutation(n + 3)
    alone, beside, values = keys.copy(), keys.copy(), -keys.astype(float)
    sort(alone, None, n)
    sort(beside, values, n)
    np.testing.assert_array_equal(alone, np.r_[np.sort(keys[:n]), keys[n:]])
    np.testing.assert_array_equal(alone, beside)
    np.testing.assert_array_equal(values, -beside)
