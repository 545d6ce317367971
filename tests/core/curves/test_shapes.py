"""Shapes of curves, and curves grouped by them: by hand, in any order, explained variance."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core._curves.shapes import cluster_curves, heights, standardized

PLACES = np.linspace(0, 1, 30)
WEIGHT = np.random.default_rng(3).integers(1, 20, 30).astype(float)


def bumps(n, centers, rng, noise=0.05):
    """Curves with their peaks at some places; and the number of the place."""
    kind = rng.integers(0, len(centers), n)
    return np.exp(-((PLACES - np.array(centers)[kind, None]) ** 2) / 0.02) + noise * rng.standard_normal((n, 30)), kind


def test_standardized_curves_have_mean_0_and_deviation_1_by_weight():
    rng = np.random.default_rng(0)
    curves = 5 + 3 * rng.standard_normal((4, 30))
    curves[1, 3] = np.nan
    curves[2] = 7
    shape = standardized(curves, WEIGHT)
    for curve, own in zip(curves, shape, strict=True):
        there = np.isfinite(curve)
        mean = np.average(curve[there], weights=WEIGHT[there])
        spread = np.sqrt(np.average((curve[there] - mean) ** 2, weights=WEIGHT[there]))
        np.testing.assert_allclose(own[there], (curve[there] - mean) / max(spread, 1))
        assert np.isnan(own[~there]).all()
    assert (shape[2] == 0).all()
    unknown = standardized(np.array([[np.nan, np.nan], [np.nan, 2.0]]), np.array([1.0, 0.0]))  # without a warning
    np.testing.assert_array_equal(unknown, [[np.nan, np.nan], [np.nan, 0]])
    # the level and the unit do not matter
    np.testing.assert_allclose(standardized(2 * curves - 100, WEIGHT), shape, atol=1e-12)


def test_heights_of_counts_have_a_floor():
    support = np.array([0.0, 10, 20, 30])
    curve = np.array([[np.nan, -500, np.log(3), 2]])
    height = heights(curve, support, "negative_binomial")
    np.testing.assert_allclose(height[0, 1:], np.log([0.025, 3.025, np.exp(2) + 0.025]))
    assert np.isnan(height[0, 0])
    for family in ("gaussian", "binomial"):
        assert heights(curve, support, family) is curve


def test_groups_are_found_and_numbered_by_their_peak():
    rng = np.random.default_rng(1)
    curves, kind = bumps(200, [0.5, 0.9, 0.1], rng)
    shape = standardized(curves, WEIGHT)
    for wanted in (3, "auto"):
        found = cluster_curves(shape, WEIGHT, wanted)
        np.testing.assert_array_equal(found.label, np.array([1, 2, 0])[kind])
        assert found.explained > 0.8
    for k in range(3):
        np.testing.assert_allclose(found.mean[k], shape[found.label == k].mean(axis=0))
    share = WEIGHT / WEIGHT.sum()
    within = (share * (shape - found.mean[found.label]) ** 2).sum()
    assert found.explained == pytest.approx(1 - within / (share * (shape - shape.mean(axis=0)) ** 2).sum())


def test_neither_order_nor_repetition_nor_a_sample_changes_groups():
    rng = np.random.default_rng(2)
    curves, kind = bumps(2500, [0.1, 0.4, 0.7], rng, noise=0.2)
    shape = standardized(curves, WEIGHT)
    one = cluster_curves(shape, WEIGHT, 3)
    assert (one.label == kind).mean() > 0.99
    order = rng.permutation(2500)
    other = cluster_curves(shape[order], WEIGHT, 3)
    np.testing.assert_array_equal(other.label, one.label[order])
    np.testing.assert_allclose(other.mean, one.mean)


def test_more_groups_explain_more_and_auto_takes_the_fewest_that_explain_enough():
    rng = np.random.default_rng(4)
    curves, _ = bumps(300, [0.1, 0.3, 0.5, 0.7, 0.9], rng, noise=0.15)
    shape = standardized(curves, WEIGHT)
    explained = [cluster_curves(shape, WEIGHT, k).explained for k in range(1, 8)]
    assert explained[0] == pytest.approx(0)
    enough = np.flatnonzero(np.array(explained) >= 0.8)
    auto = cluster_curves(shape, WEIGHT)
    assert len(auto.mean) == (1 + enough[0] if len(enough) else 12)
    noise = standardized(rng.standard_normal((100, 30)), WEIGHT)
    assert len(cluster_curves(noise, WEIGHT).mean) == 12


def test_one_curve_or_curves_that_are_alike_are_one_group():
    shape = standardized(np.tile(PLACES, (4, 1)), WEIGHT)
    for some in (shape[:1], shape):
        found = cluster_curves(some, WEIGHT)
        assert (found.label == 0).all()
        assert len(found.mean) == 1
    with pytest.raises(ValueError, match=r"n_clusters=2 is out of range; wanted a whole number from 1 to 1 \(1 curves"):
        cluster_curves(shape, WEIGHT, 2)
    with pytest.raises(TypeError, match=r"n_clusters='many' is a str; wanted a whole number from 1 to 1"):
        cluster_curves(shape, WEIGHT, "many")
