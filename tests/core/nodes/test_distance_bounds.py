from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core._geometry.assign import nearest_nodes
from skeltraj.core._nodes import distance_bounds
from skeltraj.core._nodes.distance_bounds import DistanceBounds, set_bounds
from skeltraj.core._nodes.kmeans import seed_nodes

N, D, K = 700, 9, 40


def cloud(kind):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((N, D))
    if kind == "on a grid":
        return np.round(points)
    if kind == "copies":
        return points[rng.integers(0, 60, N)]
    if kind == "far from the origin":
        return points + 1e6
    if kind == "some far out":
        return points * np.exp(8 * rng.standard_normal((N, 1)))
    return {"small": 1e-100, "large": 1e100}.get(kind, 1.0) * points


KINDS = ["usual", "on a grid", "copies", "far from the origin", "some far out", "small", "large"]


def with_bounds_of(points, nodes):
    """Bounds that hold for these nodes, and the nearest of them."""
    bounds = DistanceBounds.of(points, len(nodes))
    for k, node in enumerate(nodes):
        set_bounds(((points - node) ** 2).sum(axis=1), bounds.unit, bounds.lower[k])
    return bounds, nearest_nodes(points, nodes)[0]


@pytest.mark.parametrize("at_once", [7, 2500])
@pytest.mark.parametrize("kind", KINDS)
def test_the_nearest_are_those_of_a_scan_and_no_bound_is_above_its_distance(kind, at_once, monkeypatch):
    monkeypatch.setattr(distance_bounds, "_POINTS_AT_ONCE", at_once)
    points, rng = cloud(kind), np.random.default_rng(1)
    nodes = points[rng.permutation(N)[:K]].copy()
    bounds, nearest = with_bounds_of(points, nodes)
    spread = points.std(axis=0)
    for step in (0, 1e-9, 0.01, 0.3, 3, 0.01):  # how far nodes move; every third of them stays
        moves = step * spread * rng.standard_normal((K, D)) * (np.arange(K) % 3 > 0)[:, None]
        nodes = nodes + moves
        nearest = bounds.nearest(nodes, nearest, np.sqrt((moves**2).sum(axis=1)))
        np.testing.assert_array_equal(nearest, nearest_nodes(points, nodes)[0])
        distance = np.sqrt(((points - nodes[:, None]) ** 2).sum(axis=2))
        assert (bounds.lower <= bounds.unit * distance).all()


def test_few_distances_are_computed_again():
    """A bound that is computed again is as it was; the others shrink a little for rounding."""
    points, rng = cloud("usual"), np.random.default_rng(1)
    nodes = points[rng.permutation(N)[:K]].copy()
    bounds, nearest = with_bounds_of(points, nodes)
    before = bounds.lower.copy()
    bounds.nearest(nodes, nearest, np.zeros(K))
    assert (bounds.lower[nearest, np.arange(N)] == before[nearest, np.arange(N)]).all()
    assert (bounds.lower == before).mean() < 2 / K


@pytest.mark.parametrize("kind", KINDS)
def test_k_means_comes_to_the_same_without_them(kind, monkeypatch):
    points = cloud(kind)
    points = points[np.lexsort(points.T[::-1])]
    with_bounds = seed_nodes(points, K, np.random.default_rng(0))
    monkeypatch.setattr(distance_bounds, "_MOST", 0)
    np.testing.assert_array_equal(with_bounds, seed_nodes(points, K, np.random.default_rng(0)))


def test_there_are_none_where_they_do_not_pay_or_might_not_hold(monkeypatch):
    points = cloud("usual")
    assert DistanceBounds.of(points, K) is not None
    assert DistanceBounds.of(points[:, :5], K) is None
    assert DistanceBounds.of(np.ones((N, D)), K) is None  # one place
    assert DistanceBounds.of(1e-120 * points, K) is None  # squares lose digits
    assert DistanceBounds.of(1e152 * points, K) is None
    monkeypatch.setattr(distance_bounds, "_MOST", N * K - 1)
    assert DistanceBounds.of(points, K) is None
