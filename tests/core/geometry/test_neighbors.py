from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core._geometry.neighbors import PointTree, k_nearest, k_smallest, pairs_of


def squared_distances(places, points):
    """One after another, each summed from the first coordinate to the last."""
    out = np.empty((len(places), len(points)))
    for i, place in enumerate(places):
        for j, point in enumerate(points):
            total = 0.0
            for a, b in zip(place, point, strict=True):
                total += (a - b) * (a - b)
            out[i, j] = total
    return out


def brute(places, points, k):
    squared = squared_distances(places, points)
    numbers = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return numbers, np.take_along_axis(squared, numbers, axis=1)


@pytest.mark.compiled("the last bit is that of compiled sums")
@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("d", [1, 2, 7, 40])
def test_nearest_are_those_of_a_scan_to_the_last_bit(d, offset):
    rng = np.random.default_rng(d)
    places, points = rng.standard_normal((30, d)) + offset, rng.standard_normal((90, d)) + offset
    nearest = k_nearest(places, points, 6)
    numbers, squared = brute(places, points, 6)
    np.testing.assert_array_equal(nearest.numbers, numbers)
    np.testing.assert_array_equal(nearest.squared, squared)


@pytest.mark.compiled("the last bit is that of compiled sums")
@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_size_does_not_matter(scale):
    """Lower bounds are kept in float32, which has no squares of such numbers."""
    rng = np.random.default_rng(4)
    places, points = rng.standard_normal((10, 6)), rng.standard_normal((400, 6))
    nearest = k_nearest(scale * places, scale * points, 5)
    np.testing.assert_array_equal(nearest.numbers, brute(places, points, 5)[0])
    np.testing.assert_array_equal(nearest.squared, brute(scale * places, scale * points, 5)[1])


@pytest.mark.parametrize("d", [8, 130])
def test_distances_that_differ_in_their_last_digits(d):
    """All points are about as far, by less than float32 can tell."""
    rng = np.random.default_rng(d)
    points = rng.standard_normal((300, d))
    points *= (1 + 1e-9 * rng.standard_normal((300, 1))) / np.linalg.norm(points, axis=1, keepdims=True)
    numbers, squared = brute(np.zeros((1, d)), points, 7)
    nearest = k_nearest(np.zeros((1, d)), points, 7)
    np.testing.assert_array_equal(nearest.numbers, numbers)
    np.testing.assert_array_equal(nearest.squared, squared)


def test_one_far_point_does_not_change_which_others_are_near():
    rng = np.random.default_rng(0)
    points = np.vstack([rng.standard_normal((80, 5)), np.full((1, 5), 1e12)])
    numbers, squared = brute(points, points, 4)
    nearest = k_nearest(points, points, 4)
    np.testing.assert_array_equal(nearest.numbers, numbers)
    np.testing.assert_array_equal(nearest.squared, squared)


def test_of_equally_near_points_the_first_and_all_are_told():
    rng = np.random.default_rng(1)
    points = rng.integers(0, 3, (200, 4)).astype(float)
    places = points[:50]
    k = 9
    numbers, squared = brute(places, points, k)
    nearest = k_nearest(places, points, k)
    np.testing.assert_array_equal(nearest.numbers, numbers)
    everything = squared_distances(places, points)
    some_left_out = 0
    for i in range(len(places)):
        tied = nearest.tied[nearest.tied_start[i] : nearest.tied_start[i + 1]]
        as_far = np.flatnonzero(everything[i] == squared[i, -1])
        if (everything[i] <= squared[i, -1]).sum() > k:
            np.testing.assert_array_equal(tied, as_far)
            some_left_out += 1
        else:
            assert len(tied) == 0
    assert 0 < some_left_out


@pytest.mark.parametrize("tie", [0.0, 1e-6])
@pytest.mark.parametrize("k", [3, 16])
def test_of_many_points_those_that_are_equally_near_are_told_as_well(k, tie):
    """Of so many that more than k + 1 are looked at before it is known which are nearest."""
    points = np.random.default_rng(0).integers(0, 4, (600, 3)).astype(float)
    places = points[:80]
    everything = ((places[:, None] - points) ** 2).sum(axis=2)
    last = np.sort(everything, axis=1)[:, k - 1]
    nearest = k_nearest(places, points, k, tie=tie)
    some_left_out = 0
    for i, squared in enumerate(everything):
        left_out = (squared <= last[i]).sum() > k
        as_far = np.flatnonzero(squared == last[i]) if left_out else []
        np.testing.assert_array_equal(nearest.tied[nearest.tied_start[i] : nearest.tied_start[i + 1]], as_far)
        some_left_out += left_out
    assert 0 < some_left_out


def test_ties_may_be_rounded():
    points = np.array([[1.0], [2.0], [-2.0 * (1 + 1e-9)], [2.0 * (1 + 1e-9)], [2.1], [5.0]])
    assert len(k_nearest(np.zeros((1, 1)), points, 2).tied) == 0
    np.testing.assert_array_equal(k_nearest(np.zeros((1, 1)), points, 2, tie=1e-6).tied, [1, 2, 3])


def test_fewer_points_than_wanted():
    nearest = k_nearest(np.zeros((2, 1)), np.array([[2.0], [1.0]]), 3)
    np.testing.assert_array_equal(nearest.numbers, [[1, 0, -1]] * 2)
    np.testing.assert_array_equal(nearest.squared, [[1.0, 4.0, np.inf]] * 2)


def test_places_taken_some_at_a_time_give_the_same(monkeypatch):
    rng = np.random.default_rng(2)
    places, points = rng.integers(0, 3, (40, 3)).astype(float), rng.integers(0, 3, (60, 3)).astype(float)
    whole = k_nearest(places, points, 5)
    monkeypatch.setattr("skeltraj.core._geometry.neighbors._MAX_PRODUCTS", 7 * 60)
    for name, values in k_nearest(places, points, 5)._asdict().items():
        np.testing.assert_array_equal(values, getattr(whole, name))


def test_tree_of_points_finds_what_a_scan_does():
    rng = np.random.default_rng(3)
    places, points = rng.standard_normal((40, 3)), rng.standard_normal((70, 3))
    numbers, squared = brute(places, points, 4)
    tree = PointTree(points)
    nearest, distances = tree.nearest(places, 4)
    np.testing.assert_array_equal(nearest, numbers)
    np.testing.assert_allclose(distances, np.sqrt(squared), rtol=1e-12)
    limit = float(np.median(np.sqrt(squared[:, 0])))
    nearest, distances = tree.nearest(places, within=limit)
    np.testing.assert_array_equal(nearest, np.where(np.sqrt(squared[:, 0]) < limit, numbers[:, 0], -1))
    assert np.isinf(distances[nearest < 0]).all()


def test_a_pair_stands_once_whoever_is_whose_neighbour():
    pairs = pairs_of(np.array([[1, 2], [0, 2], [3, 1], [2, 0]]))
    np.testing.assert_array_equal(pairs, [[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]])


def test_smallest_of_each_row():
    values = np.array([[3.0, 1.0, 2.0, 1.0, 9.0], [0.0, 5.0, 4.0, 4.0, 1.0], [np.inf, 2.0, np.inf, np.inf, np.inf]])
    np.testing.assert_array_equal(k_smallest(values, 3), [[1, 3, 2], [0, 4, 2], [1, 0, 2]])


def test_no_points_and_no_places():
    nearest = k_nearest(np.zeros((2, 3)), np.zeros((0, 3)), 4)
    np.testing.assert_array_equal(nearest.numbers, np.full((2, 4), -1))
    np.testing.assert_array_equal(nearest.squared, np.full((2, 4), np.inf))
    assert len(nearest.tied) == 0
    assert k_nearest(np.zeros((0, 3)), np.zeros((5, 3)), 4).numbers.shape == (0, 4)
