"""Lists of near nodes: what they hold, and that a search among them is a scan of all to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from point_sets import SHAPES, coincident
from skeltraj.core._geometry.assign import assigned, nearest_nodes, places_of
from skeltraj.core._geometry.near_nodes import NO_LISTS, near_nodes, near_nodes_of, reach_of


def along_a_curve(n, d, rng, noise=0.0):
    """Points on a line that bends in all dimensions."""
    t = np.sort(rng.random(n))[:, None]
    return np.sin(3 * t + np.arange(d)) + t + noise * rng.standard_normal((n, d))


@pytest.mark.parametrize("d", [1, 2, 3, 20])
@pytest.mark.parametrize(("sigma", "least_weight"), [(1e-5, 0.0), (3e-4, 0.0), (3e-4, 1e-6)])
def test_a_list_holds_what_is_near(d, sigma, least_weight):
    nodes = along_a_curve(120, d, np.random.default_rng(d))
    near = near_nodes(nodes, sigma / d, 2000, least_weight)
    far = 1.6**2 * reach_of(sigma / d, least_weight)
    assert least_weight == 0 or far == pytest.approx(1.6**2 * 6 * np.log(10) * sigma / d)
    for a in range(120):
        part = slice(near.start[a], near.start[a + 1])
        distance = ((nodes - nodes[a]) ** 2).sum(axis=1)
        np.testing.assert_array_equal(near.numbers[part], np.flatnonzero(distance <= far))
        np.testing.assert_array_equal(near.columns[:, part], nodes[near.numbers[part]].T)
        assert near.numbers[part][near.own[a]] == a


@pytest.mark.parametrize("shape", [along_a_curve, *SHAPES])
@pytest.mark.parametrize("d", [1, 2, 3, 20])
def test_lists_change_no_bit(shape, d):
    rng = np.random.default_rng(d)
    nodes = shape(150, d, rng)
    points = np.concatenate([nodes, shape(150, d, rng), nodes + 1e-3, nodes[::-1] + 0.02 * rng.random((150, d))])
    right = np.tile(np.arange(150), 4)[: len(points)]
    used = int(shape is coincident)  # of these all are near all
    for sigma, least_weight in zip(
        (1e-9, 1e-5, 1e-4, 1e-3, 0.03, 1.0, 1e-4, 1e-3), (0,) * 6 + (1e-6, 0.1), strict=True
    ):
        near = near_nodes(nodes, sigma, len(points), least_weight)
        if near is None:
            continue
        used += 1
        places = places_of(nodes, sigma, least_weight)
        wanted = assigned(points, places, None, NO_LISTS, right)
        for hints in (right, rng.integers(0, 150, len(points))):  # good ones and any
            for mine, theirs in zip(assigned(points, places, None, near, hints), wanted, strict=True):
                np.testing.assert_array_equal(mine, theirs)
    numbers, squared = nearest_nodes(points, nodes)
    for distance in (1e-3, 0.03, 0.3):
        near = near_nodes_of(nodes, distance, len(points))
        if near is None:
            continue
        used += 1
        for hints in (right, numbers, rng.integers(0, 150, len(points))):
            mine = nearest_nodes(points, nodes, None, near, hints)
            np.testing.assert_array_equal(mine[0], numbers)
            np.testing.assert_array_equal(mine[1], squared)
    assert used


def test_no_lists_where_they_do_not_pay():
    nodes = along_a_curve(100, 2, np.random.default_rng(0))
    assert near_nodes(nodes, 1e-4, 10_000) is not None
    assert near_nodes(nodes, 1e-4, 200) is None  # few points
    assert near_nodes(nodes, 10.0, 10_000) is None  # all nodes are near
    for sigma in (0.0, 1e-320, 1e308):
        assert near_nodes(nodes, sigma, 10_000) is None
    assert near_nodes_of(nodes, 0.0, 10_000) is None
