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
