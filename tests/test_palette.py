"""Colours of groups stay apart for readers with any colour vision."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from skeltraj._palette import MIN_CONTRAST, contrast, palette, palette_beside

# Complete loss of one kind of cones, on linear RGB: Machado, Oliveira and Fernandes, A physiologically-based model for
# simulation of color vision deficiency, IEEE TVCG 15 (2009), severity 1.
VISION = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
# Distance in CIELAB. One of 2.3 is just noticed between large fields side by side; small marks, apart, want several
# times that (Stone, Szafir and Setlur 2014: 5 to 10 for marks of a few pixels).
LEAST = 15.0
SRGB_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def lab(color, vision):
    """CIELAB (D65) of a colour as seen with a kind of vision."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = SRGB_TO_XYZ @ np.clip(VISION[vision] @ linear, 0, 1) / SRGB_TO_XYZ.sum(axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def nearest(colors, vision):
    seen = [lab(color, vision) for color in colors]
    return min(np.linalg.norm(a - b) for a, b in combinations(seen, 2))


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("n", range(2, 16))
def test_up_to_fifteen_groups_are_told_apart(n, vision):
    assert nearest(palette(n), vision) > LEAST


@pytest.mark.parametrize(("vision", "least"), [("usual", 17), ("protanopia", 9), ("deuteranopia", 9)])
def test_up_to_forty_groups_are_as_far_apart_as_small_marks_want(vision, least):
    assert nearest(palette(40), vision) > least
    assert palette(40)[:9] == palette(9)  # more groups change no colour


def test_none_of_forty_groups_reads_as_missing():
    for color in palette(40):
        assert np.linalg.norm(lab(color, "usual")[1:]) > 20  # off grey


def test_the_measure_sees_what_is_confused():
    assert nearest(["#000000", "#ffffff"], "usual") == pytest.approx(100, abs=1e-3)
    assert nearest(["#d00000", "#4c7a00"], "usual") > 80
    assert nearest(["#a06000", "#607800"], "deuteranopia") < LEAST < nearest(["#a06000", "#607800"], "usual")


@pytest.mark.parametrize("n", [2, 7, 8, 12, 40, 200])
def test_all_stand_out_from_white_and_black(n):
    colors = palette(n)
    assert len(set(colors)) == n
    for color in colors:
        assert contrast(to_rgb(color), (1, 1, 1)) >= MIN_CONTRAST - 0.01
        assert contrast(to_rgb(color), (0, 0, 0)) >= MIN_CONTRAST - 0.01


@pytest.mark.parametrize("n_groups", [2, 5, 8, 15, 40])
def test_colours_beside_others_are_none_of_them(n_groups):
    groups = palette(n_groups)
    for n in (1, 3, 8, 20):
        colors = palette_beside(groups, n)
        assert len(set(colors)) == n
        if n + n_groups <= 18:
            assert not set(colors) & set(groups)
    near = lambda colors: min(np.linalg.norm(np.subtract(to_rgb(a), to_rgb(b))) for a in colors for b in groups)
    if n_groups <= 8:
        assert near(palette_beside(groups, 4)) > 0.15


@pytest.mark.parametrize("n_groups", [2, 4, 8])
def test_lines_beside_groups_are_told_apart(n_groups):
    groups = palette(n_groups)
    for n in range(1, 11):
        colors = [*groups, *palette_beside(groups, n)]
        assert nearest(colors, "usual") > 25
        assert min(nearest(colors, vision) for vision in ("protanopia", "deuteranopia")) > 9
