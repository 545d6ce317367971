"""Events that are put on other rows come to each in proportion to its weight."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core._curves import score_kernels
from skeltraj.core._curves.score_kernels import _resampled


@pytest.mark.parametrize(
    "weight", [[1.0, 2.0, 5.0, 2.0], [3.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 9.0], [1e-9, 1e-9, 1.0, 1.0]]
)
def test_every_row_is_drawn_as_often_as_its_weight_says(weight):
    weight, n_draws = np.array(weight), 40_000
    n = len(weight)
    # no columns of curves, and one of covariates, which names the row: the statistic of one event is its square
    index, value = np.zeros((n, 4), dtype=np.int64), np.zeros((n, 4))
    names = np.arange(1.0, n + 1)[:, None]
    half = np.array([[0.0, 1.0]])
    statistics = _resampled(np.ones(1), 1, weight, index, value, names, half, 3, n_draws)
    drawn = np.bincount(np.sqrt(statistics).round().astype(int) - 1, minlength=n) / n_draws
    share = weight / weight.sum()
    assert (np.abs(drawn - share) <= 4 * np.sqrt(share * (1 - share) / n_draws) + 1 / n_draws).all()


def test_events_add_up_by_their_strengths():
    n = 5
    index, value = np.tile(np.arange(4), (n, 1)), np.tile([[1.0, 0.5, 0.0, 2.0]], (n, 1))
    half = np.array([[1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 0.0, 1.0]])
    strength = np.array([3.0, 2.0, 1.0])
    rows = half @ value[0]  # the same for all rows, so that each draw gives the same
    statistics = _resampled(strength, 2, np.ones(n), index, value, np.zeros((n, 0)), half, 0, 7)
    np.testing.assert_allclose(statistics, np.sum((5.0 * rows) ** 2))


@pytest.mark.parametrize("knot", [[1 / 6, 4 / 6, 1 / 6, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
def test_rounding_changes_no_draw_for_points_at_a_knot(knot):
    y, index = np.ones(3), np.tile(np.arange(4), (3, 1))
    seeds = set()
    for error in (-1e-13, -2e-16, 0.0, 2e-16, 1e-13):
        value = np.tile(np.array(knot) * (1 + error), (3, 1))
        seeds.add(int(score_kernels._events(y, y, index, value, 0.1, np.zeros(3))[1]))
    assert len(seeds) == 1
