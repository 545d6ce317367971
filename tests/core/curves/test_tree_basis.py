"""Splines on a skeleton: constants, continuity, polynomials, slopes, few points, loops, parts, edges without length."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from samples import random_tree
from skeltraj import core
from skeltraj.core._curves.tree_basis import BranchSpline, LocalRows
from skeltraj.core._graph.position import at_nodes
from two_forks import TWO_FORKS

CIRCLE = core.Graph(
    np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]),
    np.array([[0, 1], [1, 2], [2, 3], [3, 0]]),
)
FOREST = core.Graph(
    np.array([[0.0, 0], [1, 0], [2, 0], [0, 5], [3, 5], [9, 9]]),
    np.array([[0, 1], [1, 2], [3, 4]]),
)


def scattered(graph, n=400, seed=0):
    """Points anywhere on the edges."""
    rng = np.random.default_rng(seed)
    return core.Position(rng.integers(0, len(graph.edges), n), rng.random(n), np.zeros(n))


def everywhere(graph, steps=11):
    """Points at equal steps on every edge, its ends included."""
    edge = np.repeat(np.arange(len(graph.edges)), steps)
    return core.Position(edge, np.tile(np.linspace(0, 1, steps), len(graph.edges)), np.zeros(len(edge)))


def fitted(basis, position, values):
    """Coefficients of the function with these values, and the largest error at the points."""
    X = basis.rows(position).dense()
    b = np.linalg.lstsq(X, values, rcond=None)[0]
    return b, np.abs(X @ b - values).max()


@pytest.mark.parametrize("graph", [TWO_FORKS, CIRCLE, FOREST, random_tree(15, np.random.default_rng(3))])
def test_rows_sum_to_one_and_are_not_negative(graph):
    basis = core.tree_basis(graph, scattered(graph))
    rows = basis.rows(everywhere(graph))
    assert rows.value.min() >= 0
    np.testing.assert_allclose(rows.dense().sum(axis=1), 1)
    assert rows.n_columns == basis.n_columns
    assert len(rows) == 11 * len(graph.edges)


@pytest.mark.parametrize("graph", [TWO_FORKS, CIRCLE, random_tree(15, np.random.default_rng(3))])
def test_functions_are_continuous_at_every_node(graph):
    """A node is reached at the end of each of its edges, and the rows there are the same."""
    basis = core.tree_basis(graph, scattered(graph))
    for node in range(graph.n_nodes):
        edges, ends = np.nonzero(graph.edges == node)
        rows = basis.rows(core.Position(edges, ends.astype(float), np.zeros(len(edges)))).dense()
        np.testing.assert_allclose(rows, np.tile(rows[0], (len(rows), 1)), atol=1e-12)
    ends = basis.rows(at_nodes(graph, np.r_[graph.tips, graph.forks])).dense()
    np.testing.assert_allclose(np.sort(ends, axis=1)[:, -1], 1)  # tips and forks have a coefficient of their own
    assert len(np.unique(ends.argmax(axis=1))) == len(ends)


def test_cubic_polynomials_of_the_length_along_each_branch_are_among_the_functions():
    """Any heights at tips and forks, and any cubic polynomial between them."""
    rng = np.random.default_rng(1)
    basis = core.tree_basis(TWO_FORKS, scattered(TWO_FORKS, 800))
    assert {spline.degree for spline in basis.splines} == {3}
    position = everywhere(TWO_FORKS)
    branch, along = basis.along(position)
    height = rng.standard_normal(TWO_FORKS.n_nodes)
    values = np.zeros(len(branch))
    for b, path in enumerate(TWO_FORKS.branches):
        here, length = branch == b, basis.splines[b].length
        t = along[here] / length
        values[here] = (1 - t) * height[path[0]] + t * height[path[-1]] + t * (1 - t) * (2 * rng.normal() + t)
    assert fitted(basis, position, values)[1] < 1e-10
    jump = np.where(branch == 0, 1.0, 0.0)  # ... and no others: this is not continuous
    assert fitted(basis, position, jump)[1] > 0.1


def test_roughness_is_the_integral_of_the_squared_slope():
    basis = core.tree_basis(TWO_FORKS, scattered(TWO_FORKS, 800))
    b = np.random.default_rng(2).standard_normal(basis.n_columns)
    total = 0.0
    for number, spline in enumerate(basis.splines):
        along = np.linspace(0, spline.length, 4001)
        values = basis.at(np.full(len(along), number), along).dense() @ b
        total += (np.diff(values) ** 2 / np.diff(along)).sum()
    np.testing.assert_allclose(b @ basis.roughness @ b, total, rtol=1e-4)
    np.testing.assert_allclose(basis.roughness @ np.ones(basis.n_columns), 0, atol=1e-9)
    assert np.linalg.eigvalsh(basis.roughness)[0] > -1e-9


def test_knots_follow_lengths_and_points():
    """A line of length 3 and an arm of length 1: the longest path is 4 long and has 9 knots."""
    graph = core.Graph(
        np.array([[0.0, 0], [3, 0], [4, 0], [3, 1]]),
        np.array([[0, 1], [1, 2], [1, 3]]),
    )
    position = scattered(graph, 3000)
    basis = core.tree_basis(graph, position, 9)
    assert [(spline.length, len(spline.knots)) for spline in basis.splines] == [(3, 7), (1, 3), (1, 3)]
    assert basis.n_columns == 4 + sum(len(spline.knots) for spline in basis.splines)  # and those of four nodes
    branch, along = basis.along(position)
    inner = basis.splines[0].knots[1:-1]
    np.testing.assert_allclose(inner, np.quantile(along[branch == 0], np.arange(1, 6) / 6))
    assert repr(basis) == f"TreeBasis: {basis.n_columns} coefficients on 3 branches, 7 knots within them"
    default = core.tree_basis(graph, position)
    explicit = core.tree_basis(graph, position, 6)
    assert [list(s.knots) for s in default.splines] == [list(s.knots) for s in explicit.splines]
    fewest = core.tree_basis(graph, position, 2)
    assert [len(spline.knots) for spline in fewest.splines] == [2, 2, 2]


def test_few_points_bring_fewer_knots_and_lower_degrees():
    line = core.Graph(np.array([[0.0, 0], [1, 0]]), np.array([[0, 1]]))
    shapes = {}
    for n in (1, 5, 19, 20, 30, 40, 60, 400):
        position = core.Position(np.zeros(n, int), (np.arange(n) + 0.5) / n, np.zeros(n))
        spline = core.tree_basis(line, position).splines[0]
        shapes[n] = (spline.degree, len(spline.knots) - 2)
        assert len(spline.columns) == len(spline.knots) + spline.degree - 1
        assert 10 * (len(spline.columns) - 2) <= n  # beside those of its ends
    assert shapes[1] == shapes[5] == (1, 0)
    assert shapes[19] == (2, 0)
    assert shapes[400] == (3, 4)
    degrees, knots = zip(*shapes.values(), strict=True)
    assert all(a <= b for a, b in pairwise(degrees))
    assert all(a <= b for a, b in pairwise(knots))
    tied = core.Position(np.zeros(400, int), np.repeat([0.2, 0.7], 200), np.zeros(400))  # two places: a straight line
    assert core.tree_basis(line, tied).n_columns == 2


def test_a_branch_without_points_is_a_straight_line():
    position = scattered(TWO_FORKS, 500)
    arm = TWO_FORKS.branch_of_edge[3]
    part = position.part(TWO_FORKS.branch_of_edge[position.edge] != arm)
    spline = core.tree_basis(TWO_FORKS, part).splines[arm]
    assert (spline.degree, list(spline.knots)) == (1, [0, 2])


def test_neither_the_order_of_points_nor_of_nodes_and_edges_matters():
    rng = np.random.default_rng(4)
    position = scattered(TWO_FORKS, 500)
    basis = core.tree_basis(TWO_FORKS, position)
    shuffled = core.tree_basis(TWO_FORKS, position.part(rng.permutation(500)))
    for one, other in zip(basis.splines, shuffled.splines, strict=True):
        np.testing.assert_array_equal(one.knots, other.knots)
        np.testing.assert_array_equal(one.columns, other.columns)
    # another way to write down the same skeleton
    node, turned = rng.permutation(8), rng.random(7) < 0.5
    order = rng.permutation(7)
    edges = np.argsort(node)[TWO_FORKS.edges]
    edges[turned] = edges[turned, ::-1]
    graph = core.Graph(TWO_FORKS.nodes[node], edges[order])
    moved = core.Position(
        np.argsort(order)[position.edge],
        np.where(turned[position.edge], 1 - position.fraction, position.fraction),
        position.distance,
    )
    again = core.tree_basis(graph, moved)
    assert [s.degree for s in again.splines] == [s.degree for s in basis.splines]
    X, Z = basis.rows(position).dense(), again.rows(moved).dense()
    np.testing.assert_allclose(Z @ np.linalg.lstsq(Z, X, rcond=None)[0], X, atol=1e-8)  # the same functions
    for one, other in zip(basis.splines, again.splines, strict=True):
        np.testing.assert_allclose(one.knots, other.knots)


def test_a_circle_closes_and_parts_have_functions_of_their_own():
    basis = core.tree_basis(CIRCLE, scattered(CIRCLE))
    assert len(basis.splines) == 1
    assert basis.splines[0].columns[0] == basis.splines[0].columns[-1]
    start, end = basis.at(np.array([0, 0]), np.array([0.0, 4.0])).dense()
    np.testing.assert_allclose(start, end)
    parts = core.tree_basis(FOREST, scattered(FOREST))
    X = parts.rows(everywhere(FOREST)).dense()
    first = FOREST.branch_of_edge[everywhere(FOREST).edge] == FOREST.branch_of_edge[0]
    assert not (np.abs(X[first]).sum(axis=0) * np.abs(X[~first]).sum(axis=0)).any()


def test_places_and_positions_are_inverse():
    for graph in (TWO_FORKS, CIRCLE):
        basis = core.tree_basis(graph, scattered(graph))
        branch, along = basis.places(7)
        assert len(branch) == 8 * len(graph.branches)
        position = basis.position(branch, along)
        back = basis.along(position)
        np.testing.assert_array_equal(back[0], branch)
        length = basis.splines[0].length
        np.testing.assert_allclose(back[1], along, atol=1e-12 * length)
        np.testing.assert_allclose(basis.rows(position).dense(), basis.at(branch, along).dense(), atol=1e-12)


def test_edges_without_length():
    """Two nodes at one place, within a branch and as a branch of its own: one value for both."""
    within = core.Graph(np.array([[0.0, 0], [1, 0], [1, 0], [2, 0]]), np.array([[0, 1], [1, 2], [2, 3]]))
    basis = core.tree_basis(within, scattered(within, 600))
    assert len(basis.splines) == 1
    position = core.Position(np.array([1, 1, 1, 0, 2]), np.array([0, 0.5, 1, 1, 0]), np.zeros(5))
    rows = basis.rows(position).dense()
    np.testing.assert_allclose(rows, np.tile(rows[0], (5, 1)))
    branch, along = np.zeros(3, int), np.array([0.0, 1.0, 2.0])
    np.testing.assert_allclose(basis.position(branch, along).places(within)[:, 0], along)
    # two forks at one place
    nodes = np.array([[0.0, 0], [1, 0], [1, 0], [2, 1], [2, -1], [1, 3], [0, -2.5]])
    forks = core.Graph(nodes, np.array([[0, 1], [1, 2], [2, 3], [2, 4], [1, 5], [6, 0]]))
    basis = core.tree_basis(forks, scattered(forks, 900))
    rows = basis.rows(core.Position(np.array([0, 1, 1, 1, 2, 3]), np.array([1, 0, 0.4, 1, 0, 0]), np.zeros(6))).dense()
    np.testing.assert_allclose(rows, np.tile(rows[0], (6, 1)))
    np.testing.assert_allclose(basis.rows(everywhere(forks)).dense().sum(axis=1), 1)
    assert np.linalg.matrix_rank(basis.rows(everywhere(forks)).dense()) == basis.n_columns
    flat = BranchSpline(0.0, 1, np.zeros(2), np.array([0, 1]))
    np.testing.assert_array_equal(flat.rows(np.zeros(2)), [[1, 0], [1, 0]])
    np.testing.assert_array_equal(flat.roughness(), np.zeros((2, 2)))


def test_rows_that_are_local():
    basis = core.tree_basis(TWO_FORKS, scattered(TWO_FORKS))
    branch, along = basis.along(scattered(TWO_FORKS, 60, seed=2))
    order = np.lexsort([along, branch])
    rows = basis.at(branch[order], along[order])
    X = rows.dense()
    np.testing.assert_allclose(rows.gram(), X.T @ X / 60, atol=1e-15)
    np.testing.assert_array_equal(rows.part(np.arange(5, 9)).dense(), X[5:9])
    assert (rows.spans[0], rows.spans[-1]) == (0, 60)
    for start, end in pairwise(rows.spans):
        assert (rows.index[start:end] == rows.index[start]).all()
    empty = LocalRows(np.zeros((0, 4), int), np.zeros((0, 4)), 3)
    np.testing.assert_array_equal(empty.spans, [0])
    np.testing.assert_array_equal(empty.gram(), np.zeros((3, 3)))


@pytest.mark.parametrize(
    ("n_knots", "error", "words"),
    [
        (1, ValueError, "n_knots=1 is out of range"),
        (2.5, TypeError, "n_knots=2.5"),
        ("many", TypeError, "n_knots='many'"),
        (True, TypeError, "n_knots=True"),
    ],
)
def test_numbers_of_knots_that_are_refused(n_knots, error, words):
    with pytest.raises(error, match=words):
        core.tree_basis(TWO_FORKS, scattered(TWO_FORKS), n_knots)


def test_positions_that_are_refused():
    basis = core.tree_basis(FOREST, scattered(FOREST))
    alone = core.Position(np.array([0, 2]), np.zeros(2), np.zeros(2), np.array([-1, 5]))
    with pytest.raises(ValueError, match="1 of 2 points lie at nodes without edges; wanted points on branches"):
        basis.rows(alone)
    assert core.tree_basis(FOREST, alone).n_columns == 4  # but they do no harm to the choice of knots
    with pytest.raises(ValueError, match="position"):
        core.tree_basis(FOREST, core.Position(np.array([7]), np.zeros(1), np.zeros(1)))
    lonely = core.Graph(np.array([[0.0, 0], [1, 1]]), np.empty((0, 2), dtype=int))
    with pytest.raises(ValueError, match="2 nodes but no edges"):
        core.tree_basis(lonely, core.Position(np.zeros(0, int), np.zeros(0), np.zeros(0)))
