"""Search for near nodes against a scan of all, to the last bit; both against one row at a time."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import oracles
from comparing import close
from point_sets import SHAPES, random
from samples import forked
from skeltraj import core
from skeltraj.core._geometry.assign import _nodes_in_reach_by_tree, assign, assign_rows, nearest_nodes, node_index
from skeltraj.core._geometry.kdtree import DEPTH, build


def same_assignment(a, b):
    np.testing.assert_array_equal(a.weights.indptr, b.weights.indptr)
    np.testing.assert_array_equal(a.weights.indices, b.weights.indices)
    np.testing.assert_array_equal(a.weights.data, b.weights.data)
    assert a.cost == b.cost


def one_row_at_a_time(points, nodes, sigma):
    rows, cost = [], 0.0
    for z in points:
        distance = [0.0] * len(nodes)
        for k, c in enumerate(nodes):
            for j in range(len(z)):
                distance[k] += (z[j] - c[j]) * (z[j] - c[j])
        low = min(distance)
        if sigma == 0:
            rows.append(([distance.index(low)], [1.0]))
            cost += low
        else:
            near = [k for k in range(len(nodes)) if distance[k] - low <= 37.0 * sigma]
            weights = [math.exp(-(distance[k] - low) / sigma) for k in near]
            rows.append((near, [w / sum(weights) for w in weights]))
            cost += low - sigma * math.log(sum(weights))
    return rows, cost


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 10, 11])
@pytest.mark.parametrize("sigma", [0.0, 1e-3, 0.1, 10.0])
def test_scan_is_the_definition(d, sigma):
    rng = np.random.default_rng(d)
    for n_nodes in (1, 2, 37, 80, 81, 160, 161, 240):
        points, nodes = rng.standard_normal((30, d)), rng.integers(-2, 3, (n_nodes, d)).astype(float)
        assignment = assign(points, nodes, sigma)
        rows, cost = one_row_at_a_time(points, nodes, sigma)
        for i, (indices, weights) in enumerate(rows):
            np.testing.assert_array_equal(assignment.weights[i].indices, indices)
            np.testing.assert_allclose(assignment.weights[i].data, weights, rtol=1e-14)
        assert assignment.cost == pytest.approx(cost, rel=1e-13)
        np.testing.assert_allclose(
            assignment.weights.toarray(), oracles.soft_assignment(points, nodes, sigma), atol=1e-12
        )


@pytest.mark.parametrize("least_weight", [1e-300, 1e-6, 0.1, 1.0])
def test_weights_below_the_least_are_left_out(least_weight):
    rng = np.random.default_rng(0)
    points, nodes, sigma = rng.standard_normal((200, 2)), rng.standard_normal((60, 2)), 0.05
    distance = ((points[:, None] - nodes[None]) ** 2).sum(axis=2)
    weights = np.exp(-(distance - distance.min(axis=1, keepdims=True)) / sigma)
    weights[weights < max(least_weight, np.exp(-37.0))] = 0
    assignment = assign(points, nodes, sigma, least_weight=least_weight)
    np.testing.assert_array_equal(assignment.weights.toarray() > 0, weights > 0)
    close(assignment.weights, weights / weights.sum(axis=1, keepdims=True), 1e-12)
    cost = distance.min(axis=1) - sigma * np.log(weights.sum(axis=1))
    assert assignment.cost == pytest.approx(cost.sum(), rel=1e-12)


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_search_equals_scan(shape, d):
    rng = np.random.default_rng(d)
    for n_nodes in (1, 2, 17, 300, 4000):
        nodes = shape(n_nodes, d, rng)
        points = np.concatenate(
            [random(100, d, rng), shape(100, d, rng), nodes[:100], nodes[:100] + 1e-4, 1e6 * nodes[:3]]
        )
        tree = build(nodes)
        for sigma in (0.0, 1e-300, 1e-9, 1e-5, 1e-3, 0.03, 1.0, 1e4):
            same_assignment(assign(points, nodes, sigma, tree), assign(points, nodes, sigma))


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("sigma", [0.0, 1e-4])
@pytest.mark.parametrize("d", [2, 3])
def test_one_node_per_point(d, sigma):
    nodes = np.sort(random(3000, d, np.random.default_rng(0)), axis=0)
    index = node_index(nodes)
    assert index is not None
    assignment = assign(nodes, nodes, sigma, index)
    same_assignment(assignment, assign(nodes, nodes, sigma))
    np.testing.assert_array_equal(np.asarray(assignment.weights.argmax(axis=1)).ravel(), np.arange(3000))


def test_the_first_of_equally_near_nodes():
    corners = np.array([[0.0, 0.0], [0, 2], [2, 0], [2, 2]])
    nodes = np.concatenate([np.random.default_rng(0).permuted(np.tile(corners, (1000, 1)), axis=0), corners + 50])
    for index in (None, build(nodes)):
        chosen = assign(np.array([[1.0, 1.0], [1.0, 1.9], [51.0, 51.0]]), nodes, 0.0, index).weights.indices
        distance = ((np.array([[1.0, 1.0], [1.0, 1.9], [51.0, 51.0]])[:, None] - nodes[None]) ** 2).sum(axis=2)
        np.testing.assert_array_equal(chosen, distance.argmin(axis=1))
        points = np.array([[1.0, 1.0], [1.0, 1.9], [51.0, 51.0]])
        numbers, squared = nearest_nodes(points, nodes, index)
        np.testing.assert_array_equal(numbers, chosen)
        np.testing.assert_array_equal(squared, distance.min(axis=1))


def test_the_search_is_given_up_only_where_many_nodes_are_near():
    rng = np.random.default_rng(0)
    nodes = rng.random((4000, 2))
    tree = build(nodes)

    def search(z, reach):
        distance, within, above = np.empty(4001), np.empty(4001, dtype=np.int32), np.empty(4001)
        n, low = _nodes_in_reach_by_tree(
            z, tree, reach, np.empty(DEPTH, dtype=np.int64), np.empty(DEPTH), distance, within, above
        )
        return n, low, within[: max(n, 0)]

    for z in rng.random((50, 2)):
        distance = (z[0] - nodes[:, 0]) ** 2 + (z[1] - nodes[:, 1]) ** 2
        for reach in (0.0, 1e-4, 1e-3):
            _, low, within = search(z, reach)
            assert low == distance.min()
            np.testing.assert_array_equal(within, np.flatnonzero(distance - low <= reach))
        assert search(z, 10.0)[0] == -1


@pytest.mark.parametrize("scale", [1e-170, 1e-155, 1e150, 1e154, 1e300])
@pytest.mark.parametrize("sigma", [0.0, 1e-310, 1.0, 1e300])
def test_search_equals_scan_where_squares_under_or_overflow(scale, sigma):
    rng = np.random.default_rng(0)
    nodes, points = scale * rng.standard_normal((2000, 2)), scale * rng.standard_normal((50, 2))
    same_assignment(assign(points, nodes, sigma, build(nodes)), assign(points, nodes, sigma))


def test_no_cap_on_the_entries_of_a_row():
    rng = np.random.default_rng(0)
    nodes = rng.random((2000, 2))
    # few entries first, then all: room must grow
    points = np.concatenate([1e4 * np.ones((50, 2)) + rng.random((50, 2)), rng.random((50, 2))])
    weights = assign(points, nodes, 100.0, build(nodes)).weights
    np.testing.assert_allclose(weights.toarray(), oracles.soft_assignment(points, nodes, 100.0), atol=1e-14)
    assert (np.diff(weights.indptr)[50:] == 2000).all()


@pytest.mark.compiled("takes minutes")
def test_several_threads_use_one_index():
    rng = np.random.default_rng(0)
    nodes, points = rng.random((3000, 2)), rng.random((4000, 2))
    index = node_index(nodes)
    blocks = np.split(points, 40)
    with ThreadPoolExecutor(8) as pool:
        for assignment, block in zip(
            pool.map(lambda block: assign(block, nodes, 1e-4, index), blocks), blocks, strict=True
        ):
            same_assignment(assignment, assign(block, nodes, 1e-4))


def test_a_row_does_not_depend_on_the_rows_beside_it():
    rng = np.random.default_rng(0)
    for n_nodes in (100, 3000):
        nodes, points = rng.random((n_nodes, 3)), rng.random((200, 3))
        for sigma in (0.0, 1e-4, 1e-2):
            index = node_index(nodes)
            weights = assign(points, nodes, sigma, index).weights
            order = rng.permutation(200)
            assert (assign(points[order], nodes, sigma, index).weights != weights[order]).nnz == 0
            assert (assign(points[7:8], nodes, sigma, index).weights != weights[7]).nnz == 0


def test_a_node_at_the_end_of_the_reach_is_within():
    nodes = np.full((81, 2), 1e3)
    nodes[0], nodes[40] = 0.0, (6.0, 1.0)  # 37 farther, where the weight is a 37th power of e
    weights = assign(np.zeros((1, 2)), nodes, 1.0).weights
    np.testing.assert_array_equal(weights.indices, [0, 40])
    np.testing.assert_allclose(weights.data, [1.0, np.exp(-37.0)], rtol=1e-14)


@pytest.mark.parametrize("sigma", [1e300, 1e307, 1.7e308])
def test_whatever_is_within_reach_is_a_node(sigma):
    nodes = np.random.default_rng(0).random((81, 2))  # the places of the last run are not full
    weights = assign(nodes[:5], nodes, sigma).weights
    np.testing.assert_array_equal(weights.indices.reshape(5, 81), np.tile(np.arange(81), (5, 1)))
    np.testing.assert_allclose(weights.data, 1 / 81)


def test_few_nodes_have_no_index():
    assert node_index(np.zeros((200, 2))) is None
    assert node_index(np.zeros((20_000, 2))) is not None


def test_assignment_does_not_underflow():
    points = np.array([[0.0, 0.0], [1e6, 0.0], [0.0, -3e8]])
    nodes = np.array([[0.0, 1.0], [0.0, -1.0], [5.0, 0.0]])
    R = assign(points, nodes, 1e-3).weights
    np.testing.assert_allclose(R.sum(axis=1), 1)
    np.testing.assert_allclose(R.toarray(), [[0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]])
    X = np.concatenate([forked(50)[0], [[1e7, 0, 0, 0, 0, 0]]])
    fit = core.ddrtree(X, sigma=1e-3, n_nodes=20)
    assert np.isfinite(fit.embedding).all()
    np.testing.assert_allclose(fit.assignment.sum(axis=1), 1)


def test_the_assignments_cost_is_the_bracket_of_the_objective():
    rng = np.random.default_rng(0)
    Z, C = rng.standard_normal((200, 2)), rng.standard_normal((30, 2))
    for sigma in (0.0, 1e-3, 0.5, 20.0):
        assignment = assign(Z, C, sigma)
        R, cost = assignment.weights, assignment.cost
        close(R, oracles.soft_assignment(Z, C, sigma), 1e-12)
        entropy = (R.data * np.log(R.data)).sum()
        distance = ((Z[:, None] - C[None]) ** 2).sum(axis=2)
        assert cost == pytest.approx(R.multiply(distance).sum() + sigma * entropy, rel=1e-10)
        if sigma == 20.0:
            assert R.nnz == R.shape[0] * R.shape[1]  # no cap on the entries of a row


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((4, 52)), r"rows to be assigned: an array of shape \(4, 52\) was given; wanted \(n, 2\)"),
        (np.zeros((4, 1)), r"rows to be assigned: an array of shape \(4, 1\) was given; wanted \(n, 2\)"),
        (np.array([[0.0, np.nan]]), r"rows to be assigned: 1 of 1 hold NaN or infinite coordinates"),
    ],
)
def test_rows_that_are_not_where_nodes_are(rows, message):
    with pytest.raises(ValueError, match=message):
        assign_rows(rows, np.eye(2), 0.5)
