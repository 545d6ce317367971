"""Principal trees and graphs against literal versions, and what they promise."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import oracles
from samples import forked
from skeltraj import core
from skeltraj.core._nodes.start import local_dimensions
from skeltraj.core._solvers.l1_graph import L1Graph


def close(a, b, tolerance=1e-8):
    scale = max(np.abs(b).max(), 1e-300)
    np.testing.assert_allclose(a, b, atol=tolerance * scale, rtol=0)


@pytest.mark.parametrize("route", ["dense", "sparse", "float32", "dask", "on disk"])
@pytest.mark.parametrize(("sigma", "gamma", "K"), [(0.02, 0.5, 15), (0.3, 5.0, 15), (0.0, 1.0, 15), (0.02, 2.0, None)])
def test_a_tree_agrees_with_the_literal_version_round_by_round(sigma, gamma, K, route, tmp_path):
    X = forked(60)[0]
    given = {"sparse": sparse.csr_matrix, "float32": np.float32}.get(route, np.asarray)(X)
    if route == "float32":
        X = given.astype(np.float64)
    if route == "dask":
        given = pytest.importorskip("dask.array").from_array(X, chunks=(23, 4))
    if route == "on disk":
        given = pytest.importorskip("h5py").File(tmp_path / "X.h5", "w").create_dataset("X", data=X)
    F = X.copy() if K is None else X[:K] + 0.01
    literal = oracles.principal_tree(X, F, sigma, gamma, 4)
    for rounds in (1, 2, 4):
        fit = core.principal_tree(
            given,
            n_nodes="all",
            init=None if K is None else F,
            gamma=gamma,
            sigma=sigma or 1.0,
            assignment="soft" if sigma else "hard",
            max_iter=rounds,
            tol=0,
        )
        F1, R1, edges1, _ = literal[fit.n_iter]
        close(fit.objective, [state[-1] for state in literal[: fit.n_iter + 1]])
        close(fit.nodes, F1)
        R = fit.assignment.compute() if route == "dask" else fit.assignment
        close(R.toarray(), R1)
        np.testing.assert_array_equal(fit.edges, edges1)


def test_a_trees_objective_is_the_papers_and_never_rises():
    X = forked(400)[0]
    fit = core.principal_tree(X, tol=0, max_iter=60)
    sigma, gamma = fit.params["sigma"], fit.params["gamma"]
    length = sum(((fit.nodes[i] - fit.nodes[j]) ** 2).sum() for i, j in fit.edges)
    R = fit.assignment.toarray()
    wanted = 2 * length + gamma * oracles.quantisation(X, fit.nodes, R, sigma)
    assert fit.objective[-1] == pytest.approx(wanted, rel=1e-9)
    assert (np.diff(fit.objective) <= 1e-12 * np.ptp(fit.objective)).all()
    np.testing.assert_allclose(R.sum(axis=1), 1.0)
    close(fit.embedding, R @ fit.nodes)
    close(fit.transform(X), fit.embedding, 1e-12)
    np.testing.assert_array_equal(fit.weights, 1.0)


FITS = [core.principal_tree, core.principal_graph]


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("n_nodes", [25, "all"])
def test_the_order_of_rows_does_not_matter(fit, n_nodes):
    X = forked(90)[0]
    shuffle = np.random.default_rng(1).permutation(90)
    a, b = fit(X, n_nodes=n_nodes), fit(X[shuffle], n_nodes=n_nodes)
    np.testing.assert_array_equal(a.objective, b.objective)
    if n_nodes == "all":
        np.testing.assert_array_equal(a.nodes[shuffle], b.nodes)
        np.testing.assert_array_equal(a.assignment[shuffle][:, shuffle].toarray(), b.assignment.toarray())
        back = np.sort(shuffle[b.edges], axis=1)
        by = np.lexsort(back.T[::-1])
        np.testing.assert_array_equal(back[by], a.edges)
        np.testing.assert_array_equal(b.weights[by], a.weights)
    else:
        np.testing.assert_array_equal(a.nodes, b.nodes)
        np.testing.assert_array_equal(a.assignment[shuffle].toarray(), b.assignment.toarray())


@pytest.mark.parametrize("fit", FITS)
def test_units_and_place_do_not_matter(fit):
    X = forked(150)[0]
    a, b = fit(X), fit(100 * X + 7)
    close(b.nodes, 100 * a.nodes + 7, 1e-5)
    assert len(a.edges) == len(b.edges)


def test_a_tree_follows_the_arms():
    fit = core.principal_tree(forked(600)[0])
    assert len(fit.graph.tips) == 3
    assert len(fit.graph.forks) == 1


@pytest.mark.parametrize("constant", [0.0, 0.7])
def test_the_weights_are_the_linear_programmes_optimum(constant):
    rng = np.random.default_rng(0)
    A, F = rng.standard_normal((14, 3)), rng.standard_normal((14, 3))
    allowed = rng.random((14, 14)) < 0.5
    pairs = np.argwhere(np.triu(allowed, 1))
    graph = L1Graph(A, pairs, 5.0, constant)
    weights = graph.solve(F)
    G = np.zeros((14, 14))
    G[pairs[:, 0], pairs[:, 1]] = G[pairs[:, 1], pairs[:, 0]] = weights
    assert graph.cost(F, weights) == pytest.approx(oracles.l1_graph_cost(A, F, G, 5.0, constant), rel=1e-10)
    literal = oracles.l1_graph_cost(A, F, oracles.l1_graph(A, F, allowed, 5.0, constant), 5.0, constant)
    assert graph.cost(F, weights) == pytest.approx(literal, rel=1e-6)
    np.testing.assert_allclose(graph.laplacian(weights, 14).toarray(), np.diag(G.sum(axis=1)) - G)
    assert (weights > 0).any()


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
        (dict(cannot_link=[[0, 40]], n_nodes="all"), "names node 40"),
        (dict(cannot_link=[0, 1], n_nodes="all"), "wanted pairs"),
        (dict(groups=["a", "b"]), r"groups has shape \(2,\)"),
        (dict(min_weight=-1), "min_weight=-1"),
    ],
)
def test_errors_of_the_graph_name_the_value(options, message):
    with pytest.raises(ValueError, match=message):
        core.principal_graph(forked(40)[0], **options)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(n_nodes=1), ValueError, "n_nodes=1"),
        (dict(n_nodes=41), ValueError, "n_nodes=41"),
        (dict(n_nodes="many"), ValueError, "n_nodes='many'"),
        (dict(gamma=0), ValueError, "gamma=0"),
        (dict(sigma=-1.0), ValueError, "sigma=-1"),
        (dict(assignment="firm"), ValueError, "assignment='firm'"),
        (dict(init=np.ones((5, 2))), ValueError, "6 columns"),
        (dict(tol=np.nan), ValueError, "tol=nan"),
    ],
)
def test_errors_name_the_value(fit, options, error, message):
    with pytest.raises(error, match=message):
        fit(forked(40)[0], **options)


@pytest.mark.parametrize("fit", FITS)
def test_few_rows_duplicates_and_constant_data(fit):
    assert np.isfinite(fit(forked(3)[0]).nodes).all()
    assert np.isfinite(fit(np.repeat(forked(20)[0], 4, axis=0), n_nodes="all").nodes).all()
    with pytest.raises(ValueError, match="all 9 rows are the same"):
        fit(np.ones((9, 3)))
    with pytest.raises(ValueError, match="NaN"):
        fit(np.full((9, 3), np.nan))


@pytest.mark.parametrize("fit", FITS)
def test_convergence_does_not_depend_on_where_zero_is(fit):
    """The entropy makes the objective negative; a relative change at zero would never be small."""
    found = fit(forked(300)[0], tol=1e-4)
    offset = found.params["gamma"] * found.params["sigma"] * 300 * np.log(len(found.nodes))
    change = np.abs(np.diff(found.objective)) / (found.objective + offset)[:-1]
    assert found.converged
    assert (found.objective + offset > 0).all()
    assert change[-1] <= 1e-4 * 1.001
    assert (change[:-1] > 1e-4 * 0.999).all()


def test_local_dimensions_are_those_in_which_neighbours_differ():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4))
    sort = lambda X: X[np.lexsort(X.T[::-1])]
    assert local_dimensions(sort(X)) == pytest.approx(4, rel=0.1)
    padded = np.hstack([X, np.zeros((3000, 50))])
    assert local_dimensions(sort(padded)) == pytest.approx(local_dimensions(sort(X)), rel=1e-6)
    turn = np.linalg.qr(rng.standard_normal((54, 54)))[0]
    assert local_dimensions(padded @ turn) == pytest.approx(local_dimensions(padded), rel=1e-6)
    line = np.outer(np.linspace(0, 1, 500), rng.standard_normal(6))
    assert local_dimensions(sort(line)) == pytest.approx(1, rel=1e-2)
    assert local_dimensions(np.ones((20, 3))) == 1.0
