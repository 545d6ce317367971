"""Directions in which curves differ."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core._curves.design import directions


@pytest.mark.parametrize("n_null", [0, 1, 4])
def test_directions_are_uncorrelated_and_apart_from_the_null_space(n_null):
    rng = np.random.default_rng(n_null)
    rows = rng.normal(size=(60, 4))
    gram, roughness = rows.T @ rows / 60, np.diag([4.0, 3.0, 2.0, 1.0])
    null = rng.normal(size=(4, n_null))
    T, rough = directions(gram, roughness, null)
    assert T.shape == (4, 4 - n_null)
    np.testing.assert_allclose(T.T @ gram @ T, np.eye(4 - n_null), atol=1e-10)
    np.testing.assert_allclose(T.T @ gram @ null, 0, atol=1e-10)
    np.testing.assert_allclose(T.T @ roughness @ T, np.diag(rough), atol=1e-10)
    assert (np.diff(rough) >= 0).all()
