"""Arrays that do not belong to a skeleton are refused before compiled code reads them."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj import core

LINE = core.Graph([[0, 0], [1, 0], [2, 0]], [[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("nodes", "edges", "kind", "message"),
    [
        ([[0, np.nan], [1, 0]], [[0, 1]], ValueError, "nodes: 1 of 2 hold NaN or infinite coordinates"),
        ([0, 1], [[0, 1]], ValueError, r"nodes: an array of shape \(2,\) was given; wanted \(n, n_components\)"),
        ([[0j, 1], [1, 0]], [[0, 1]], TypeError, "nodes: entries are of type complex128; wanted real numbers"),
        ([[0, 0], [1, 0]], [[0, 2]], ValueError, "edges: there is no 2 among 2 nodes; wanted numbers from 0 to 1"),
        ([[0, 0], [1, 0]], [[0, -1]], ValueError, "edges: there is no -1 among 2 nodes"),
        ([[0, 0], [1, 0]], [[0.0, 1.0]], TypeError, "edges: entries are of type float64; wanted whole numbers"),
        ([[0, 0], [1, 0]], [0, 1], ValueError, r"edges: an array of shape \(2,\) was given; wanted \(m, 2\)"),
        ([[0, 0], [1, 0]], [[0, 1], [1, 1]], ValueError, "edges: node 1 is joined to itself"),
    ],
)
def test_nodes_and_edges_that_are_no_graph(nodes, edges, kind, message):
    with pytest.raises(kind, match=message):
        core.Graph(nodes, edges)


def test_a_graph_holds_numbers_and_whole_numbers_however_they_were_given():
    assert LINE.nodes.dtype == np.float64
    assert LINE.edges.dtype == np.int64
    assert core.Graph(np.zeros((2, 1)), []).edges.shape == (0, 2)


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
    with pytest.raises(ValueError, match=r"position: edge, fraction and distance have shapes \(2,\), \(1,\) and \(1,\)"):
        core.order(LINE, uneven, root=0)
    with pytest.raises(ValueError, match=r"assignment has shape \(2, 5\); wanted \(2, 3\), points by nodes"):
        core.order(LINE, np.zeros((2, 2)), root=0, assignment=np.zeros((2, 5)))
