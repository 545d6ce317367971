"""Support, Jaccard indices and agreement against moving cells one by one."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

import oracles
from samples import random_tree
from skeltraj import core
from skeltraj.core._branches.comparison import TreeWithPoints, compare
from skeltraj.core._branches.overlap import agreement, arm_support, jaccard, transfer_support
from skeltraj.core._graph.position import Position
from skeltraj.core._graph.sides import Sides


def side_of(graph, edge, cell):
    """The end of an edge that a cell is with when the edge is cut in its middle."""
    a, b = (int(v) for v in graph.edges[edge])
    on, fraction = cell
    if on == edge:
        return a if fraction <= 0.5 else b
    G = nx.Graph([tuple(map(int, e)) for i, e in enumerate(graph.edges) if i != edge])
    G.add_nodes_from(range(graph.n_nodes))
    return a if nx.has_path(G, a, int(graph.edges[on][0])) else b


def oracle(mine, theirs, at_mine, at_theirs):
    """Support of each edge, by moving cells one by one."""
    support = []
    for e in range(len(mine.edges)):
        ends = [side_of(mine, e, cell) for cell in at_mine]
        here = [end == ends[0] for end in ends]
        p = min(sum(here), len(here) - sum(here))
        fewest = len(here)
        for f in range(len(theirs.edges)):
            ends = [side_of(theirs, f, cell) for cell in at_theirs]
            there = [end == ends[0] for end in ends]
            moved = sum(x != y for x, y in zip(here, there, strict=True))
            fewest = min(fewest, moved, len(here) - moved)
        support.append(1.0 if p < 2 else max(0.0, 1 - fewest / (p - 1)))
    return support


@pytest.mark.parametrize("seed", range(8))
def test_support_of_edges_is_that_of_moving_cells_one_by_one(seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((14, 2))
    trees = [random_tree(int(n), rng) for n in rng.integers(3, 8, 2)]
    at = [core.locate(tree, points) for tree in trees]
    cells = [list(zip(position.edge.tolist(), position.fraction.tolist(), strict=True)) for position in at]
    splits = [Sides(tree).below(position) for tree, position in zip(trees, at, strict=True)]
    support = transfer_support(*splits)
    np.testing.assert_allclose(support, oracle(*trees, *cells))
    np.testing.assert_array_equal(transfer_support(splits[0], splits[0]), 1.0)
    many = np.repeat(splits[0], 600, axis=0)  # more than are compared at once
    np.testing.assert_array_equal(transfer_support(many, splits[1]), np.repeat(support, 600))


def test_jaccard_is_that_of_sets():
    rng = np.random.default_rng(0)
    mine, theirs = rng.integers(0, 3, 40), rng.integers(0, 4, 40)
    similarity = jaccard(mine, theirs, 4, 4)  # the last of mine is empty
    for i in range(4):
        for j in range(4):
            a, b = set(np.flatnonzero(mine == i)), set(np.flatnonzero(theirs == j))
            assert similarity[i, j] == pytest.approx(len(a & b) / len(a | b))
    assert jaccard(np.zeros(2, int), np.zeros(2, int), 2, 2)[1, 1] == 0


def test_agreement_is_the_one_defined():
    rng = np.random.default_rng(0)
    for _ in range(20):
        mine, theirs = rng.integers(0, 4, 30), rng.integers(0, 3, 30)
        value = agreement(mine, theirs, 5, 4)  # some parts are empty
        assert value == pytest.approx(oracles.agreement(mine.tolist(), theirs.tolist()))
        assert value == pytest.approx(agreement(theirs, mine, 4, 5))
    assert agreement(mine, 3 - mine, 4, 4) == 1  # other names, the same parts


def on_tree(tree, n, rng):
    """Points anywhere along the edges of a tree."""
    return Position(rng.integers(len(tree.edges), size=n), rng.uniform(0.05, 0.95, n), np.zeros(n))


def path_lengths(tree, at):
    """Between all points of a tree, (n, n)."""
    of_node = np.array([tree.distances_from(node) for node in range(tree.n_nodes)])
    first, last = tree.edges[at.edge].T
    length = tree.edge_length[at.edge]
    ends = [(first, at.fraction * length), (last, (1 - at.fraction) * length)]
    ways = [of_node[np.ix_(a, b)] + x[:, None] + y for a, x in ends for b, y in ends]
    between = np.min(ways, axis=0)
    same = at.edge[:, None] == at.edge
    return np.where(same, np.abs(at.fraction[:, None] - at.fraction) * length, between)


@pytest.mark.parametrize("seed", range(12))
def test_support_of_arms_and_triplets_is_that_of_cells_one_by_one(seed):
    rng = np.random.default_rng(seed)
    mine, theirs = (random_tree(int(n), rng) for n in rng.integers(5, 12, 2))
    n = int(rng.integers(12, 40))
    at, there = on_tree(mine, n, rng), on_tree(theirs, n, rng)
    if seed % 2:  # the same tree, some of the points elsewhere
        theirs = mine
        there = Position(np.where(rng.random(n) < 0.2, there.edge % len(mine.edges), at.edge), at.fraction, at.distance)
    other_length = path_lengths(theirs, there)
    one, other = (TreeWithPoints(tree, where, np.arange(n)) for tree, where in ((mine, at), (theirs, there)))
    found = compare(one, other, np.arange(3))
    edges, other_edges = mine.edges.tolist(), theirs.edges.tolist()
    for number, path in enumerate(mine.branches):
        degree = mine.degree[path[[0, -1]]]
        if sorted(degree > 2) == [False, True]:
            outward = path if degree[0] == 1 else path[::-1]
            support = oracles.arm_support(outward.tolist(), edges, at.edge, other_edges, there.edge, there.fraction)
            assert found.branch_support[number] == pytest.approx(support, abs=1e-12)
        else:
            assert found.branch_support[number] == found.branch_overlap[number]
    for number, fork in enumerate(mine.forks.tolist()):
        side = one.forks[number][0]
        away = at.distances_from(mine, fork)
        far = []
        for i in range(mine.degree[fork]):
            on = np.flatnonzero(side == i)
            far.append([c for c in on if away[c] >= np.median(away[on])])
        if all(far):
            triplets = [oracles.triplet_support(three, other_length) for three in combinations(far, 3)]
            assert found.fork_triplets[number] == pytest.approx(np.mean(triplets), abs=1e-12)
        else:
            assert found.fork_triplets[number] == 0
    itself = compare(one, one, np.arange(3))
    n_cells = np.bincount(one.branch, minlength=len(mine.branches))
    np.testing.assert_array_equal(itself.branch_support, n_cells > 0)
    assert set(itself.fork_triplets.tolist()) <= {0.0, 1.0}


def test_arms_of_few_points():
    cuts = np.array([[1, 0, 0, 0], [1, 1, 0, 0]], dtype=bool)
    arms = [np.array([row], dtype=bool) for row in ([1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1])]
    # found; one other cell of an arm of one moves; no cell; the other side of a cut
    assert arm_support(arms, cuts).tolist() == [1, 0, 0, 1]
    assert arm_support([np.concatenate(arms[:2])], cuts).tolist() == [0.5]  # the mean over its cuts
    assert arm_support([], cuts).shape == (0,)
