"""How far along its branch each point lies."""

from __future__ import annotations

import numpy as np

from samples import CROSS, random_tree
from skeltraj import core
from skeltraj.core._graph.along_branches import along_branches, along_line


def test_by_hand_on_a_cross():
    graph = core.Graph(np.array(CROSS["nodes"], dtype=float), np.array(CROSS["edges"]))
    points = np.array([[0.25, 0.0], [1.5, 0.2], [2.1, -0.75], [2.1, 0.5], [2.0, 2.5], [3.25, 0.1]])
    branch, place = along_branches(graph, core.locate(graph, points))
    # T1 to F1, then F1 to T2, T3 and T4, but for those that begin with the smaller coordinate: T2 and F1
    ends = [(int(path[0]), int(path[-1])) for path in graph.branches]
    assert [ends[b] for b in branch] == [(0, 2), (0, 2), (7, 2), (2, 4), (2, 4), (2, 6)]
    np.testing.assert_allclose(place, [0.25, 1.5, 0.25, 0.5, 2.0, 1.25])


def test_place_is_the_path_length_from_the_end_at_which_the_branch_begins():
    rng = np.random.default_rng(0)
    graph = random_tree(40, rng)
    position = core.locate(graph, rng.standard_normal((60, 2)))
    branch, place = along_branches(graph, position)
    for b, path in enumerate(graph.branches):
        on = branch == b
        np.testing.assert_allclose(place[on], position.distances_from(graph, int(path[0]))[on], atol=1e-12)


def test_points_at_lone_nodes_are_on_no_branch():
    graph = core.Graph(np.array([[0.0, 0], [1, 0], [5, 5]]), np.array([[0, 1]]))
    branch, _ = along_branches(graph, core.locate(graph, np.array([[0.3, 0.0], [4.9, 5.0]])))
    assert branch.tolist() == [0, -1]


def test_along_a_line_and_nothing_else():
    nodes = np.array([[0.0, 0], [2, 0], [1, 0], [9, 9]])
    graph = core.Graph(nodes[:3], np.array([[0, 2], [1, 2]]))
    np.testing.assert_allclose(along_line(graph, np.array([[0.5, 1.0], [1.5, 0.2], [7, 0]])), [0.5, 1.5, 2])
    cross = core.Graph(np.array(CROSS["nodes"], dtype=float), np.array(CROSS["edges"]))
    ring = core.Graph(nodes[:3], np.array([[0, 1], [1, 2], [2, 0]]))
    with_lone = core.Graph(nodes, np.array([[0, 2], [1, 2]]))
    assert [along_line(graph, nodes) for graph in (cross, ring, with_lone)] == [None, None, None]
