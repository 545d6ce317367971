"""Exponentials by vector instructions, against numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core._geometry.exponential import exponentials


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e-3, 0.37, 1.0, 1e300])
@pytest.mark.parametrize("n", [0, 1, 7, 1024, 3001])
def test_the_last_digit_or_its_neighbour(n, scale):
    rng = np.random.default_rng(n)
    values = scale * rng.choice([1e-9, 1.0, 37.0, 700.0], n) * rng.random(n)
    with np.errstate(over="ignore"):  # numpy 1.26 sets that flag where it divides by numbers below the normal ones
        wanted = np.exp(-(values / scale))
    exponentials(values, scale)
    assert (np.abs(values - wanted) <= np.spacing(wanted)).all()


def test_at_zero_and_between_powers_of_two():
    values = np.array([0.0, np.log(2) / 2, np.log(2), 37.0, 700.0])
    wanted = np.exp(-values)
    exponentials(values, 1.0)
    assert values[0] == 1.0
    assert (np.abs(values - wanted) <= np.spacing(wanted)).all()
