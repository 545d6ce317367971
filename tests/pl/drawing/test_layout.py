"""The unfolded tree: that it is the tree, and that nothing crosses."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core import Graph
from skeltraj.pl._drawing.layout import spread, unfold


def tree_and_root(seed):
    """A tree of 2 to 40 nodes, from chains to stars, its edges in any order and direction; and a node of it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 41))
    reach = rng.choice([1, 2, 5, 40])
    parent = [int(rng.integers(max(0, i - reach), i)) for i in range(1, n)]
    name = rng.permutation(n)
    edges = name[np.column_stack([np.arange(1, n), parent]).astype(int).reshape(-1, 2)]
    edges = rng.permuted(rng.permutation(edges), axis=1)
    return Graph(rng.standard_normal((n, 2)), edges), int(rng.integers(n))


@pytest.mark.parametrize("seed", range(60))
def test_the_unfolded_tree_is_the_tree_and_nothing_crosses(seed):
    graph, root = tree_and_root(seed)
    length = graph.distances_from(root)
    flat = unfold(graph, root, length)

    # every edge lies on the stretch of its height, and a riser joins what meets at a fork
    for (a, b), height in zip(graph.edges, flat.edge_height, strict=True):
        upper, lower = (a, b) if length[a] < length[b] else (b, a)
        assert height == flat.height[lower]
        x0, x1, y = flat.stretches.T
        assert ((x0 <= length[upper]) & (length[lower] <= x1) & (y == height)).sum() == 1
        if height != flat.height[upper]:
            x, low, high = flat.risers.T
            joins = (x == length[upper]) & (low <= min(height, flat.height[upper]))
            assert (joins & (high >= max(height, flat.height[upper]))).sum() == 1
    assert (flat.stretches[:, 1] - flat.stretches[:, 0]).sum() == pytest.approx(graph.edge_length.sum())

    # stretches and risers touch only where one begins or ends at the other's length
    for i, (x0, x1, y) in enumerate(flat.stretches):
        for u0, u1, v in flat.stretches[:i]:
            assert y != v or min(x1, u1) <= max(x0, u0)
        for x, low, high in flat.risers:
            assert not (low <= y <= high and x0 < x < x1)
            assert not (y in (low, high) and x == x1)  # a stretch that ends at a fork does so between its children
    x = np.sort(flat.risers[:, 0])
    assert (np.diff(x) > 0).all()

    ends = [v for v in range(graph.n_nodes) if graph.degree[v] == 1 and v != root]
    assert sorted(flat.height[ends]) == list(range(len(ends)))
    assert flat.height[np.argmax(length)] == len(ends) - 1  # the longest way runs along the top


def test_what_the_root_does_not_reach_is_not_laid_out():
    graph = Graph(np.random.default_rng(0).standard_normal((6, 2)), np.array([[0, 1], [4, 3], [2, 1], [5, 4]]))
    flat = unfold(graph, 1, graph.distances_from(1))
    np.testing.assert_array_equal(np.isnan(flat.height), [False, False, False, True, True, True])
    np.testing.assert_array_equal(np.isnan(flat.edge_height), [False, True, False, True])
    assert np.isfinite(flat.stretches).all()
    assert len(flat.stretches) == 2
    assert len(flat.risers) == 1


def test_spread_fills_a_lane_evenly_and_in_any_order_of_the_points():
    rng = np.random.default_rng(0)
    at, lane = rng.random(3000), rng.choice([0.0, 0.5, 2.0], 3000, p=[0.6, 0.3, 0.1])
    offset = spread(at, lane, 0.32)
    np.testing.assert_array_equal(spread(at, lane, 0.32), offset)
    shuffle = rng.permutation(3000)
    np.testing.assert_array_equal(spread(at[shuffle], lane[shuffle], 0.32), offset[shuffle])
    assert np.abs(offset).max() <= 0.32
    widest = [np.abs(offset[lane == y]).max() for y in (0.0, 0.5, 2.0)]
    assert widest[0] > 0.28
    assert widest[0] > widest[1] > widest[2]  # wider where there are more
    assert widest[2] < 0.18
    counts = np.histogram(offset[lane == 0], bins=4, range=(-0.32, 0.32))[0]
    assert counts.min() > 0.6 * counts.max()


def test_spread_of_few_points():
    assert spread(np.empty(0), np.empty(0), 0.32).shape == (0,)
    np.testing.assert_array_equal(spread(np.array([3.0]), np.array([1.0]), 0.32), [0.0])
    same = spread(np.full(200, 1.5), np.zeros(200), 0.32)  # as at a tip, onto which many cells fall
    assert len(np.unique(same)) == 200
    assert 0.25 < np.abs(same).max() <= 0.32
