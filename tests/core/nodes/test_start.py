"""What is read off the data before the first round."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core._nodes.start import local_dimensions


def test_local_dimensions_are_those_in_which_neighbours_differ():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4))
    sort = lambda X: X[np.lexsort(X.T[::-1])]
    assert local_dimensions(sort(X)) == pytest.approx(4, rel=0.1)
    padded = np.hstack([X, np.zeros((3000, 50))])
    assert local_dimensions(sort(padded)) == pytest.approx(local_dimensions(sort(X)), rel=1e-6)
    turn = np.linalg.qr(rng.standard_normal((54, 54)))[0]
    assert local_dimensions(padded @ turn) == pytest.approx(local_dimensions(padded), rel=1e-6)
    line = np.outer(np.linspace(0, 1, 500), rng.standard_normal(6))
    assert local_dimensions(sort(line)) == pytest.approx(1, rel=1e-2)
    assert local_dimensions(np.ones((20, 3))) == 1.0
