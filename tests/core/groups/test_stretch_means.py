"""Means and shares in stretches of pseudotime, by hand and as scipy has them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from skeltraj import core


def test_by_hand():
    place, x = np.array([5.0, 1, 2, 3, 4, np.nan, 6]), np.array([7.0, 1, 3, 4, 6, 100, np.nan])
    found = core.stretch_means(x, place, n_bins=2)
    np.testing.assert_array_equal(found.bounds, [1, 3, 5])
    np.testing.assert_array_equal(found.n, [3, 2])
    np.testing.assert_array_equal(found.middle, [2, 4.5])
    np.testing.assert_allclose(found.mean, [8 / 3, 6.5])
    np.testing.assert_allclose(found.sd, [np.std([1, 3, 4], ddof=1), np.sqrt(0.5)])


def test_intervals_are_those_of_student_and_of_wilson():
    rng = np.random.default_rng(0)
    place, x = rng.random(90), rng.normal(3, 2, 90)
    found = core.stretch_means(x, place, n_bins=3, level=0.9)
    yes = (x > 4).astype(float)
    shares = core.stretch_means(yes, place, n_bins=3, share=True, level=0.9)
    for i in range(3):
        inside = (place > found.bounds[i] if i else place >= found.bounds[0]) & (place <= found.bounds[i + 1])
        assert found.n[i] == inside.sum() == 30
        wanted = stats.ttest_1samp(x[inside], 0).confidence_interval(0.9)
        np.testing.assert_allclose([found.low[i], found.high[i]], wanted)
        wanted = stats.binomtest(int(yes[inside].sum()), 30).proportion_ci(0.9, method="wilson")
        np.testing.assert_allclose([shares.low[i], shares.high[i]], wanted)
        assert shares.mean[i] == yes[inside].mean()


def test_any_order_of_cells_gives_the_same_to_the_last_bit():
    rng = np.random.default_rng(1)
    place, x, mixed = rng.random(300).round(2), rng.normal(3, 2, 300), rng.permutation(300)
    one, two = core.stretch_means(x, place), core.stretch_means(x[mixed], place[mixed])
    for name in ("mean", "sd", "low", "high"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_edges():
    all_yes = core.stretch_means(np.ones(4), np.arange(4.0), n_bins=1, share=True)
    assert all_yes.high[0] == 1
    assert all_yes.low[0] == pytest.approx(stats.binomtest(4, 4).proportion_ci(method="wilson").low)
    one = core.stretch_means([3.0], [2.0])
    assert (one.mean[0], one.n[0]) == (3, 1)
    assert np.isnan([one.sd[0], one.low[0], one.high[0]]).all()
    assert core.stretch_means([np.nan, 1.0], [1.0, np.nan]) is None
    together = core.stretch_means(np.arange(6.0), np.repeat([1.0, 2.0], 3), n_bins=5)
    assert len(together.n) == 1  # places up to 1, and those to 2, are one: the lower bound belongs to the first
    assert core.stretch_means(np.arange(6.0), np.ones(6)).n.tolist() == [6]


@pytest.mark.parametrize(
    ("changed", "kind", "message"),
    [
        ({"n_bins": 0}, ValueError, "n_bins=0 is out of range"),
        ({"level": 1.0}, ValueError, "level=1 is out of range; wanted a number between 0 and 1"),
        ({"level": 0}, ValueError, "level=0 is out of range"),
        ({"share": True}, ValueError, "share=True wants values 0 and 1; others were given"),
        (
            {"pseudotime": np.ones(4)},
            ValueError,
            r"pseudotime is of shape \(4,\); wanted one number for each of 3",
        ),
        ({"values": np.ones((3, 1))}, ValueError, r"values is of shape \(3, 1\)"),
    ],
)
def test_errors(changed, kind, message):
    with pytest.raises(kind, match=message):
        core.stretch_means(**(dict(values=[1.0, 2, 3], pseudotime=[1.0, 2, 3]) | changed))
