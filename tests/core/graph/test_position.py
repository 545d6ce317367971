"""Positions on graphs: edges, nodes that nothing is joined to, points without coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
import skeltraj as st
from skeltraj import core
from skeltraj.core import Graph
from skeltraj.core._graph.position import nearest_on_branches, on_edges


@pytest.mark.parametrize("lone", [3, 0])
def test_a_node_without_edges_is_a_part_of_its_own(lone):
    start, *_, end = line = [node for node in range(4) if node != lone]
    nodes = np.full((4, 2), 9.0)
    nodes[line] = [[0, 0], [1, 0], [2, 0]]
    graph = Graph(nodes, np.column_stack([line[:-1], line[1:]]))
    points = np.array([[0.5, 0.1], [1.9, 0.0], [9.0, 8.9]])
    position = core.locate(graph, points)
    np.testing.assert_array_equal(position.alone, [-1, -1, lone])
    assert position.distance[2] == pytest.approx(0.1)
    np.testing.assert_array_equal(position.component(graph) == graph.component[lone], [False, False, True])
    np.testing.assert_array_equal(position.nearest_end(graph), [start, end, lone])
    np.testing.assert_allclose(position.places(graph), [[0.5, 0], [1.9, 0], [9, 9]])
    np.testing.assert_array_equal(position.on_path(graph, np.array(line)), [True, True, False])
    np.testing.assert_array_equal(core.paths(graph, start, [end]).holds(position), [True, True, False])
    ordered = core.order(graph, position, start)
    np.testing.assert_allclose(ordered.pseudotime, [0.5, 1.9, np.nan])
    np.testing.assert_array_equal(ordered.branch, [0, 0, -1])
    np.testing.assert_allclose(core.order(graph, position, lone).pseudotime, [np.nan, np.nan, 0.0])


def test_points_at_a_node_are_the_same_to_paths_and_parts():
    """Of the fork's three arms: a point at the fork, but for rounding, lies on the path along the two others."""
    graph = Graph(np.array([[0.0, 0], [1, 0], [0, 1], [-1, 0]]), np.array([[0, 1], [2, 0], [3, 0]]))
    fraction = np.array([0.0, 1e-12, 1e-3, 0.5])
    position = core.Position(np.zeros(4, dtype=int), fraction, np.zeros(4))
    path = graph.path(2, 3)
    np.testing.assert_array_equal(position.on_path(graph, path), [True, True, False, False])
    np.testing.assert_array_equal(core.paths(graph, 2, [3]).holds(position), position.on_path(graph, path))
    backwards = core.Position(np.ones(4, dtype=int), 1 - fraction, np.zeros(4))
    np.testing.assert_array_equal(backwards.on_path(graph, graph.path(1, 3)), [True, True, False, False])


def test_without_edges_there_is_nothing_to_lie_along():
    with pytest.raises(ValueError, match="4 nodes but no edges"):
        core.locate(Graph(np.eye(4), np.empty((0, 2), dtype=int)), np.eye(4))


def test_points_without_coordinates_are_refused():
    graph = core.Graph(np.array([[0.0, 0], [1, 0]]), np.array([[0, 1]]))
    with pytest.raises(ValueError, match="1 of 2 points have coordinates that are NaN or infinite"):
        core.locate(graph, np.array([[0.0, np.nan], [0, 0]]))


@pytest.mark.parametrize("unit", [1.0, 10.0, 0.001])
def test_points_nearest_to_a_fork_are_on_one_edge(unit):
    rng = np.random.default_rng(0)
    fork = np.array([0.7, 0.3])
    nodes = fork + np.array([[0.0, 0], [-1, 0], [-0.6, 0.9], [-0.6, -0.9]])
    points = fork + np.column_stack([rng.uniform(1, 2, 300), rng.uniform(-0.1, 0.1, 300)])
    for edges in ([[0, 1], [0, 2], [0, 3]], [[3, 0], [1, 0], [0, 2]]):
        graph = core.Graph(unit * nodes, np.array(edges))
        at = core.locate(graph, unit * points)
        assert {tuple(sorted(edge)) for edge in graph.edges[at.edge].tolist()} == {(0, 1)}
        np.testing.assert_allclose(at.places(graph), unit * fork[None] * np.ones((300, 1)))


@pytest.mark.parametrize("d", [1, 2, 3, 20])
@pytest.mark.parametrize("kind", ["any", "far from the origin", "ties", "tiny", "huge", "lines"])
def test_places_are_those_of_the_definition_to_the_last_bit(d, kind):
    rng = np.random.default_rng(d)
    points, nodes = rng.standard_normal((40, d)), rng.standard_normal((15, d))
    edges = np.sort(rng.choice(15, (20, 2)), axis=1)  # some have no length
    if kind == "far from the origin":
        points, nodes = points + 1e9, nodes + 1e9
    elif kind == "ties":
        points, nodes = np.round(points), np.round(nodes)
    elif kind in ("tiny", "huge"):
        scale = 1e-160 if kind == "tiny" else 1e60
        points, nodes = scale * points, scale * nodes
    elif kind == "lines":  # points on the edges, where differences cancel
        points = nodes[edges[:, 0]] + rng.random((20, 1)) * (nodes[edges[:, 1]] - nodes[edges[:, 0]])
    edge, fraction, squared = on_edges(points, nodes, edges)
    wanted = oracles.nearest_on_edges(points, nodes[edges[:, 0]], nodes[edges[:, 1]])
    np.testing.assert_array_equal(edge, wanted[0])
    np.testing.assert_array_equal(fraction, wanted[1])
    np.testing.assert_array_equal(squared, wanted[2])


@pytest.mark.parametrize("ties", [False, True])
def test_the_nearest_edge_on_each_branch_is_the_nearest_of_its_edges(ties):
    rng = np.random.default_rng(0)
    points, nodes = rng.standard_normal((60, 3)), rng.standard_normal((15, 3))
    edges, branch = np.sort(rng.choice(15, (20, 2)), axis=1), rng.integers(4, size=20)
    if ties:
        points, nodes = np.round(points), np.round(nodes)
    some = np.flatnonzero((branch != 3) & (np.arange(20) != 5))
    near, squared = np.full((60, 4), -7, dtype=np.int32), np.full((60, 4), -7.0)
    nearest_on_branches(points, nodes, edges, some, branch, near, squared)
    for b in range(3):
        of = some[branch[some] == b]
        nearest, _, wanted = oracles.nearest_on_edges(points, nodes[edges[of, 0]], nodes[edges[of, 1]])
        np.testing.assert_array_equal(near[:, b], of[nearest])
        np.testing.assert_array_equal(squared[:, b], wanted)
    assert (near[:, 3] == -7).all()  # none of its edges is looked at
    assert (squared[:, 3] == -7).all()


def test_edges_away_from_the_nearest_node_are_found():
    # the nearest node of the point is an end of no edge that comes near it
    graph = st.core.Graph(np.array([[0.0, 0], [10, 0], [5, 1.5], [5, 9]]), np.array([[0, 1], [1, 3], [2, 3]]))
    position = st.core.locate(graph, np.array([[5.0, 0.6], [-3, 4], [5, 12]]))
    np.testing.assert_array_equal(position.edge, [0, 0, 2])
    np.testing.assert_allclose(position.fraction, [0.5, 0, 1])
    np.testing.assert_allclose(position.distance, [0.6, 5, 3])


def test_points_at_a_fork_are_on_the_same_branch_however_edges_are_stored():
    rng = np.random.default_rng(0)
    nodes, edges = rng.standard_normal((40, 3)), np.array([[i, rng.integers(i)] for i in range(1, 40)])
    graph = st.core.Graph(nodes, edges)
    points = np.vstack([nodes, nodes + rng.normal(0, 0.3, nodes.shape)])
    position = st.core.locate(graph, points)
    ends = np.sort(edges[position.edge], axis=1)
    on_nodes = st.core.at_nodes(graph, np.arange(40))
    np.testing.assert_allclose(on_nodes.places(graph), nodes, rtol=0, atol=1e-14)
    for _ in range(5):
        order = rng.permutation(39)
        turned = np.where(rng.random(39)[:, None] < 0.5, edges[order], edges[order][:, ::-1])
        other = st.core.Graph(nodes, turned)
        again = st.core.locate(other, points)
        np.testing.assert_array_equal(np.sort(turned[again.edge], axis=1), ends)
        np.testing.assert_allclose(again.places(other), position.places(graph), rtol=0, atol=1e-14)
        np.testing.assert_array_equal(again.distance, position.distance)
        one, two = st.core.order(graph, position, 3).pseudotime, st.core.order(other, again, 3).pseudotime
        np.testing.assert_array_equal(two, one)  # a fraction is exact from either end
        at = st.core.at_nodes(other, np.arange(40))
        np.testing.assert_array_equal(np.sort(turned[at.edge], axis=1), np.sort(edges[on_nodes.edge], axis=1))


@pytest.mark.parametrize("unit", [1.0, 3.0, 0.1])
@pytest.mark.parametrize("d", [2, 9, 30, 300])
def test_points_at_nodes_are_there_to_the_last_bit(d, unit):
    """As cells are that a single node holds (a hard assignment, or a node for each); lengths are sums that round."""
    rng = np.random.default_rng(d)
    nodes, edges = unit * rng.standard_normal((40, d)), np.array([[i, rng.integers(i)] for i in range(1, 40)])
    graph = st.core.Graph(nodes, edges)
    position, wanted = st.core.locate(graph, nodes), st.core.at_nodes(graph, np.arange(40))
    np.testing.assert_array_equal(position.edge, wanted.edge)
    np.testing.assert_array_equal(position.fraction, wanted.fraction)
    np.testing.assert_array_equal(position.distance, 0)


def test_cells_at_one_place_keep_nodes_of_their_own():
    graph = st.core.Mesh(np.zeros((4, 2)), np.array([[0, 1], [1, 2]]))
    position = st.core.at_nodes(graph, np.array([2, 0, 3, 1]))
    np.testing.assert_array_equal(position.nearest_end(graph)[[0, 1, 3]], [2, 0, 1])
    np.testing.assert_array_equal(position.alone, [-1, -1, 3, -1])
    np.testing.assert_array_equal(position.component(graph), graph.component[[2, 0, 3, 1]])


LINE = core.Graph([[0, 0], [1, 0], [2, 0]], [[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((4, 52)), r"points: an array of shape \(4, 52\) was given; wanted \(n, 2\)"),
        (np.zeros((4, 1)), r"points: an array of shape \(4, 1\) was given; wanted \(n, 2\)"),
        (np.zeros(4), r"points: an array of shape \(4,\) was given; wanted \(n, 2\)"),
        (np.full((4, 2), np.inf), "4 of 4 points have coordinates that are NaN or infinite"),
    ],
)
def test_points_of_another_space_are_not_located(points, message):
    with pytest.raises(ValueError, match=message):
        core.locate(LINE, points)
    with pytest.raises(ValueError, match=message):
        core.order(LINE, points, root=0)


@pytest.mark.parametrize("nodes", [[-1], [3], [0, 1, 7]])
def test_nodes_that_are_not_there(nodes):
    with pytest.raises(ValueError, match=rf"nodes: there is no {nodes[-1]} among 3 nodes; wanted numbers from 0 to 2"):
        core.at_nodes(LINE, nodes)
    with pytest.raises(ValueError, match="nodes: there is no"):
        core.joining_edges(LINE, nodes)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("fraction", [0.5, np.nan], r"position.fraction: 1 of 2 are out of range, such as nan; wanted 0 to 1"),
        ("fraction", [0.5, 7.0], r"position.fraction: 1 of 2 are out of range, such as 7; wanted 0 to 1"),
        (
            "distance",
            [-1.0, 0.0],
            r"position.distance: 1 of 2 are out of range, such as -1; wanted finite numbers from 0 up",
        ),
        ("distance", ["a", "b"], r"position.distance is of shape \(2,\) and type <U1; wanted 2 numbers"),
        ("alone", [-1, 9], r"position.alone: there is no 9 among 3 nodes; wanted numbers from 0 to 2"),
        ("alone", [-1], r"position.alone is of shape \(1,\); wanted 2 codes"),
    ],
)
def test_positions_that_are_nowhere(field, value, message):
    line = core.Graph(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), np.array([[0, 1], [1, 2]]))
    fields = dict(edge=np.array([0, 1]), fraction=np.array([0.5, 0.5]), distance=np.zeros(2), alone=np.array([-1, -1]))
    with pytest.raises(ValueError, match=message):
        core.order(line, core.Position(**fields | {field: np.array(value)}), root=0)
    with pytest.raises(ValueError, match=message):
        core.tree_basis(line, core.Position(**fields | {field: np.array(value)}))
