"""What is read off the data before the first round."""

from __future__ import annotations

import numpy as np
import pytest

from samples import forked
from skeltraj import core
from skeltraj.core._nodes.start import local_dimensions, scale_of


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


def test_the_scale_is_the_median_reach_or_that_of_rows_that_differ():
    rng = np.random.default_rng(0)
    probes = rng.normal(size=(9, 3))[[0, 0, 1, 2, 3, 4, 5, 6, 7, 8]]
    squares = np.sort(rng.uniform(size=(10, 4)), axis=1)
    assert scale_of(squares, probes) == np.median(squares[:, -1])
    few = np.zeros((10, 4))
    few[0, -1] = 2.0  # one probe with few copies
    assert scale_of(few, probes) == 0.2
    apart = ((probes[:, None] - probes) ** 2).sum(axis=2)
    nearest = [min(square for square in row if square > 0) for row in apart]
    np.testing.assert_allclose(scale_of(np.zeros((10, 4)), probes), np.median(nearest), rtol=1e-12)
    near = probes + 1e-13 * rng.normal(size=probes.shape)  # copies but for rounding
    np.testing.assert_allclose(scale_of(np.zeros((10, 4)), near), np.median(nearest), rtol=1e-9)
    assert scale_of(np.zeros((10, 4)), np.ones((10, 3))) == np.finfo(float).tiny


@pytest.mark.compiled("fits of 2,000 rows")
@pytest.mark.parametrize("method", ["ddrtree", "principal_tree"])
def test_many_copies_of_few_rows_leave_a_bandwidth(method):
    """Forty copies of each row: nearest neighbours are copies, whose distance says nothing of the data."""
    few = forked(50, 6, noise=0.05)[0]
    one, many = (getattr(core, method)(X, n_nodes=20) for X in (few, np.repeat(few, 40, axis=0)))
    assert 0.01 < many.params["sigma"] / one.params["sigma"] < 10
    assert len(many.graph.tips) < 10
