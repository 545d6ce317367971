"""Order on graphs that are not one tree: loops, parts, nodes that nothing is joined to."""

from __future__ import annotations

import numpy as np
import pytest

from samples import forked
from skeltraj import core
from skeltraj.core import Graph


def ring(n=12, at=(0.0, 0.0), first=0):
    t = 2 * np.pi * np.arange(n) / n
    edges = np.column_stack([np.arange(n), (np.arange(n) + 1) % n]) + first
    return np.column_stack([np.cos(t), np.sin(t)]) + at, edges


def ring_and_line():
    """A ring of 12 nodes (part 0) and a line of 5 (part 1), ten times as many points as nodes on each."""
    nodes, edges = ring()
    line = np.column_stack([np.arange(5.0), np.full(5, 5.0)])
    graph = Graph(np.vstack([nodes, line]), np.vstack([edges, [[12, 13], [13, 14], [14, 15], [15, 16]]]))
    t = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    points = np.vstack(
        [np.column_stack([np.cos(t), np.sin(t)]), np.column_stack([np.linspace(0, 4, 50), np.full(50, 5.0)])]
    )
    return graph, points, t


def test_roots_on_a_ring_are_where_they_were_asked_for():
    graph, points, t = ring_and_line()
    position = core.locate(graph, points)
    for node in (0, 3, 7):
        near = np.zeros(len(points), dtype=bool)
        near[:120] = np.abs(np.angle(np.exp(1j * (t - 2 * np.pi * node / 12)))) < 0.3
        assert core.tip_near(graph, position, near) == node
    values = np.r_[np.cos(t), np.zeros(50)]
    assert core.tip_at_extreme(graph, position, values, highest=True) == 0
    assert core.tip_at_extreme(graph, position, values, highest=False) == 6
    ends, mean = core.rank_tips(graph, position)  # the ring holds most points
    assert set(ends) == set(range(12))
    assert (np.diff(mean) <= 0).all()


def test_a_stray_point_does_not_decide():
    graph, points, _ = ring_and_line()
    position = core.locate(graph, points)
    chosen = np.zeros(len(points), dtype=bool)
    chosen[120:150] = True  # the left of the line, and one point of the ring exactly on a node
    chosen[0] = True
    assert core.tip_near(graph, position, chosen) == 12
    few = np.r_[0:3, 120:170]
    ends, _ = core.rank_tips(graph, core.locate(graph, points[few]))
    assert set(ends) == {12, 16}
    # three points of the ring score highest, but are too few to be an end of a process
    values = np.r_[np.full(3, 9.0), np.linspace(0, 1, 50)]
    assert core.tip_at_extreme(graph, core.locate(graph, points[few]), values, highest=True) == 16


def test_a_node_without_edges_is_a_part_of_its_own():
    nodes = np.array([[0.0, 0], [1, 0], [2, 0], [9, 9]])
    graph = Graph(nodes, np.array([[0, 1], [1, 2]]))
    points = np.array([[0.5, 0.1], [1.9, 0.0], [9.0, 8.9]])
    position = core.locate(graph, points)
    np.testing.assert_array_equal(position.alone, [-1, -1, 3])
    assert position.distance[2] == pytest.approx(0.1)
    np.testing.assert_array_equal(position.component(graph) == graph.component[3], [False, False, True])
    found = core.order(graph, position, 0)
    np.testing.assert_allclose(found.pseudotime, [0.5, 1.9, np.nan])
    np.testing.assert_array_equal(found.branch, [0, 0, -1])
    np.testing.assert_allclose(core.order(graph, position, 3).pseudotime, [np.nan, np.nan, 0.0])


def test_without_edges_there_is_nothing_to_lie_along():
    with pytest.raises(ValueError, match="4 nodes but no edges"):
        core.locate(Graph(np.eye(4), np.empty((0, 2), dtype=int)), np.eye(4))
    with pytest.warns(UserWarning, match="no two nodes are joined") as caught:
        fit = core.principal_graph(forked(60)[0], min_weight=5)
    assert caught[0].filename == __file__
    assert len(fit.edges) == 0


def test_lineages_and_medians_on_loops_take_the_shortest_path():
    # along a line 0-1-2-3-5, and a detour of fewer edges 0-4-3
    nodes = np.array([[0.0, 0], [1, 0], [2, 0], [3, 0], [1.5, 9], [4, 0]])
    graph = Graph(nodes, np.array([[0, 1], [1, 2], [2, 3], [0, 4], [4, 3], [3, 5]]))
    assert graph.n_loops == 1
    np.testing.assert_array_equal(graph.path(0, 5), [0, 1, 2, 3, 5])
    found = core.order(graph, np.array([[1.4, 0.0], [1.5, 8.0]]), 0)
    np.testing.assert_array_equal(found.tips, [5])
    np.testing.assert_array_equal(found.membership.ravel(), [1.0, 0.0])
    places, edges = ring()
    circle = Graph(places, edges)
    rng = np.random.default_rng(0)
    for _ in range(20):
        weight = rng.random(12) ** 4
        cost = [circle.distances_from(v) @ weight for v in range(12)]
        assert core.median_node(circle, weight) == np.argmin(cost)


@pytest.mark.parametrize(
    "fit",
    [
        lambda: core.principal_graph(np.random.default_rng(0).integers(0, 3, (300, 2)).astype(float)),
        lambda: core.principal_graph(np.repeat(forked(15)[0], 4, axis=0), n_nodes="all", assignment="hard"),
        lambda: core.principal_graph(
            forked(60)[0],
            init=np.vstack([forked(20)[0], np.full((1, 6), 50.0), np.full((1, 6), 51.0)]),
            candidates=1,
            assignment="hard",
        ),
    ],
)
def test_nodes_that_no_row_holds(fit):
    found = fit()
    assert np.isfinite(found.nodes).all()
    assert (np.diff(found.objective) <= 1e-6 * np.ptp(found.objective) + 1e-12).all()


@pytest.mark.parametrize("learn", [core.ddrtree, core.principal_tree, core.principal_graph])
def test_a_small_clean_ring_keeps_its_shape(learn):
    t = np.linspace(0, 2 * np.pi, 72, endpoint=False)
    X = np.column_stack([np.cos(t), np.sin(t)])
    fit = learn(X)
    assert np.linalg.norm(fit.nodes, axis=1).mean() > 0.5
