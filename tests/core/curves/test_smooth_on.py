"""Skeletons as smooth curves in another space."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from scipy import sparse

from oracles import smooth_tree
from skeltraj.core import Graph, Mesh, PlacedSkeleton, nodes_on, smooth_on


def line(n):
    return Graph(np.arange(n)[:, None] * [1.0, 0.0], np.column_stack([np.arange(n - 1), np.arange(1, n)]))


def fork(n):
    """Three arms of n edges each, from the fork at node 0."""
    ways = np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.7]])
    nodes = np.concatenate([[[0.0, 0.0]], *(np.arange(1, n + 1)[:, None] * way for way in ways)])
    last = np.arange(1, 3 * n + 1)
    before = np.where(last % n == 1, 0, last - 1)
    return Graph(nodes, np.column_stack([before, last]))


def own_points(graph, n, rng, noise=0.3):
    """`n` points at each node, all of them its own, scattered around its place in three dimensions."""
    bent = np.column_stack([graph.nodes, 0.1 * (graph.nodes**2).sum(axis=1)])
    points = np.repeat(bent, n, axis=0) + noise * rng.standard_normal((n * graph.n_nodes, 3))
    return sparse.csr_matrix(np.repeat(np.eye(graph.n_nodes), n, axis=0)), points


def turning(places):
    steps = np.diff(places, axis=0)
    steps = steps / np.linalg.norm(steps, axis=1, keepdims=True)
    return np.arccos(np.clip((steps[1:] * steps[:-1]).sum(axis=1), -1, 1)).sum()


def length(places):
    return np.linalg.norm(np.diff(places, axis=0), axis=1).sum()


@pytest.mark.parametrize("seed", range(3))
def test_it_minimises_squares_and_penalties(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    graph = fork(7)
    R = sparse.csr_matrix(rng.random((30, 22)) ** 8 / 4)  # no tip has the mass from which it is drawn on
    points = rng.standard_normal((30, 2)) + 50
    placed = smooth_on(graph, R, points, n_steps=4)
    wanted = smooth_tree(graph, R.toarray(), points, n_steps=4)
    np.testing.assert_allclose(placed.courses, wanted, atol=0.05 * points.std())
    monkeypatch.setattr(importlib.import_module("skeltraj.core._curves.smooth_on"), "_KNOTS_PER_SPAN", 12)
    np.testing.assert_allclose(smooth_on(graph, R, points, n_steps=4).courses, wanted, atol=0.005 * points.std())
    np.testing.assert_array_equal(placed.courses[:, 0], placed.nodes[graph.edges[:, 0]])
    np.testing.assert_array_equal(placed.courses[:, -1], placed.nodes[graph.edges[:, 1]])


def test_a_branch_goes_straight_through_nodes_that_zigzag():
    graph = line(40)
    at = graph.nodes * 2 + np.column_stack([np.zeros(40), np.where(np.arange(40) % 2, 1.0, -1.0)])
    R = sparse.csr_matrix(np.eye(40))
    before, after = nodes_on(graph, R, at), smooth_on(graph, R, at).along(np.arange(40))
    assert turning(before) > 38 * np.pi / 4
    assert turning(after) < 1
    assert length(after) < 1.01 * 78
    assert np.abs(after[:, 1]).max() < 0.5


def test_tips_are_where_their_points_end():
    graph = line(30)
    at_end = np.linspace(0, 6, 61)
    points = np.concatenate(
        [np.column_stack([np.arange(29.0), np.zeros(29)]), np.column_stack([29 + at_end, 0 * at_end])]
    )
    R = sparse.csr_matrix((np.ones(90), (np.arange(90), np.r_[np.arange(29), np.full(61, 29)])), shape=(90, 30))
    placed = smooth_on(graph, R, points)
    np.testing.assert_allclose(placed.nodes[29], [29 + np.quantile(at_end, 0.8), 0], atol=0.11)
    np.testing.assert_allclose(placed.nodes[0], [0, 0], atol=0.3)  # one point does not tell where points end
    along = placed.along(np.arange(30))[:, 0]
    assert (np.diff(along) > 0).all()  # nothing folds back


def test_turned_moved_and_scaled_with_the_points_and_the_skeleton():
    rng = np.random.default_rng(1)
    graph = fork(8)
    R, points = own_points(graph, 6, rng)
    courses = smooth_on(graph, R, points).courses
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    same = lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)
    same(smooth_on(graph, R, 3 * points @ turn + 100).courses, 3 * courses @ turn + 100)
    same(smooth_on(Graph(1e3 * graph.nodes, graph.edges), R, points).courses, courses)
    rows, nodes, edges = (rng.permutation(n) for n in (len(points), graph.n_nodes, len(graph.edges)))
    number = np.argsort(nodes)
    renumbered = Graph(graph.nodes[nodes], number[graph.edges[edges]][:, ::-1])
    same(smooth_on(renumbered, R[rows][:, nodes], points[rows]).courses[:, ::-1], courses[edges])


def test_islands_are_joined_without_a_detour():
    rng = np.random.default_rng(2)
    graph = line(40)
    far = np.r_[np.zeros(20), np.full(20, 1.0)][:, None] * [40.0, 25.0]
    points = np.repeat(graph.nodes + far, 20, axis=0) + rng.standard_normal((800, 2))
    R = sparse.csr_matrix(np.repeat(np.eye(40), 20, axis=0))
    before, placed = nodes_on(graph, R, points), smooth_on(graph, R, points)
    curve = placed.along(np.arange(40))
    assert length(curve) < length(before) + 3
    ends = before[[0, 19, 20, 39]]
    assert (curve >= ends.min(axis=0) - 3).all()
    assert (curve <= ends.max(axis=0) + 3).all()


def test_where_no_points_are():
    graph = line(20)
    held = np.r_[0:5, 15:20]
    points = np.column_stack([np.arange(20.0), np.zeros(20)])[held]
    R = sparse.csr_matrix(np.eye(20)[held])
    curve = smooth_on(graph, R, points).along(np.arange(20))  # straight over the gap
    np.testing.assert_allclose(curve, np.column_stack([np.linspace(0, 19, len(curve)), np.zeros(len(curve))]), atol=0.3)
    beyond = smooth_on(graph, sparse.csr_matrix(np.eye(20)[:8]), points[:8])  # not beyond the last point
    assert beyond.nodes[:, 0].max() < points[:8, 0].max() + 1


def test_parts_without_points_lone_nodes_and_edges_without_length():
    nodes = np.array([[0.0, 0], [1, 0], [1, 0], [2, 0], [0.1, 5], [0.1, 6], [2.2, -7], [8, 8], [8, 8]])
    graph = Graph(nodes, np.array([[0, 1], [1, 2], [2, 3], [4, 5], [7, 8]]))
    R = sparse.csr_matrix((np.ones(2), ([0, 1], [0, 3])), shape=(2, 9))
    placed = smooth_on(graph, R, np.array([[0.0, 1.0], [4.0, 1.0]]))
    assert np.isfinite(placed.courses).all()
    np.testing.assert_allclose(placed.nodes[4:6], [[0, 1], [0, 1]], atol=1e-9)
    np.testing.assert_allclose(placed.nodes[6:], [[4, 1], [4, 1], [4, 1]], atol=1e-9)
    collapsed = Graph(np.zeros((3, 2)), np.array([[0, 1], [1, 2]]))
    placed = smooth_on(collapsed, sparse.csr_matrix(np.eye(3)), np.arange(6.0).reshape(3, 2))
    assert placed.courses.shape == (2, 2, 2)
    assert (
        smooth_on(Graph(np.zeros((2, 2)), np.empty((0, 2), int)), sparse.csr_matrix(np.eye(2)), np.eye(2)).graph.n_nodes
        == 2
    )


def test_a_circle_closes_without_a_corner():
    angle = 2 * np.pi * np.arange(24) / 24
    nodes = np.column_stack([np.cos(angle), np.sin(angle)])
    graph = Graph(nodes, np.column_stack([np.arange(24), np.roll(np.arange(24), -1)]))
    rng = np.random.default_rng(0)
    points = np.repeat(nodes, 10, axis=0) + 0.05 * rng.standard_normal((240, 2))
    placed = smooth_on(graph, sparse.csr_matrix(np.repeat(np.eye(24), 10, axis=0)), points)
    [path] = graph.branches
    curve = placed.along(path)
    np.testing.assert_allclose(curve[0], curve[-1], atol=1e-12)
    steps = np.diff(curve, axis=0)
    cosine = steps[0] @ steps[-1] / np.linalg.norm(steps[0]) / np.linalg.norm(steps[-1])
    assert np.degrees(np.arccos(cosine)) < 8
    np.testing.assert_allclose(np.linalg.norm(curve, axis=1), 1, atol=0.1)


def test_loops_meet_and_a_mesh_is_straight():
    nodes = np.array([[0.0, 0], [1, 1], [1, -1], [2, 0], [3, 0], [-1, 0]])
    edges = np.array([[0, 1], [0, 2], [1, 3], [2, 3], [3, 4], [5, 0]])
    R, points = sparse.csr_matrix(np.eye(6)), nodes + 3
    placed = smooth_on(Graph(nodes, edges), R, points)
    np.testing.assert_allclose(placed.courses[:, 0], placed.nodes[edges[:, 0]])
    np.testing.assert_allclose(placed.courses[:, -1], placed.nodes[edges[:, 1]], atol=1e-12)
    mesh = smooth_on(Mesh(nodes, edges), R, points)
    np.testing.assert_array_equal(mesh.courses, points[edges])


def test_places_along_a_path_follow_it():
    graph = fork(4)
    rng = np.random.default_rng(3)
    R, points = own_points(graph, 5, rng)
    placed = smooth_on(graph, R, points, n_steps=3)
    path = graph.path(4, 12)
    along = placed.along(path)
    np.testing.assert_allclose(along[::3], placed.nodes[path], atol=1e-12)
    np.testing.assert_allclose(placed.along(path[::-1]), along[::-1], atol=1e-12)
    np.testing.assert_array_equal(placed.along(path[:1]), placed.nodes[path[:1]])
    part = placed.part([2, 0])
    np.testing.assert_array_equal(part.along(path), along[:, [2, 0]])
    assert repr(placed) == "PlacedSkeleton: 13 nodes in 3 dimensions, 12 edges of 3 steps"
    assert repr(PlacedSkeleton.straight(graph, graph.nodes)).endswith("12 straight edges")


def test_errors():
    with pytest.raises(ValueError, match="points holds 1 value"):
        smooth_on(line(3), sparse.csr_matrix(np.eye(3)), np.array([[0.0, 1], [np.nan, 1], [0, 0]]))
    with pytest.raises(ValueError, match="n_steps=0 is out of range"):
        smooth_on(line(3), sparse.csr_matrix(np.eye(3)), np.zeros((3, 2)), n_steps=0)
