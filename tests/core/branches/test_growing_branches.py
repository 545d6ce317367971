"""Branches that go, grow together, and whose forks become one: always those of the graph that is left."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj import core
from skeltraj.core._branches.growing_branches import GrowingBranches


def random_tree(seed, n_nodes=60):
    rng = np.random.default_rng(seed)
    nodes = rng.standard_normal((n_nodes, 3))
    edges = np.array([[i, rng.integers(max(0, i - 8), i)] for i in range(1, n_nodes)])
    backwards = rng.random(len(edges)) < 0.5
    return nodes, np.where(backwards[:, None], edges[:, ::-1], edges)


def as_sets(paths, edges):
    """Each branch as its edges, with its path from the end with the smaller number."""
    return {
        frozenset(along.tolist()): tuple(min(path.tolist(), path[::-1].tolist()))
        for path, along in zip(paths, edges, strict=True)
    }


@pytest.mark.parametrize("seed", range(5))
def test_they_are_those_of_the_graph_that_is_left(seed):
    nodes, edges = random_tree(seed)
    graph = core.Graph(nodes, edges)
    left, first = GrowingBranches(graph), graph.branch_of_edge
    rng = np.random.default_rng(seed)
    at, live = edges.copy(), np.ones(len(edges), dtype=bool)
    n_steps = 0
    while True:
        degree = left.degree
        ends = left.ends
        terminal = [
            number for number, both in ends.items() if sorted(degree[end] == 1 for end in both) == [False, True]
        ]
        internal = [number for number, both in ends.items() if min(degree[end] for end in both) > 2]
        if not terminal and not internal:
            break
        if terminal and (n_steps % 2 or not internal):
            number = int(rng.choice(terminal))
            live[left.edges[number]] = False
            left.drop(number, next(end for end in ends[number] if degree[end] > 1))
        else:
            number = int(rng.choice(internal))
            path = left.paths[number]
            live[left.edges[number]] = False
            node = int(path.min())
            at[np.isin(at, path)] = node
            left.join([number], path.tolist(), node)
        n_steps += 1
        # only nodes that are left have edges
        used, renumbered = np.unique(at[live], return_inverse=True)
        now = core.Graph(nodes[used], renumbered.reshape(-1, 2))
        numbers = np.flatnonzero(live)
        wanted = as_sets([used[path] for path in now.branches], [numbers[along] for along in now.branch_edges])
        assert as_sets(left.paths.values(), left.edges.values()) == wanted
        for number, along in left.edges.items():
            np.testing.assert_array_equal(left.now[first[along]], number)
            path = left.paths[number]
            np.testing.assert_array_equal(
                np.sort(at[along], axis=1), np.sort(np.column_stack([path[:-1], path[1:]]), axis=1)
            )
        np.testing.assert_array_equal(left.now[first] >= 0, live)
    assert n_steps > 10


def test_a_copy_changes_by_itself():
    graph = core.Graph(*random_tree(0))
    left = GrowingBranches(graph)
    other = left.copy()
    degree = other.degree
    for number, (begin, end) in other.ends.items():
        if degree[begin] == 1:
            other.drop(number, end)
            break
    other.join([number for number, both in other.ends.items() if min(degree[end] for end in both) > 2][:1], [0], 0)
    assert (other.now < 0).any()
    np.testing.assert_array_equal(left.now, np.arange(len(graph.branches)))
    for number, path in enumerate(graph.branches):
        np.testing.assert_array_equal(left.paths[number], path)
        np.testing.assert_array_equal(left.edges[number], graph.branch_edges[number])


def test_branches_that_meet_at_a_fork_with_two_left_are_one():
    nodes = np.array([[0.0, 0], [1, 0], [2, 0], [1, 1]])
    graph = core.Graph(nodes, np.array([[0, 1], [1, 2], [1, 3]]))
    left = GrowingBranches(graph)
    gone = next(number for number, both in left.ends.items() if 3 in both)
    left.drop(gone, 1)
    ((number, path),) = left.paths.items()
    assert sorted([path[0], path[-1]]) == [0, 2]
    assert path[1] == 1
    assert sorted(left.edges[number].tolist()) == [0, 1]
    assert left.now[gone] == -1
    assert set(left.now.tolist()) == {-1, number}
