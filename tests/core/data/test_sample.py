"""The sample from which the nodes start."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from comparing import same_fit
from samples import forked
from skeltraj import core
from skeltraj.core._data.sample import drawn, shuffled


@pytest.mark.compiled("takes minutes")
def test_more_cells_than_the_start_looks_at():
    da = pytest.importorskip("dask.array")
    # the sample from which the nodes start is the same whether it is taken in one piece or block by block
    X = forked(25_000, 4)[0]
    options = dict(n_nodes=30, max_iter=5, tol=0)
    whole = core.ddrtree(X, **options)
    same_fit(core.ddrtree(da.from_array(X, chunks=(4000, 4)), **options), whole)
    shuffled = core.ddrtree(X[np.random.default_rng(0).permutation(len(X))], **options)
    np.testing.assert_array_equal(shuffled.nodes, whole.nodes)
    scaled = core.ddrtree(100 * X, **options)
    np.testing.assert_allclose(scaled.nodes, 100 * whole.nodes, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("center", [0.0, 1e6, 1e8])
def test_rows_far_from_zero_are_drawn_in_whatever_order_they_come(center):
    """So far away that many rows are the same in units of their coordinates, and have the same number."""
    points = center + np.random.default_rng(0).normal(size=(400, 3))
    order = np.random.default_rng(1).permutation(400)
    unit = float(np.sqrt(np.mean(points**2)))
    plain, other = drawn(points, 50, unit), drawn(points[order], 50, unit)
    np.testing.assert_array_equal(np.sort(order[other]), plain)


def test_copies_are_drawn_as_if_rounding_had_left_them_alone():
    points = np.repeat(np.random.default_rng(0).integers(0, 9, (20, 3)).astype(float), 20, axis=0)
    rounded = points * (1 + 1e-15 * np.random.default_rng(1).normal(size=points.shape))
    np.testing.assert_array_equal(drawn(rounded, 50, 1.0), drawn(points, 50, 1.0))


@pytest.mark.parametrize("digits", [1, 12])
@pytest.mark.parametrize("m", [1, 7, 300, 400])
def test_the_first_of_the_rows_in_their_drawn_order(m, digits):
    """As when all are put in order, with many copies among the rows and with none."""
    points = np.round(np.random.default_rng(0).normal(size=(400, 2)), digits)
    for more in ((), (3,)):
        np.testing.assert_array_equal(shuffled(points, m, 1.0, *more), oracles.shuffled(points, 1.0, *more)[:m])
