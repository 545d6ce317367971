"""Names beside their points: apart from one another, and from the points."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt

from skeltraj.pl._drawing.label_places import label_places, name_sizes


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("scale", [0.0, 0.01, 0.1, 0.5])
def test_places_of_names_keep_apart(seed, scale):
    rng = np.random.default_rng(seed)
    centers = (scale * rng.standard_normal((2 + seed, 2))).clip(-1, 1)
    names = ["a name", "basal", "two\nlines", "x"] * 3
    names = names[: len(centers)]
    _, ax = plt.subplots()
    ax.scatter([-1, 1], [-1, 1])
    ax.margins(0.1)
    places = label_places(ax, centers, names, size=10.5)
    np.testing.assert_array_equal(label_places(ax, centers, names, size=10.5), places)
    sizes = name_sizes(ax, names, 10.5)
    marks = ax.transAxes.inverted().transform(ax.transData.transform(centers))
    gap = np.abs(places[:, None] - places)
    gap[np.diag_indices(len(gap))] = np.inf
    assert (gap / ((sizes[:, None] + sizes) / 2)).max(axis=2).min() >= 1 - 1e-9
    assert (np.abs(places[:, None] - marks) / (sizes[:, None] / 2)).max(axis=2).min() >= 1
    assert (places - sizes / 2).min() >= 0
    assert (places + sizes / 2).max() <= 1
    assert np.linalg.norm(places - marks, axis=1).max() < 0.45  # and near what they name


def test_names_leave_other_points_free_where_they_can():
    names = [f"gene {i}" for i in range(8)]
    without = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        points = rng.standard_normal((150, 2))
        _, ax = plt.subplots()
        ax.scatter(*points.T)

        def covered(places, ax=ax, points=points):
            marks = ax.transAxes.inverted().transform(ax.transData.transform(points))
            inside = np.abs(places[:, None] - marks) < name_sizes(ax, names, 7.5)[:, None] / 2
            return int(inside.all(axis=2).sum())

        without += covered(label_places(ax, points[:8], names, size=7.5))
        assert covered(label_places(ax, points[:8], names, size=7.5, others=points)) == 0
    assert without > 0


def test_where_marks_are_everywhere_names_keep_off_one_another_and_what_they_name():
    points = np.random.default_rng(0).uniform(0.2, 0.8, (6, 2))
    names = [f"gene {i}" for i in range(6)]
    _, ax = plt.subplots()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    everywhere = np.stack(np.meshgrid(np.linspace(0, 1, 15), np.linspace(0, 1, 25)), axis=-1).reshape(-1, 2)
    places = label_places(ax, points, names, size=7.5, others=everywhere)
    np.testing.assert_array_equal(places, label_places(ax, points, names, size=7.5))
