"""Prim's and Boruvka's trees against each other, edge by edge, and against Kruskal's."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from point_sets import EQUAL_STEPS, SHAPES
from skeltraj.core._geometry import spanning_tree
from skeltraj.core._geometry.kdtree import build


def by(method, points, monkeypatch):
    monkeypatch.setattr(spanning_tree, "_prefers_boruvka", lambda points: method == "boruvka")
    return spanning_tree.spanning_tree(points)


def is_tree(edges, n):
    assert edges.shape == (n - 1, 2)
    group = np.arange(n)
    for i, j in edges:
        assert group[i] != group[j]
        group[group == group[j]] = group[i]


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("shape", [*SHAPES, *EQUAL_STEPS])
@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_both_methods_find_the_same_tree(shape, d, monkeypatch):
    rng = np.random.default_rng(d)
    for n in (1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 64, 65, 200, 3000):
        points = shape(n, d, rng)
        prim, boruvka = (by(method, points, monkeypatch) for method in ("prim", "boruvka"))
        np.testing.assert_array_equal(prim, boruvka)
        assert prim.shape == (n - 1, 2)
        assert (prim[:, 0] < prim[:, 1]).all()


@pytest.mark.parametrize("method", ["prim", "boruvka"])
@pytest.mark.parametrize("shape", [*SHAPES, *EQUAL_STEPS])
@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_the_tree_is_as_short_as_kruskals(shape, d, method, monkeypatch):
    rng = np.random.default_rng(d)
    length = lambda points, edges: ((points[edges[:, 0]] - points[edges[:, 1]]) ** 2).sum()
    for n in (2, 3, 10, 70):
        points = shape(n, d, rng)
        edges = by(method, points, monkeypatch)
        is_tree(edges, n)
        assert length(points, edges) == pytest.approx(length(points, oracles.kruskal(points)), rel=1e-12)


@pytest.mark.parametrize("method", ["prim", "boruvka"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_equal_edges_are_taken_by_their_ends(d, method, monkeypatch):
    for seed in range(20):
        points = np.random.default_rng(seed).integers(0, 5, (60, d)).astype(float)
        # Kruskal's literal version sorts pairs by squared distance, then by their ends
        np.testing.assert_array_equal(by(method, points, monkeypatch), oracles.kruskal(points))


@pytest.mark.parametrize("method", ["prim", "boruvka"])
def test_coincident_points_are_joined_to_the_first(method, monkeypatch):
    edges = by(method, np.zeros((500, 2)), monkeypatch)
    np.testing.assert_array_equal(edges, [(0, i) for i in range(1, 500)])


@pytest.mark.parametrize("method", ["prim", "boruvka"])
@pytest.mark.parametrize("scale", [1e-170, 1e-158, 1e153, 1e200])
def test_squares_that_under_or_overflow_still_give_a_tree(method, scale, monkeypatch):
    points = scale * np.random.default_rng(0).standard_normal((300, 2))
    edges = by(method, points, monkeypatch)
    is_tree(edges, 300)
    np.testing.assert_array_equal(edges, by("prim", points, monkeypatch))


@pytest.mark.compiled("72 million distances by Prim")
def test_many_points(monkeypatch):
    rng = np.random.default_rng(0)
    n = 12_000
    for points in (rng.random((n, 2)), np.repeat(rng.random((n // 10, 2)), 10, axis=0), np.zeros((n, 2))):
        assert spanning_tree._prefers_boruvka(points)
        np.testing.assert_array_equal(spanning_tree.spanning_tree(points), by("prim", points, monkeypatch))
        monkeypatch.undo()


def test_the_method_depends_on_number_and_dimensions():
    many = lambda n, d: spanning_tree._prefers_boruvka(np.empty((n, d)))
    assert [many(2000, 2), many(20_000, 2), many(20_000, 5), many(50_000, 5), many(50_000, 10)] == [
        False,
        True,
        False,
        True,
        False,
    ]


def test_points_that_are_not_numbers_do_not_loop_forever():
    points = np.random.default_rng(0).random((100, 2))
    points[7] = np.nan
    with pytest.raises(ValueError, match="without distances"):
        spanning_tree._boruvka(build(points))
