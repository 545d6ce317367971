"""Order on graphs: roots, tips and lineages, on trees, loops and parts."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import skeltraj as st
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
    for level, unit in ((0, 1.0), (-5, 1.0), (5, 1e307)):
        values = unit * (np.r_[np.cos(t), np.zeros(50)] + level)
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


@pytest.mark.parametrize(("highest", "tip"), [(True, 2), (False, 0)])
def test_a_score_of_few_points_decides_as_that_of_all(highest, tip):
    points = np.column_stack([np.linspace(0, 2, 1500), np.zeros(1500)])
    position, values = core.locate(LINE, points), np.linspace(0, 1, 1500)
    values[np.arange(1500) % 40 > 0] = np.nan
    assert core.tip_at_extreme(LINE, position, values, highest=highest) == tip


@pytest.mark.parametrize("weight", [[1, 0, 0, 1], [1, 1, 1, 1], [0.1, 0.2, 0.3, 0.0], [0, 0, 0, 0], [0, 1, 1, 0]])
def test_of_several_medians_the_first_by_coordinates(weight):
    weight = np.array(weight, dtype=float)
    cost = np.abs(np.arange(4.0)[:, None] - np.arange(4.0)) @ weight
    expected = np.flatnonzero(cost <= cost.min() + 1e-9)[0]
    for order in permutations(range(4)):
        order = np.array(order)  # the number of each node along the line
        x = np.empty(4)
        x[order] = np.arange(4.0)
        line = Graph(np.column_stack([x, np.zeros(4)]), np.column_stack([order[:-1], order[1:]]))
        assert core.median_node(line, weight[x.astype(int)]) == order[expected]


def test_from_the_middle_of_an_edge_the_nearest_end_is_the_first_by_coordinates():
    nodes, middle = np.array([[0.0, 0], [1, 0]]), np.array([[0.5, 0.2]])
    for edge in ([0, 1], [1, 0]):
        for order in ([0, 1], [1, 0]):
            graph = Graph(nodes[order], np.array([edge]))
            assert graph.nodes[core.locate(graph, middle).nearest_end(graph)[0], 0] == 0


def test_lineages_and_medians_on_loops_take_the_shortest_path():
    # along a line 0-1-2-3-5, and a detour of fewer edges 0-4-3
    nodes = np.array([[0.0, 0], [1, 0], [2, 0], [3, 0], [1.5, 9], [4, 0]])
    graph = Graph(nodes, np.array([[0, 1], [1, 2], [2, 3], [0, 4], [4, 3], [3, 5]]))
    assert graph.n_loops == 1
    np.testing.assert_array_equal(graph.path(0, 5), [0, 1, 2, 3, 5])
    ordered = core.order(graph, np.array([[1.4, 0.0], [1.5, 8.0]]), 0)
    np.testing.assert_array_equal(ordered.tips, [5])
    np.testing.assert_array_equal(ordered.membership.ravel(), [1.0, 0.0])
    places, edges = ring()
    circle = Graph(places, edges)
    rng = np.random.default_rng(0)
    for _ in range(20):
        weight = rng.random(12) ** 4
        cost = [circle.distances_from(v) @ weight for v in range(12)]
        assert core.median_node(circle, weight) == core.median_node(circle, 1e308 * weight) == np.argmin(cost)


def test_the_median_of_a_tree_has_the_smallest_sum():
    rng = np.random.default_rng(0)
    for _ in range(20):
        tree = Graph(rng.random((15, 2)), np.array([[i, rng.integers(i)] for i in range(1, 15)]))
        weight = rng.random(15) ** 4
        cost = [tree.distances_from(v) @ weight for v in range(15)]
        assert core.median_node(tree, weight) == np.argmin(cost)


def test_a_tip_of_the_right_component_is_chosen():
    graph = core.Graph(np.array([[0.0], [1], [5], [6]]), np.array([[0, 1], [2, 3]]))
    position = core.locate(graph, np.array([[0.1], [5.8], [5.9]]))
    assert core.tip_near(graph, position, np.array([False, True, True])) == 3
    assert core.tip_near(graph, position, np.array([True, False, False])) == 0


def test_order_without_an_assignment_uses_the_nearer_end():
    graph = st.core.Graph(np.array([[0.0, 0], [1, 0], [2, 1], [2, -1]]), np.array([[0, 1], [1, 2], [1, 3]]))
    ordered = st.core.order(graph, np.array([[0.1, 0.1], [1.9, 0.9], [1.9, -0.9]]), 0)
    np.testing.assert_array_equal(graph.nodes[ordered.tips][:, 1], [-1, 1])
    np.testing.assert_array_equal(ordered.membership, [[1, 1], [0, 1], [1, 0]])
    with pytest.raises(ValueError, match="root=4 is not a node; wanted a number from 0 to 3"):
        st.core.order(graph, graph.nodes, 4)


LINE = core.Graph([[0, 0], [1, 0], [2, 0]], [[0, 1], [1, 2]])


@pytest.mark.parametrize(("root", "kind"), [(1.5, TypeError), ("a", TypeError), (True, TypeError), (3, ValueError)])
def test_roots_that_are_no_nodes(root, kind):
    with pytest.raises(kind, match="root=.*wanted a n"):
        core.order(LINE, np.zeros((2, 2)), root=root)
    with pytest.raises(kind, match="start=.*wanted a n"):
        core.paths(LINE, root, [1])


def test_positions_and_assignments_of_other_skeletons():
    elsewhere = core.Position(np.array([5]), np.array([0.5]), np.array([0.0]))
    calls = [
        lambda: core.order(LINE, elsewhere, root=0),
        lambda: core.rank_tips(LINE, elsewhere),
        lambda: core.tip_near(LINE, elsewhere, np.array([True])),
        lambda: core.tip_at_extreme(LINE, elsewhere, np.array([1.0]), highest=True),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="position.edge: there is no 5 among 2 edges; wanted numbers from 0 to 1"):
            call()
    uneven = core.Position(np.array([0, 1]), np.array([0.5]), np.array([0.0]))
    with pytest.raises(ValueError, match=r"position.fraction is of shape \(1,\) and type float64; wanted 2 numbers"):
        core.order(LINE, uneven, root=0)
    with pytest.raises(ValueError, match=r"assignment has shape \(2, 5\); wanted \(2, 3\), points by nodes"):
        core.order(LINE, np.zeros((2, 2)), root=0, assignment=np.zeros((2, 5)))


def test_what_tips_are_chosen_by():
    points = np.array([[0.5, 0.0], [1.5, 0.0]])
    position = core.locate(LINE, points)
    for chosen in ([True], [0, 1], [True, False, True]):
        with pytest.raises(ValueError, match="chosen is of shape .* wanted 2 of True and False"):
            core.tip_near(LINE, position, np.array(chosen))
    with pytest.raises(ValueError, match="chosen: none of 2 points is chosen; wanted some"):
        core.tip_near(LINE, position, np.zeros(2, dtype=bool))
    for values in ([1.0], [[1.0, 2.0]], ["a", "b"]):
        with pytest.raises((TypeError, ValueError), match="values is of (shape .* wanted one number for|type)"):
            core.tip_at_extreme(LINE, position, np.array(values), highest=True)
    with pytest.raises(ValueError, match="values: none of 2 is finite; wanted some"):
        core.tip_at_extreme(LINE, position, np.full(2, np.nan), highest=True)
    with pytest.raises(ValueError, match=r"points: an array of shape \(2, 3\) was given; wanted \(n, 2\)"):
        LINE.nearest_node(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="points: 1 of 1 hold NaN"):
        LINE.nearest_node(np.full((1, 2), np.nan))


def test_the_tip_at_an_extreme_does_not_depend_on_the_order_of_points():
    """All at a tip are equally near to it; which of them are stored first says nothing."""
    rng = np.random.default_rng(0)
    edge = np.repeat([0, len(LINE.edges) - 1], 100)
    position = core.Position(edge, np.repeat([0.0, 1.0], 100), np.zeros(200))
    values = rng.normal(size=200)
    orders = [rng.permutation(200) for _ in range(20)]
    found = {core.tip_at_extreme(LINE, position.part(o), values[o], highest=True) for o in orders}
    assert found == {int(LINE.edges[0, 0]) if values[:100].mean() > values[100:].mean() else int(LINE.edges[-1, 1])}


def test_mean_lengths_are_the_same_to_the_last_bit_in_whatever_order_points_come():
    graph = Graph([[0, 0], [1, 0], [2, 0], [2, 1], [3, 0]], [[0, 1], [1, 2], [2, 3], [2, 4]])
    rng = np.random.default_rng(0)
    points = rng.uniform([0, 0], [3, 1], (500, 2))
    found = {
        core.rank_tips(graph, core.locate(graph, points[order]))[1].tobytes()
        for order in (rng.permutation(500) for _ in range(20))
    }
    assert len(found) == 1


def test_points_at_a_node_without_edges_are_of_no_lineage():
    graph = core.Graph([[0, 0], [1, 0], [2, 0], [5, 5]], [[0, 1], [1, 2]])
    found = core.order(graph, np.array([[5.0, 5.0], [0.5, 0.0]]), 0)
    assert np.isnan(found.pseudotime[0])
    assert found.branch[0] == -1
    assert core.locate(graph, np.array([[5.0, 5.0], [1.9, 0.1]])).nearest_end(graph).tolist() == [3, 2]
    assert found.membership[:, 0].tolist() == [0, 1]


def test_roots_where_all_nodes_count_do_not_depend_on_how_they_are_numbered():
    """In a mesh several nodes have the same points around them, and so the same score."""
    nodes = np.r_[np.arange(30.0), 99][:, None]  # of which the last is a part by itself
    edges = np.column_stack([np.arange(29), np.arange(1, 30)])
    found = set()
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(31)
        mesh = core.Mesh(nodes[order], np.argsort(order)[edges])
        position = core.at_nodes(mesh, np.flatnonzero(order < 30))
        value = order[order < 30]
        chosen = [core.tip_at_extreme(mesh, position, value, highest=False)]
        chosen.append(core.tip_near(mesh, position, np.isin(value, [3, 5])))
        chosen.append(core.rank_tips(mesh, position)[0][0])
        chosen.append(core.median_node(mesh, np.isin(order, [3, 5]).astype(float)))
        found.add(tuple(int(order[node]) for node in chosen))
    assert found == {(0, 3, 0, 3)}
