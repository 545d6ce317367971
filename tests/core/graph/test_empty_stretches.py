"""Long stretches of a skeleton on which no point lies."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj import core
from skeltraj.core import Graph


def fork_and_others():
    """A fork whose arms hold points, and a node far from it that holds five."""
    arm = np.arange(1.0, 11.0)[:, None]
    nodes = np.vstack([[0, 0], arm * [1, 0], arm * [-1, 0], arm * [0, 1], [[0, 24]]])
    chain = lambda first: [(0, first), *((i, i + 1) for i in range(first, first + 9))]
    graph = Graph(nodes, np.array([*chain(1), *chain(11), *chain(21), (30, 31)]))
    t = np.linspace(0, 10, 120)[:, None]
    points = np.vstack([t * [1, 0], t * [-1, 0], t * [0, 1], np.tile([0.0, 24.0], (5, 1))])
    return graph, points


def test_the_way_to_points_of_another_kind_is_told():
    graph, points = fork_and_others()
    [stretch] = core.empty_stretches(graph, core.locate(graph, points))
    tip = graph.tip_names[np.flatnonzero(graph.tips == 31)[0]]
    branch = graph.branch_of_edge[-1]
    assert (stretch.branch, stretch.n_beyond, stretch.tips) == (graph.branch_names[branch], 5, (tip,))
    assert stretch.share == pytest.approx(14 / 44)
    from_fork = graph.branches[branch][0] == 0
    np.testing.assert_allclose([stretch.start, stretch.end], [10, 24] if from_fork else [0, 14])


def test_a_point_on_the_way_parts_the_stretch():
    graph, points = fork_and_others()
    tell = lambda *more: core.empty_stretches(graph, core.locate(graph, np.vstack([points, *more])))
    both = tell([0.0, 16.0])
    assert [stretch.n_beyond for stretch in both] == [5, 6]  # the longer first: 8 before the five, 6 before the one
    np.testing.assert_allclose([stretch.end - stretch.start for stretch in both], [8, 6])
    assert not tell([[0.0, 15.0], [0.0, 20.0]])  # 5, 5 and 4: shorter than six edges


def test_nothing_is_told_where_points_lie_everywhere_or_were_left_out():
    graph, points = fork_and_others()
    assert not core.empty_stretches(graph, core.locate(graph, points[:-5]))  # nobody is beyond
    arms = Graph(graph.nodes[:-1], graph.edges[:-1])
    assert not core.empty_stretches(arms, core.locate(arms, points[:-5]))
    few = points[[0, 60, 119, 180, 239, 300, 359, 360]]  # so few leave such stretches by chance
    assert not core.empty_stretches(graph, core.locate(graph, few))


def test_the_smaller_side_may_be_the_one_with_the_fork():
    graph, points = fork_and_others()
    points = np.vstack([points[:360:20], np.tile([0.0, 24.0], (400, 1))])
    [stretch] = core.empty_stretches(graph, core.locate(graph, points))
    assert stretch.n_beyond == 18
    others = set(graph.tip_names[graph.tips != 31])
    assert set(stretch.tips) == others


def test_neither_the_order_of_points_nor_of_edges_matters():
    graph, points = fork_and_others()
    told = core.empty_stretches(graph, core.locate(graph, points))
    rng = np.random.default_rng(0)
    node = rng.permutation(graph.n_nodes)
    edges = node[graph.edges][rng.permutation(len(graph.edges))]
    edges[::2] = edges[::2, ::-1]
    nodes = np.empty_like(graph.nodes)
    nodes[node] = graph.nodes
    turned = Graph(nodes, edges)
    assert core.empty_stretches(turned, core.locate(turned, points[rng.permutation(len(points))])) == told


def test_rings_parts_and_lone_nodes():
    angle = 2 * np.pi * np.arange(60) / 60
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    edges = np.column_stack([np.arange(60), (np.arange(60) + 1) % 60])
    there = ring[:40]  # a third of the ring is empty, but it has no sides
    graph = Graph(ring, edges)
    assert not core.empty_stretches(graph, core.locate(graph, np.repeat(there, 9, axis=0)))
    fork, points = fork_and_others()
    both = Graph(np.vstack([fork.nodes, ring + 100, [[200, 200]]]), np.vstack([fork.edges, edges + fork.n_nodes]))
    some = np.vstack([points, np.repeat(ring, 3, axis=0) + 100, [[200, 200]]])
    position = core.locate(both, some)
    assert (position.alone >= 0).sum() == 1
    [stretch] = core.empty_stretches(both, position)
    assert stretch.n_beyond == 5
