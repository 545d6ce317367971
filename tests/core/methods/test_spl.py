"""SPL against the literal version, and what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import oracles
from comparing import close, same_up_to_sign
from samples import altered, centred, forked
from skeltraj import core
from skeltraj.core._methods import spl
from skeltraj.core._solvers import laplacian_system


def joined(X, k):
    """Which rows are neighbours, either of the other."""
    near = np.argsort(oracles.squared_distances(X), axis=1, kind="stable")[:, 1 : k + 1]
    linked = np.zeros((len(X), len(X)), dtype=bool)
    linked[np.arange(len(X))[:, None], near] = True
    return linked | linked.T


def checked(fit, X, graph):
    """Everything that a fit says of itself, from the definition, for data centred and in its unit; returns S."""
    d, gamma, C = (fit.params[key] for key in ("n_components", "gamma", "C"))
    S = fit.similarity.toarray()
    np.testing.assert_array_equal(S, S.T)
    assert (fit.weights > 0).all()
    assert not S[~graph].any()
    assert fit.value == pytest.approx(oracles.spl_value(S, X, d, gamma, C), rel=1e-9, abs=1e-9)
    assert fit.objective[-1] == fit.value
    assert len(fit.objective) == fit.n_iter + 1
    assert (np.diff(fit.objective) >= -1e-10 * np.abs(fit.objective[:-1])).all()
    assert fit.certificate.duality_gap >= 0
    return S


def ring(n=24):
    t = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(t), np.sin(t)])


def lattice(n=5):
    return np.argwhere(np.ones((n, n))).astype(float)


GAMMAS = [0.0, 1e-3, 1.0, 10.0]


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("C", [1.0, 1e3, np.inf])
def test_reaches_the_maximum(gamma, C):
    X = centred(forked(40)[0])
    graph = joined(X, 6)
    fit = core.spl(X, 2, gamma=gamma, C=C, n_neighbors=6)
    S = checked(fit, X, graph)
    assert fit.converged
    best = oracles.spl(X, graph, 2, gamma, C)
    wanted = oracles.spl_value(best, X, 2, gamma, C)
    allowed = 1e-6 * len(X)
    assert fit.value >= wanted - allowed
    assert wanted <= fit.value + fit.certificate.duality_gap + 1e-9
    assert fit.certificate.duality_gap <= allowed
    close(S, best, 2e-2)
    literal = oracles.kkt_violation(S, oracles.spl_subgradient(S, X, 2, gamma, C), np.inf, graph)
    assert fit.certificate.kkt_violation == pytest.approx(literal, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("d", [1, 3])
def test_other_dimensions(gamma, d):
    X = centred(forked(30, 4, seed=1)[0])
    graph = joined(X, 5)
    fit = core.spl(X, d, gamma=gamma, n_neighbors=5)
    checked(fit, X, graph)
    assert fit.converged
    wanted = oracles.spl_value(oracles.spl(X, graph, d, gamma, 1e3), X, d, gamma, 1e3)
    assert fit.value >= wanted - 1e-6 * max(1, abs(wanted))
    assert fit.value + fit.certificate.duality_gap >= wanted - 1e-9


def test_as_many_components_as_columns():
    X = centred(forked(30, 3, seed=1)[0])
    graph = joined(X, 5)
    fit = core.spl(X, 3, gamma=2.0, n_neighbors=5)
    checked(fit, X, graph)
    wanted = oracles.spl_value(oracles.spl(X, graph, 3, 2.0, 1e3), X, 3, 2.0, 1e3)
    assert fit.value == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("way", ["dense", "sparse"])
@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_the_derivative_is_eq_20_and_the_functions(gamma, C, way, monkeypatch):
    if way == "sparse":
        monkeypatch.setattr(laplacian_system, "_MAX_ROWS_ALWAYS_DENSE", 0)
        monkeypatch.setattr(laplacian_system, "_MAX_ROWS_DENSE", 0)
    X = centred(forked(16)[0])
    pairs = np.argwhere(np.triu(joined(X, 3), 1))
    price = 2 * oracles.squared_distances(X)[tuple(pairs.T)]
    problem = spl._Problem(X, 16, pairs, price, 2, gamma, 1 / C)
    weights = np.random.default_rng(0).random(len(pairs))
    value, derivative = problem.function(weights)
    S = oracles.from_pairs(pairs, weights, 16)
    assert value == pytest.approx(oracles.spl_value(S, X, 2, gamma, C), rel=1e-12)
    close(derivative, oracles.spl_subgradient(S, X, 2, gamma, C)[tuple(pairs.T)], 1e-10)
    for e in range(len(pairs)):
        step = np.zeros(len(pairs))
        step[e] = 1e-5
        up, down = (
            oracles.spl_value(oracles.from_pairs(pairs, weights + s, 16), X, 2, gamma, C) for s in (step, -step)
        )
        assert derivative[e] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_the_function_is_concave(gamma):
    """The paper says that it is not; halfway between any two S it is at least their mean."""
    rng = np.random.default_rng(3)
    for trial in range(60):
        n, D = int(rng.integers(3, 12)), int(rng.integers(2, 5))
        X = centred(rng.standard_normal((n, D)) * 10 ** rng.uniform(-1, 1))
        both = [rng.exponential(10.0 ** rng.uniform(-3, 2), (n, n)) * (rng.random((n, n)) < 0.5) for _ in range(2)]
        a, b = (np.triu(S, 1) + np.triu(S, 1).T for S in both)
        low, middle, high = (oracles.spl_value(S, X, 1 + trial % 2, gamma, 10.0) for S in (a, (a + b) / 2, b))
        assert middle >= (low + high) / 2 - 1e-9 * (abs(low) + abs(high))


@pytest.mark.parametrize("gamma", GAMMAS)
def test_ends_above_the_papers_steps(gamma):
    X = centred(forked(25)[0])
    graph = joined(X, 5)
    fit = core.spl(X, 2, gamma=gamma, n_neighbors=5)
    history = oracles.spl_subgradient_ascent(X, graph, 2, gamma, 1e3, 400)
    best = max(value for value, _ in history)
    assert best <= fit.value + fit.certificate.duality_gap
    assert fit.value >= best - 1e-6 * abs(best)
    paper = core.spl(X, 2, gamma=gamma, n_neighbors=5, solver="subgradient", max_iter=400)
    checked(paper, X, graph)
    np.testing.assert_allclose(paper.objective, np.maximum.accumulate([value for value, _ in history]), rtol=1e-9)
    assert paper.value == pytest.approx(best, rel=1e-9)
    close(paper.similarity.toarray(), history[int(np.argmax([value for value, _ in history]))][1], 1e-7)
    assert fit.value <= paper.value + paper.certificate.duality_gap
    assert paper.certificate.duality_gap > fit.certificate.duality_gap
    assert paper.n_iter == 400


@pytest.mark.filterwarnings("ignore:the similarities leave:UserWarning")
@pytest.mark.parametrize("gamma", [1.0, 10.0])
@pytest.mark.parametrize("C", [1.0, 1e3, np.inf])
@pytest.mark.parametrize("shape", ["ring", "lattice"])
def test_where_eigenvalues_meet(shape, gamma, C, monkeypatch):
    """By symmetry the two leading eigenvalues are equal at the maximum: no derivative is zero there."""
    X = centred(2 * ring() if shape == "ring" else lattice() / 2)
    graph = joined(X, 4) if shape == "ring" else oracles.squared_distances(X) == 0.25
    neighbors = sparse.csr_matrix(graph)
    rounds = []
    softened = spl._Problem._softened
    monkeypatch.setattr(spl._Problem, "_softened", lambda *a: (rounds.append(1), softened(*a))[1])
    fit = core.spl(X, 1, gamma=gamma, C=C, neighbors=neighbors)
    assert rounds
    assert len(fit.edges) > len(X) / 2
    S = checked(fit, X, graph)
    assert fit.converged
    assert fit.certificate.duality_gap <= 1e-6 * len(fit.nodes)
    values = np.linalg.eigvalsh(
        X.T @ np.linalg.inv(oracles.similarity_laplacian(S) + (gamma + 1) / 4 * np.eye(len(X))) @ X
    )
    assert values[1] == pytest.approx(values[0], rel=1e-2)
    # the mean over the shape's symmetries is at least as high, so the best symmetric weights are best: one number each
    # (ring: two kinds of pairs; lattice: not so few, there the paper's steps must do)
    bound = fit.value + fit.certificate.duality_gap
    paper = core.spl(X, 1, gamma=gamma, C=C, neighbors=neighbors, solver="subgradient", max_iter=300)
    assert paper.value <= bound
    assert fit.value <= paper.value + paper.certificate.duality_gap
    if shape == "ring":
        n = len(X)
        gaps = np.abs(np.arange(n)[:, None] - np.arange(n)) % n
        gaps = np.minimum(gaps, n - gaps)
        both = lambda x: oracles.spl_value(x[0] * (gaps == 1) + x[1] * (gaps == 2), X, 1, gamma, C)
        from scipy.optimize import minimize

        best = minimize(lambda x: -both(x), [0.1, 0.1], bounds=[(0, None)] * 2, method="Nelder-Mead", tol=1e-12)
        assert -best.fun <= bound + 1e-9
        assert fit.value >= -best.fun - 1e-6 * max(1, abs(best.fun))
    for trial in range(20):
        noise = np.random.default_rng(trial).standard_normal(S.shape) * 0.1 * S.max()
        assert oracles.spl_value(np.maximum(S + (noise + noise.T) * graph, 0), X, 1, gamma, C) <= bound


@pytest.mark.filterwarnings("ignore:the similarities leave:UserWarning")
def test_a_fit_that_is_stopped_early_is_certified_as_what_it_is():
    for X, d, gamma in ((centred(forked(40)[0]), 2, 1.0), (2 * ring(), 1, 10.0)):
        best = core.spl(X, d, gamma=gamma, n_neighbors=4)
        for max_iter in (1, 3, 6):
            fit = core.spl(X, d, gamma=gamma, n_neighbors=4, max_iter=max_iter)
            checked(fit, X, joined(X, 4))
            assert fit.n_iter <= max_iter
            assert best.value - fit.value <= fit.certificate.duality_gap + 1e-9


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_the_gap_bounds_what_is_missing_wherever_one_stands(gamma, C):
    X = centred(forked(30)[0])
    graph = joined(X, 5)
    pairs = np.argwhere(np.triu(graph, 1))
    price = 2 * oracles.squared_distances(X)[tuple(pairs.T)]
    best = core.spl(X, gamma=gamma, C=C, n_neighbors=5, tol=1e-9)
    weights = best.similarity.toarray()[tuple(pairs.T)]
    problem = spl._Problem(X if gamma else None, 30, pairs, price, 2, gamma, 1 / C)
    rng = np.random.default_rng(0)
    tried = [share * weights for share in (0.0, 0.1, 0.5, 0.9, 0.99, 1.0, 1.1)]
    for at in (*tried, rng.random(len(weights)) * weights, rng.exponential(1.0, len(weights))):
        S = oracles.from_pairs(pairs, at, 30)
        value = oracles.spl_value(S, X, 2, gamma, C)
        inverse = np.linalg.inv(oracles.similarity_laplacian(S) + (gamma + 1) / 4 * np.eye(30))
        others = [
            np.linalg.qr(rng.standard_normal((6, 2)))[0],
            np.sqrt(1 / 3) * np.eye(6),
        ]  # any such M proves something
        for factor in (oracles.top(X.T @ inverse @ X, 2), *others) if gamma else [np.zeros((0, 0))]:
            gap = problem.certificate(at, factor, value).duality_gap
            assert gap >= best.value - value - 1e-6


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_the_gap_is_the_smaller_of_two_bounds(C):
    """From the duals, term by term: the function's tangent at Q, and at the multiple of Q where no pair leads up."""
    X, gamma, d = centred(forked(20)[0]), 2.0, 2
    pairs = np.argwhere(np.triu(joined(X, 4), 1))
    price = 2 * oracles.squared_distances(X)[tuple(pairs.T)]
    at = 0.3 * np.random.default_rng(0).random(len(pairs))
    Q = oracles.similarity_laplacian(oracles.from_pairs(pairs, at, 20)) + (gamma + 1) / 4 * np.eye(20)
    M = oracles.top(X.T @ np.linalg.inv(Q) @ X, d)
    M = M @ M.T

    def tangent(P):
        """Value and slope by Q of d/2 log det Q - gamma^2/8 <M, X'Q^-1 X>, at P."""
        inverse = np.linalg.inv(P)
        value = d / 2 * np.linalg.slogdet(P)[1] - gamma**2 / 8 * np.trace(M @ X.T @ inverse @ X)
        return value, d / 2 * inverse + gamma**2 / 8 * inverse @ X @ M @ X.T @ inverse

    slope = oracles.trace_with_difference(tangent(Q)[1])[tuple(pairs.T)]
    times = max(1.0, (slope / price).max())
    assert times > 1.5
    value, by_Q = tangent(times * Q)
    bounds = [value - (by_Q * (times * Q)).sum() + (gamma + 1) / 4 * np.trace(by_Q)]
    if C < np.inf:
        value, by_Q = tangent(Q)
        room = np.maximum(slope - price, 0) ** 2 * C / 2
        bounds.append(value - (by_Q * Q).sum() + (gamma + 1) / 4 * np.trace(by_Q) + room.sum())
    problem = spl._Problem(X, 20, pairs, price, d, gamma, 1 / C)
    certificate = problem.certificate(at, oracles.top(X.T @ np.linalg.inv(Q) @ X, d), 0.0)
    assert certificate.duality_gap == pytest.approx(max(0.0, min(bounds)), rel=1e-9)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_embeddings(gamma):
    X = centred(forked(40)[0])
    fit = core.spl(X, 2, gamma=gamma)
    L = oracles.similarity_laplacian(fit.similarity.toarray())
    if gamma == 0:
        wanted = oracles.kernel_pca(np.linalg.inv(4 * L + np.eye(40)), 2)  # after eq. 23
    else:
        inverse = np.linalg.inv(L + (gamma + 1) / 4 * np.eye(40))
        wanted = gamma / 4 * inverse @ X @ oracles.top(X.T @ inverse @ X, 2)  # eq. 22
    same_up_to_sign(fit.embedding, wanted, 1e-7)
    assert ((fit.embedding**3).sum(axis=0) >= 0).all()


def test_neighbors_given():
    X = forked(35)[0]
    plain = core.spl(X, n_neighbors=4)
    near = np.argsort(oracles.squared_distances(X), axis=1)[:, :5]
    way = np.zeros((35, 35))
    way[np.arange(35)[:, None], near[:, 1:]] = 0.5
    upper = np.triu(np.maximum(way, way.T), 1)
    for neighbors in (
        near[:, 1:],
        near,  # with the row itself
        near[:, 1:].astype(np.uint32),
        near[:, :0:-1].tolist(),
        sparse.csr_matrix(way),  # one way or both
        sparse.csr_matrix(way.T),
        sparse.coo_matrix(np.maximum(way, way.T)),
        sparse.csr_array(upper),
        sparse.csr_matrix(upper.T > 0),
        sparse.csr_matrix(way + 7 * np.eye(35)),
    ):
        fit = core.spl(X, neighbors=neighbors)
        np.testing.assert_array_equal(fit.similarity.toarray(), plain.similarity.toarray())
        np.testing.assert_array_equal(fit.embedding, plain.embedding)
        assert fit.params["n_neighbors"] is None
    assert plain.params["n_neighbors"] == 4
    kept = sparse.csr_matrix(way)
    kept.data[:] = 0  # entries that are there but zero join nothing
    with pytest.raises(ValueError, match="35 of 35 rows have no neighbours"):
        core.spl(X, neighbors=kept)


def test_only_the_graphs_pairs_are_similar():
    X = forked(30)[0]
    rng = np.random.default_rng(0)
    graph = rng.random((30, 30)) < 0.1
    graph[np.arange(30), (np.arange(30) + 1) % 30] = True
    graph = graph | graph.T
    np.fill_diagonal(graph, False)
    fit = core.spl(X, gamma=1.0, neighbors=sparse.csr_matrix(graph))
    checked(fit, centred(X), graph)
    assert fit.converged


def test_a_dense_matrix_of_who_is_whose_neighbour_is_refused():
    X = forked(30)[0]
    with pytest.raises(ValueError, match=r"neighbors has shape \(30, 30\).*sparse"):
        core.spl(X, neighbors=joined(X, 5).astype(int))


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_a_scale_is_a_unit(gamma):
    X = forked(30)[0]
    a = core.spl(X, gamma=gamma, scale=3.0, tol=1e-8)
    b = core.spl(X / 3.0, gamma=gamma, tol=1e-8)
    checked(a, centred(X) / 3.0, joined(X, 10))
    assert a.value == pytest.approx(b.value, rel=1e-9)
    close(a.embedding, b.embedding, 1e-4)
    assert a.params["scale"] == 3.0
    assert b.params["scale"] == 1.0


def test_the_scale_set_by_the_data():
    X = forked(60)[0]
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((X.shape[1],) * 2))[0]
    near = np.sort(oracles.squared_distances(X), axis=1)[:, 3]  # 60 // 20, after the row itself
    for gamma in (0.0, 1.0):
        a = core.spl(X, gamma=gamma, scale="auto", tol=1e-8)
        assert a.params["scale"] == pytest.approx(np.sqrt(np.median(near) * 60 / 2))
        for Y, c in ((1e3 * X, 1e3), (1e-3 * X, 1e-3), (X + 5, 1), (10 * X @ turn - 3, 10)):
            b = core.spl(Y, gamma=gamma, scale="auto", tol=1e-8)
            assert b.params["scale"] == pytest.approx(c * a.params["scale"], rel=1e-8)
            assert b.value == pytest.approx(a.value, rel=1e-7)
            close(b.similarity.toarray(), a.similarity.toarray(), 1e-3)
            same_up_to_sign(b.embedding, a.embedding, 1e-3)


def test_centring():
    X = forked(30)[0] + 3
    a = core.spl(X, gamma=1.0)
    checked(a, centred(X), joined(X, 10))
    b = core.spl(X, gamma=1.0, center=False)
    checked(b, X, joined(X, 10))
    assert abs(a.value - b.value) > 1
    close(core.spl(X, gamma=0).similarity.toarray(), core.spl(X, gamma=0, center=False).similarity.toarray(), 1e-6)


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("given", ["rows", "sparse", "float32", "wide", "neighbors"])
def test_the_order_of_rows_does_not_matter(given, gamma):
    rng = np.random.default_rng(4)
    X = np.exp(rng.standard_normal((40, 60 if given == "wide" else 4)) / 2)  # not symmetric
    shuffle = rng.permutation(40)
    make = {"sparse": sparse.csr_matrix, "float32": np.float32}.get(given, np.asarray)
    options = [{}, {}]
    if given == "neighbors":
        graph = joined(X, 5)
        options = [dict(neighbors=sparse.csr_matrix(g)) for g in (graph, graph[np.ix_(shuffle, shuffle)])]
    a = core.spl(make(X), gamma=gamma, **options[0], scale="auto")
    b = core.spl(make(X[shuffle]), gamma=gamma, **options[1], scale="auto")
    close(b.similarity.toarray(), a.similarity.toarray()[np.ix_(shuffle, shuffle)], 1e-6)
    close(b.embedding, a.embedding[shuffle], 1e-6)
    assert a.value == pytest.approx(b.value, rel=1e-10)


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_more_columns_than_rows(gamma):
    rng = np.random.default_rng(0)
    X = forked(25)[0] @ rng.standard_normal((6, 70)) + 0.1 * rng.standard_normal((25, 70))
    fit = core.spl(X, gamma=gamma, scale="auto")
    Y = centred(X) / fit.params["scale"]
    S = checked(fit, Y, joined(X, 10))
    assert fit.converged
    if gamma:
        inverse = np.linalg.inv(oracles.similarity_laplacian(S) + (gamma + 1) / 4 * np.eye(25))
        same_up_to_sign(fit.embedding, gamma / 4 * inverse @ Y @ oracles.top(Y.T @ inverse @ Y, 2), 1e-6)


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_sparse_rows_are_the_same_rows(gamma):
    X = forked(30)[0] * (np.random.default_rng(0).random((30, 6)) < 0.5)
    a, b = core.spl(X, gamma=gamma, C=10), core.spl(sparse.csr_matrix(X), gamma=gamma, C=10)
    close(b.similarity.toarray(), a.similarity.toarray(), 1e-3)
    assert a.value == pytest.approx(b.value, rel=1e-6)


@pytest.mark.parametrize("gamma", [0.0, 1.0])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7, 1e8])
def test_sparse_rows_far_from_the_origin(offset, gamma):
    X = np.round(forked(60)[0] * 2**20) / 2**20 + offset  # the shift itself loses no digit
    options = dict(gamma=gamma, scale="auto")
    a, b = core.spl(X, **options), core.spl(sparse.csr_matrix(X), **options)
    assert b.converged
    assert b.value == pytest.approx(a.value, rel=1e-10)
    np.testing.assert_array_equal(b.edges, a.edges)
    close(b.weights, a.weights, 1e-6)
    close(b.embedding, a.embedding, 1e-6)


@pytest.mark.parametrize("gamma", [1e-3, 1.0])
def test_the_sparse_way_is_the_dense_way(gamma, monkeypatch):
    X = forked(60)[0]
    dense = core.spl(X, gamma=gamma, tol=1e-8)
    monkeypatch.setattr(laplacian_system, "_MAX_ROWS_ALWAYS_DENSE", 0)
    monkeypatch.setattr(laplacian_system, "_MAX_ROWS_DENSE", 0)
    seen = []
    made = laplacian_system._Sparse.__init__
    monkeypatch.setattr(laplacian_system._Sparse, "__init__", lambda *a: (seen.append(1), made(*a))[1])
    fit = core.spl(X, gamma=gamma, tol=1e-8)
    assert len(seen) > fit.n_iter
    checked(fit, centred(X), joined(X, 10))
    assert fit.value == pytest.approx(dense.value, rel=1e-7)
    close(fit.similarity.toarray(), dense.similarity.toarray(), 1e-3)
    same_up_to_sign(fit.embedding, dense.embedding, 1e-3)


def test_without_projection_one_column_will_do():
    X = np.random.default_rng(0).standard_normal((30, 1))
    with pytest.raises(
        ValueError, match=r"n_components=2 is out of range; wanted a whole number from 1 to 1 \(the number"
    ):
        core.spl(X, 2, gamma=1e-3)
    fit = core.spl(X, 2, gamma=0, scale=10.0)
    checked(fit, centred(X) / 10.0, joined(X, 10))
    assert fit.embedding.shape == (30, 2)
    assert core.spl(X, 1, gamma=1e-3, scale=10.0).embedding.shape == (30, 1)


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1.0])
def test_equal_rows(gamma):
    X = forked(30)[0]
    X[7] = X[3]
    fit = core.spl(X, gamma=gamma)
    near = [
        [j for j in np.argsort(row, kind="stable") if j != i][:10] for i, row in enumerate(oracles.squared_distances(X))
    ]
    graph = np.zeros((30, 30), dtype=bool)
    for i, js in enumerate(near):
        graph[i, js] = graph[js, i] = True
    S = checked(fit, centred(X), graph)
    assert fit.converged
    assert S[3, 7] > 0
    assert (oracles.spl_subgradient(S, centred(X), 2, gamma, 1e3)[graph] < 1e-4).all()


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_a_callback_is_told_of_every_step_and_may_stop(gamma):
    X = forked(40)[0]
    told = []
    fit = core.spl(X, gamma=gamma, callback=lambda step, value: told.append((step, value)))
    assert [step for step, _ in told] == list(range(fit.n_iter + 1))
    np.testing.assert_array_equal([value for _, value in told], fit.objective)
    stopped = core.spl(X, gamma=gamma, callback=lambda step, value: step == 4)
    assert stopped.n_iter == 4
    assert not stopped.converged
    np.testing.assert_array_equal(stopped.objective, fit.objective[:5])
    checked(stopped, centred(X), joined(X, 10))
    none = core.spl(X, gamma=gamma, callback=lambda step, value: True)
    assert none.n_iter == 0
    assert none.similarity.nnz == 0


@pytest.mark.parametrize("at", [0, 3])
@pytest.mark.parametrize("solver", ["quasi-newton", "subgradient"])
@pytest.mark.parametrize("make", [lambda: forked(30)[0], ring])
def test_a_callbacks_exception_leaves_the_fit(make, solver, at):
    def callback(step, value):
        if step == at:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        core.spl(make(), 1, gamma=1.0, solver=solver, callback=callback)


def test_even_stop_iteration_leaves_the_fit():
    def callback(step, value):
        if step == 3:
            raise StopIteration

    with pytest.raises(StopIteration):
        core.spl(forked(30)[0], callback=callback)


@pytest.mark.filterwarnings("ignore:the similarities leave:UserWarning")
def test_the_subgradients_can_be_stopped():
    X = forked(30)[0]
    fit = core.spl(X, solver="subgradient", max_iter=1)
    assert fit.n_iter == 1
    fit = core.spl(X, solver="subgradient", max_iter=50, callback=lambda step, value: step == 5)
    assert fit.n_iter == 5
    assert not fit.converged
    checked(fit, centred(X), joined(X, 10))


def test_more_smoothing_makes_smaller_weights():
    X = forked(40)[0]
    squares = [(core.spl(X, gamma=0, C=C).similarity.data ** 2).sum() for C in (1e-2, 1.0, 1e2, np.inf)]
    assert (np.diff(squares) > 0).all()


def test_two_far_groups_are_two_parts():
    X = np.r_[forked(25)[0], forked(25, seed=1)[0] + 1000]
    with pytest.warns(UserWarning, match="50 rows in 2 parts"):
        fit = core.spl(X, gamma=0)
    assert len(np.unique(fit.graph.component)) == 2


def test_params_are_those_used_and_the_input_is_left_alone():
    X = forked(30)[0]
    before = X.copy()
    fit = core.spl(X, 0.9999, gamma=2, C=7, n_neighbors=4, scale=0.5, center=False, max_iter=99, tol=1e-3)
    np.testing.assert_array_equal(X, before)
    assert fit.params == dict(
        n_components=6,
        gamma=2.0,
        C=7.0,
        n_neighbors=4,
        scale=0.5,
        center=False,
        solver="quasi-newton",
        max_iter=99,
        tol=1e-3,
    )


FORK = forked(20)[0]
TWICE = np.r_[FORK, FORK[:1]]
BAD = FORK.copy()
BAD[3, 2] = np.nan
NEAR = np.argsort(oracles.squared_distances(FORK), axis=1)[:, 1:4]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(X=BAD), ValueError, "X holds 1 value.* NaN or infinite.*wanted finite"),
        (dict(X=BAD, name="use_rep"), ValueError, "use_rep holds 1 value"),
        (dict(X=TWICE, C=np.inf), ValueError, "X: 1 pairs of neighbours are the same row.*wanted a finite C"),
        (
            dict(X=np.ones((12, 3))),
            ValueError,
            "X: each of the 12 rows has 2 others at distance 0; wanted rows that differ",
        ),
        (
            dict(X=np.ones((12, 3)), gamma=0),
            ValueError,
            "X: each of the 12 rows has 2 others at distance 0; wanted rows that differ",
        ),
        (dict(X=FORK[:1]), ValueError, r"X has 1 row\(s\).*at least 3"),
        (dict(X=FORK[:2]), ValueError, r"X has 2 row\(s\).*at least 3"),
        (dict(X=FORK[0]), ValueError, r"X has 1 dimension\(s\).*wanted a matrix"),
        (dict(X=FORK[:, :0]), ValueError, "X is empty"),
        (dict(X=FORK.astype(str)), TypeError, "X has dtype.*wanted real numbers"),
        (dict(X=FORK, C=0), ValueError, "C=0 is out of range; wanted a number > 0"),
        (dict(X=FORK, C=-1.0), ValueError, "C=-1.0 is out of range; wanted a number > 0"),
        (dict(X=FORK, C=np.nan), ValueError, "C=nan is out of range"),
        (dict(X=FORK, C=None), TypeError, "C=None is a NoneType; wanted a number > 0"),
        (dict(X=FORK, gamma=-1e-9), ValueError, "gamma=-1e-09 is out of range; wanted a number >= 0"),
        (dict(X=FORK, gamma=np.inf), ValueError, "gamma=inf is out of range"),
        (dict(X=FORK, gamma=None), TypeError, "gamma=None is a NoneType"),
        (dict(X=FORK, n_neighbors=0), ValueError, "n_neighbors=0 is out of range; wanted a whole number from 1 up"),
        (dict(X=FORK, neighbors=NEAR[:5]), ValueError, r"neighbors has shape \(5, 3\).*\(20, k\)"),
        (dict(X=FORK, neighbors=NEAR[:, 0]), ValueError, r"neighbors has shape \(20,\).*\(20, k\)"),
        (dict(X=FORK, neighbors=NEAR.astype(float)), ValueError, "neighbors has shape.*float64; wanted whole numbers"),
        (dict(X=FORK, neighbors=altered(NEAR, 0, 0, 20)), ValueError, "neighbors names row 20; wanted.*from 0 to 19"),
        (dict(X=FORK, neighbors=altered(NEAR, 0, 0, -1)), ValueError, "neighbors names row -1; wanted.*from 0 to 19"),
        (dict(X=FORK, neighbors=NEAR[:, :0]), ValueError, "neighbors: 20 of 20 rows have no neighbours.*at least one"),
        (dict(X=FORK, neighbors=np.arange(20)[:, None]), ValueError, "neighbors: 20 of 20 rows have no neighbours"),
        (dict(X=FORK, neighbors=sparse.eye(20)), ValueError, "neighbors: 20 of 20 rows have no neighbours"),
        (dict(X=FORK, neighbors=sparse.eye(19, k=1)), ValueError, r"neighbors has shape \(19, 19\); wanted \(20, 20\)"),
        (
            dict(X=FORK, neighbors=sparse.csr_matrix(([1.0], ([0], [1])), shape=(20, 20))),
            ValueError,
            "neighbors: 18 of 20 rows have no neighbours; wanted at least one for each",
        ),
        (dict(X=FORK, gamma=1e-300), ValueError, "gamma=1e-300 is out of range; wanted 0, or a number from 1e-50 to"),
        (dict(X=FORK, gamma=1e200), ValueError, r"gamma=1e\+200 is out of range; wanted 0, or a number from 1e-50 to"),
        (dict(X=FORK, scale=0), ValueError, "scale=0 is out of range; wanted a number > 0"),
        (dict(X=FORK, scale=-1), ValueError, "scale=-1 is out of range; wanted a number > 0"),
        (dict(X=FORK, scale="unit"), TypeError, "scale='unit' is a str"),
        (dict(X=FORK, solver="newton"), ValueError, "solver='newton' is not known. Available: .*quasi-newton"),
        (
            dict(X=FORK, n_components=0),
            ValueError,
            "n_components=0 is out of range; wanted a whole number from 1 to 19",
        ),
        (
            dict(X=FORK, n_components=7),
            ValueError,
            r"n_components=7 is out of range.*from 1 to 6 \(the number of columns",
        ),
        (
            dict(X=FORK, n_components=20, gamma=0),
            ValueError,
            r"n_components=20 is out of range.*from 1 to 19 \(20 rows\)",
        ),
        (dict(X=FORK, n_components=1.5), TypeError, "n_components=1.5 is a float"),
        (dict(X=FORK, max_iter=0), ValueError, "max_iter=0 is out of range"),
        (dict(X=FORK, tol=0), ValueError, "tol=0 is out of range; wanted a number > 0"),
    ],
)
def test_errors_name_the_value_and_what_was_wanted(options, error, message):
    with pytest.raises(error, match=message):
        core.spl(**options)


@pytest.mark.filterwarnings("ignore:.*the similarities leave")
def test_steps_of_the_proximal_rounds_count():
    X = np.argwhere(np.ones((7, 7))).astype(float)  # two equal eigenvalues
    calls = []
    fit = core.spl(X, 1, gamma=5.0, n_neighbors=6, max_iter=5, callback=lambda *told: calls.append(told))
    assert not fit.converged
    assert fit.n_iter <= 5
    assert len(calls) <= 10
    whole = core.spl(X, 1, gamma=5.0, n_neighbors=6)
    assert whole.converged
    told = []
    stopped = core.spl(X, 1, gamma=5.0, n_neighbors=6, callback=lambda *at: (told.append(at), len(told) == 60)[1])
    assert len(told) == 60
    assert not stopped.converged
