"""Support of parts of a tree: against counting cell by cell; known answers; the order of the points and threads."""

from __future__ import annotations

import numpy as np
import pytest

from samples import recipe
from skeltraj import core
from skeltraj.core._learning.stability import _compare, _consensus, _Tree
from skeltraj.core._runtime import threads

ARMS = core.Graph(  # a fork at node 2 with three arms, and a fork at node 5 on one of them
    np.array([[0.0, 0], [1, 0], [2, 0], [2, 1], [2, 2], [3, 0], [4, 1], [4, -1]]),
    np.array([[0, 1], [1, 2], [3, 2], [3, 4], [2, 5], [6, 5], [5, 7]]),
)


def along(path, n, rng=None):
    """Points evenly along a path of places."""
    path = np.array(path, dtype=float)
    t = np.linspace(0.01, len(path) - 1.01, n)
    found = np.column_stack([np.interp(t, np.arange(len(path)), column) for column in path.T])
    return found if rng is None else found + 0.01 * rng.standard_normal(found.shape)


def test_known_comparison():
    left, up, mid = along([[0, 0], [2, 0]], 20), along([[2, 0], [2, 2]], 20), along([[2, 0], [3, 0]], 10)
    high, low = along([[3, 0], [4, 1]], 15), along([[3, 0], [4, -1]], 15)
    points = np.concatenate([left, up, mid, high, low])
    # the same without the fork at (3, 0): the low arm ends there, and its points crowd at its tip
    other = core.Graph(ARMS.nodes[:7], ARMS.edges[:6])
    every = np.arange(len(points))
    trees = [_Tree(g, core.locate(g, points), every) for g in (ARMS, other)]
    near = every[:10]
    same = _compare(trees[0], trees[0], near)
    np.testing.assert_array_equal(same.jaccard, 1)
    np.testing.assert_array_equal(same.forks, 1)
    np.testing.assert_array_equal(same.edges, 1)
    np.testing.assert_array_equal(same.matched, trees[0].branch)
    found = _compare(*trees, near)
    # all of the right is one branch of 40 points, the largest part of which has 15
    best = {frozenset(map(int, path[[0, -1]])): j for path, j in zip(ARMS.branches, found.jaccard, strict=True)}
    assert best == {
        frozenset({0, 2}): 1,
        frozenset({2, 4}): 1,
        frozenset({2, 5}): 10 / 40,
        frozenset({5, 6}): 15 / 40,
        frozenset({5, 7}): 15 / 40,
    }
    assert dict(zip(ARMS.forks.tolist(), found.forks.tolist(), strict=True)) == {2: 1, 5: 0}
    assert (found.matched >= 0).tolist() == [True] * 40 + [False] * 40


def test_consensus_takes_out_what_most_replicates_lack():
    rng = np.random.default_rng(0)
    stem = along([[0, 0], [2, 0]], 100, rng)
    points = np.concatenate(
        [
            stem,
            along([[2, 0], [2, 2]], 100, rng),
            along([[2, 0], [3, 0]], 60, rng),
            along([[3, 0], [4, 1]], 60, rng),
            along([[3, 0], [4, -1]], 6, rng),
        ]
    )
    without = core.Graph(ARMS.nodes[:7], ARMS.edges[:6])
    every = np.arange(len(points))
    tree = _Tree(ARMS, core.locate(ARMS, points), every)
    near = every[:10]
    having = _compare(tree, tree, near)
    lacking = _compare(tree, _Tree(without, core.locate(without, points), every), near)
    graph, place = _consensus(tree, [lacking, lacking, having], points)
    assert (len(graph.forks), len(graph.tips), graph.n_nodes) == (1, 3, 7)
    assert place[7] == -1
    np.testing.assert_array_equal(graph.nodes[place[:7]], ARMS.nodes[:7])
    graph, place = _consensus(tree, [lacking, having, having], points)
    np.testing.assert_array_equal(graph.nodes, ARMS.nodes)
    np.testing.assert_array_equal(place, np.arange(8))


def test_consensus_joins_forks_that_most_replicates_do_not_tell_apart():
    rng = np.random.default_rng(0)
    ends = [
        ([0, 0], [2, 0], 80),
        ([2, 0], [2, 2], 80),
        ([2, 0], [3, 0], 6),
        ([3, 0], [4, 1], 80),
        ([3, 0], [4, -1], 80),
    ]
    points = np.concatenate([along([a, b], n, rng) for a, b, n in ends])
    every = np.arange(len(points))
    tree = _Tree(ARMS, core.locate(ARMS, points), every)
    star = core.Graph(np.array([[2.5, 0], [0, 0], [2, 2], [4, 1], [4, -1]]), np.array([[0, 1], [0, 2], [0, 3], [0, 4]]))
    # the same four arms, two others of which leave together
    crossed = core.Graph(ARMS.nodes, np.array([[0, 1], [1, 2], [3, 5], [3, 4], [2, 5], [6, 5], [2, 7]]))
    others = {}
    for name, other in (("star", star), ("crossed", crossed), ("same", ARMS)):
        seen = _Tree(other, core.locate(other, points), every)
        if name == "crossed":
            seen.branch, seen.position = tree.branch, tree.position  # where the points lie is the same
        others[name] = _compare(tree, seen, every[:10])
    for replicates in (["star"] * 3, ["star", "crossed", "same"]):
        graph, place = _consensus(tree, [others[name] for name in replicates], points)
        assert (graph.is_tree, graph.n_nodes, len(graph.tips)) == (True, 7, 4)
        assert graph.degree[graph.forks].tolist() == [4]
        assert place[2] == place[5] == graph.forks[0]
        np.testing.assert_allclose(graph.nodes[place[2]], [2.5, 0])
    graph, place = _consensus(tree, [others[name] for name in ("star", "same", "same")], points)
    np.testing.assert_array_equal(place, np.arange(8))


def fields(found):
    return {name: value for name, value in vars(found).items() if name != "consensus"} | {
        "nodes": found.consensus.nodes,
        "edges": found.consensus.edges,
    }


def run(learned, keep=slice(None), **more):
    X, _, made = learned
    graph = made.fit.graph
    options = dict(root=int(graph.tips[0]), n_replicates=4) | more
    return core.stability(graph, made.fit.embedding[keep], X[keep], recipe(), **options)


@pytest.mark.parametrize("vary", [("cells",), ("rng",), ("sigma", "lam", "n_nodes", "rng", "cells")])
def test_neither_the_order_of_the_points_nor_threads_matter(learned, vary, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 1)
    alone = fields(run(learned, vary=vary))
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    shuffle = np.random.default_rng(1).permutation(250)
    together = fields(run(learned, shuffle, vary=vary))
    assert set(alone) == set(together)
    for name, value in alone.items():
        of_points = name in ("pseudotime_sd", "branch_probability")
        np.testing.assert_array_equal(together[name], value[shuffle] if of_points else value, err_msg=name)
    other = run(learned, vary=vary, rng=1)
    assert (other.pseudotime_sd != alone["pseudotime_sd"]).any()


def test_only_what_varies_differs(learned):
    found = run(learned, vary=("n_nodes",), n_replicates=2)
    assert found.pseudotime_sd.max() > 0


def test_errors(learned):
    X, _, made = learned
    graph, points = made.fit.graph, made.fit.embedding
    for more, kind, message in (
        (dict(n_replicates=1), ValueError, "n_replicates=1 is out of range; wanted a whole number from 2 up"),
        (dict(vary="cells"), TypeError, r"vary='cells' is a str; wanted a tuple"),
        (dict(vary=()), ValueError, "vary is empty; wanted some of"),
        (dict(vary=("cell",)), ValueError, r"vary='cell' is not known. Available: \['cells', 'sigma'"),
        (dict(root=1000), ValueError, "root=1000 is not a node; wanted a number from 0 to"),
    ):
        with pytest.raises(kind, match=message):
            core.stability(graph, points, X, recipe(), **(dict(root=0) | more))
    with pytest.raises(ValueError, match="vary holds 'sigma', but the tree was fitted with assignment='hard'"):
        core.stability(graph, points, X, recipe(assignment="hard", sigma=0.0), root=0, vary=("sigma",))
    with pytest.raises(ValueError, match="X has 249 rows for 250 points"):
        core.stability(graph, points, X[1:], recipe(), root=0)
    parts = core.Graph(graph.nodes, graph.edges[1:])
    with pytest.raises(ValueError, match=r"the skeleton has 0 loop\(s\) and 2 part\(s\); wanted one tree"):
        core.stability(parts, points, X, recipe(), root=0)
