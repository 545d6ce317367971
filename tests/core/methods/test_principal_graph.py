"""Principal graphs against the literal version, and what they promise."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import oracles
from samples import forked
from skeltraj import core


@pytest.mark.parametrize("n_nodes", [30, "all"])
def test_a_graphs_objective_is_the_papers_and_never_rises(n_nodes):
    X = forked(80)[0]
    start = core.principal_graph(X, n_nodes=n_nodes, max_iter=1)
    fit = core.principal_graph(X, n_nodes=n_nodes, min_weight=0, tol=0, max_iter=30)
    assert (np.diff(fit.objective) <= 1e-6 * np.ptp(fit.objective)).all()
    assert fit.objective[-1] < start.objective[0]
    p = fit.params
    if n_nodes == "all":
        K, mean = len(fit.nodes), X.mean(axis=0)
        G = np.zeros((K, K))
        G[fit.edges[:, 0], fit.edges[:, 1]] = G[fit.edges[:, 1], fit.edges[:, 0]] = fit.weights
        wanted = oracles.l1_graph_cost(X - mean, fit.nodes, G, p["eta"], p["constant"]) + p[
            "gamma"
        ] * oracles.quantisation(X, fit.nodes, fit.assignment.toarray(), p["sigma"])
        assert fit.objective[-1] == pytest.approx(wanted, rel=1e-7)


def loops(fit, longer_than):
    """Loops of a minimum cycle basis that are longer than a length."""
    graph = nx.Graph()
    for (a, b), length in zip(fit.edges.tolist(), fit.edge_length, strict=True):
        graph.add_edge(a, b, length=length)
    around = lambda loop: sum(graph[a][b]["length"] for a, b in zip(loop, [*loop[1:], loop[0]], strict=True))
    basis = nx.minimum_cycle_basis(graph, weight="length")
    ordered = [[a for a, _ in nx.find_cycle(graph.subgraph(loop))] for loop in basis]
    return sum(around(loop) > longer_than for loop in ordered)


def circle(t):
    return np.column_stack([np.cos(t), np.sin(t)])


def drawn(kind, n=600, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    t = 2 * np.pi * rng.random(n)
    X = circle(t)
    if kind == "eight":
        X = np.column_stack([np.sin(t), np.sin(2 * t)])
    elif kind == "two":
        X[n // 2 :] = 0.6 * X[n // 2 :] + [3, 0]
    elif kind == "cross":
        across = rng.random(n) < 0.5
        X = np.where(across[:, None], [[1, 0]], [[0, 1]]) * (t / np.pi - 1)[:, None]
    return X + noise * rng.standard_normal(X.shape)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("kind", "parts", "n_loops"), [("circle", 1, 1), ("eight", 1, 2), ("two", 2, 2), ("cross", 1, 0)]
)
def test_a_graph_finds_loops_crossings_and_parts(kind, parts, n_loops, seed):
    fit = core.principal_graph(drawn(kind, seed=seed), n_nodes=40)
    assert fit.graph.component.max() + 1 == parts
    assert loops(fit, 1.5) == n_loops
    assert fit.weights.min() >= 0.1


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_arms_of_a_crossing_meet_in_its_middle(seed):
    graph = core.principal_graph(drawn("cross", seed=seed), n_nodes=40).graph
    ends = [int(np.linalg.norm(graph.nodes - end, axis=1).argmin()) for end in [(1, 0), (0, 1), (-1, 0), (0, -1)]]
    for i, start in enumerate(ends):
        others = ends[:i] + ends[i + 1 :]
        np.testing.assert_allclose(graph.distances_from(start)[others], 2, rtol=0.25)  # by way of the middle
        for end in others:
            path = graph.nodes[graph.path(start, end)]
            assert np.linalg.norm(path, axis=1).min() < 0.2


def test_what_may_be_joined():
    X, labels = drawn("two"), np.repeat(["left", "right"], 300)
    rng = np.random.default_rng(0)
    near = np.concatenate([X[:300], X[300:] - [1.2, 0]])  # now they touch
    assert core.principal_graph(near, n_nodes=40).graph.component.max() == 0
    apart = core.principal_graph(near, n_nodes=40, groups=labels)
    assert apart.graph.component.max() >= 1
    few = rng.permutation(600)[:60]
    by_row = core.principal_graph(near[few], n_nodes="all", groups=labels[few])
    assert (labels[few][by_row.edges[:, 0]] == labels[few][by_row.edges[:, 1]]).all()

    points = forked(30)[0]
    free = core.principal_graph(points, n_nodes="all", candidates="all", max_iter=3)
    forbidden = free.edges[:5]
    held = core.principal_graph(points, n_nodes="all", candidates="all", cannot_link=forbidden[:, ::-1], max_iter=3)
    assert not set(map(tuple, forbidden.tolist())) & set(map(tuple, held.edges.tolist()))
    mask = np.zeros((30, 30))
    mask[free.edges[:, 0], free.edges[:, 1]] = mask[free.edges[:, 1], free.edges[:, 0]] = 1
    for given in (mask, sparse.coo_matrix(mask)):
        within = core.principal_graph(points, n_nodes="all", candidates=given, max_iter=3)
        assert set(map(tuple, within.edges.tolist())) <= set(map(tuple, free.edges.tolist()))
        assert within.params["n_candidates"] == len(free.edges)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(eta=-1), "eta=-1"),
        (dict(candidates=0), "candidates=0"),
        (dict(candidates="none"), "candidates='none'"),
        (dict(candidates=np.eye(5)), "n_nodes='all' or init"),
        (dict(candidates=np.eye(5), n_nodes="all"), r"wanted \(n_nodes, n_nodes\) = \(40, 40\)"),
        (dict(candidates=np.triu(np.ones((40, 40))), n_nodes="all"), "not symmetric"),
        (dict(candidates=np.eye(40), n_nodes="all"), "no pair"),
        (dict(cannot_link=[[0, 1]]), "n_nodes='all' or init"),
        (dict(cannot_link=[[0, 40]], n_nodes="all"), "names node 40; wanted numbers from 0 to 39"),
        (dict(cannot_link=[0, 1], n_nodes="all"), "wanted pairs"),
        (dict(groups=["a", "b"]), r"groups has shape \(2,\)"),
        (dict(min_weight=-1), "min_weight=-1"),
    ],
)
def test_errors_of_the_graph_name_the_value(options, message):
    with pytest.raises(ValueError, match=message):
        core.principal_graph(forked(40)[0], **options)


def test_copies_of_rows_in_other_groups_are_told_by_these_in_any_order():
    X = forked(24)[0]
    X, group = np.vstack([X, X[:8], X[:8]]), np.r_[np.arange(24) % 3, (np.arange(8) + 1) % 3, (np.arange(8) + 2) % 3]
    fit = core.principal_graph(X, n_nodes="all", groups=group)
    mixed = np.random.default_rng(0).permutation(40)
    other = core.principal_graph(X[mixed], n_nodes="all", groups=group[mixed])
    np.testing.assert_array_equal(other.objective, fit.objective)
    np.testing.assert_array_equal(other.nodes, fit.nodes[mixed])
    joined = lambda edges: {tuple(sorted(pair)) for pair in edges.tolist()}
    assert joined(mixed[other.edges]) == joined(fit.edges)


@pytest.mark.parametrize(
    "fit",
    [
        lambda: core.principal_graph(np.random.default_rng(0).integers(0, 3, (300, 2)).astype(float)),
        lambda: core.principal_graph(np.repeat(forked(15)[0], 4, axis=0), n_nodes="all", assignment="hard"),
        lambda: core.principal_graph(
            forked(60)[0],
            init=np.vstack([forked(20)[0], np.full((1, 6), 50.0), np.full((1, 6), 51.0)]),
            candidates=1,
            assignment="hard",
        ),
    ],
)
def test_nodes_that_no_row_holds(fit):
    learned = fit()
    assert np.isfinite(learned.nodes).all()
    assert (np.diff(learned.objective) <= 1e-6 * np.ptp(learned.objective) + 1e-12).all()


def test_a_graph_without_edges_is_said():
    with pytest.warns(UserWarning, match="no two nodes are joined") as caught:
        fit = core.principal_graph(forked(60)[0], min_weight=5)
    assert caught[0].filename == __file__
    assert len(fit.edges) == 0


def test_many_loops_are_told_if_the_number_of_nodes_was_not_given():
    angle, rng = np.linspace(0, 2 * np.pi, 300, endpoint=False), np.random.default_rng(0)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.1, (300, 2))
    with pytest.warns(UserWarning, match="loops among .* nodes. Where nodes are close together") as caught:
        fit = core.principal_graph(X)
    assert f"the graph has {fit.graph.n_loops} loops among {fit.graph.n_nodes} nodes" in str(caught[0].message)
    assert fit.graph.n_loops > fit.graph.n_nodes / 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert core.principal_graph(X, n_nodes=10).graph.n_loops == 1
        assert core.principal_graph(X, n_nodes=fit.graph.n_nodes).graph.n_loops == fit.graph.n_loops
        core.principal_graph(X, init=fit.nodes)


@pytest.mark.parametrize("constant", [1e3, 1e6])
def test_the_objective_does_not_rise_with_a_large_constant(constant):
    X = forked(120)[0]
    fit = core.principal_graph(X, n_nodes=15, constant=constant, tol=0, max_iter=12)
    assert (np.diff(fit.objective) <= 1e-12 * np.abs(fit.objective[:-1])).all()


def test_few_rows_with_many_columns():
    X = np.random.default_rng(0).standard_normal((20, 600))
    fit = core.principal_graph(X)
    assert (np.diff(fit.objective) <= 1e-12 * np.abs(fit.objective[:-1])).all()
    assert len(fit.nodes) == 10


def test_a_gamma_that_rounding_hides_is_named():
    X = np.zeros((60, 2))
    X[:, 0] = np.linspace(0, 1, 60)
    X[:, 1] = X[:, 0] ** 2
    with pytest.raises(ValueError, match="gamma=1e-300"):
        core.principal_graph(X, gamma=1e-300)


@pytest.mark.parametrize("name", ["eta", "constant"])
def test_weights_beside_which_distances_are_lost_are_refused(name):
    X = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.raises(ValueError, match=rf"{name}=1e\+300 is out of range; wanted a number >= 0 and <= "):
        core.principal_graph(X, n_nodes=8, **{name: 1e300})
    fit = core.principal_graph(X, n_nodes=8, **{name: 1e12}, max_iter=3)
    assert np.isfinite(fit.objective).all()


def test_what_groups_are_called_does_not_matter():
    """Nor where nodes have equally many rows of two."""
    X = forked(120, 4, noise=0.2)[0]
    for seed in range(6):
        group = np.random.default_rng(seed).integers(0, 3, len(X))
        fit = core.principal_graph(X, groups=group, n_nodes=40)
        other = core.principal_graph(X, groups=np.array(["b", "c", "a"])[group], n_nodes=40)
        np.testing.assert_array_equal(other.nodes, fit.nodes)
        np.testing.assert_array_equal(other.edges, fit.edges)
