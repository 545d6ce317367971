"""DDRTree against its literal version, its laws and its limits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import oracles
from comparing import close
from measuring import peak_memory
from samples import altered, centred, forked
from skeltraj import core
from skeltraj.core._data import space

REFERENCE = Path(__file__).parents[2] / "reference" / "ddrtree"


def start(X, d, n_nodes, seed=1):
    """PCA and, for fewer nodes than rows, some rows of it as nodes."""
    X = centred(X)
    W = oracles.pca(X, d)
    Z = X @ W
    C = Z if n_nodes is None else Z[np.random.default_rng(seed).choice(len(Z), n_nodes, replace=False)]
    return W, Z, C


def same_up_to_signs(fit, W, Z, C, tolerance=1e-8):
    signs = np.sign((fit.loadings * W).sum(axis=0))
    close(fit.loadings * signs, W, tolerance)
    close(fit.embedding * signs, Z, tolerance)
    close(fit.nodes * signs, C, tolerance)


ROUNDS = 6
CASES = {
    "soft, K < N": dict(n=80, D=6, d=2, K=20, lam=40.0, sigma=0.01, gamma=2.0),
    "soft, K = N": dict(n=60, D=6, d=2, K=None, lam=30.0, sigma=0.02, gamma=10.0),
    "soft, d = D": dict(n=60, D=3, d=3, K=15, lam=5.0, sigma=0.05, gamma=0.5),
    "hard, K < N": dict(n=80, D=6, d=2, K=20, lam=40.0, sigma=0.0, gamma=2.0),
    "hard, K = N": dict(n=60, D=6, d=2, K=None, lam=10.0, sigma=0.0, gamma=2.0),
    "more features than rows": dict(n=40, D=90, d=3, K=15, lam=20.0, sigma=0.05, gamma=2.0),
    "no tree": dict(n=60, D=6, d=2, K=12, lam=0.0, sigma=0.02, gamma=1.0),
    "large gamma": dict(n=60, D=6, d=2, K=20, lam=30.0, sigma=1e-5, gamma=1e4),
    "small gamma": dict(n=60, D=6, d=2, K=20, lam=0.3, sigma=0.02, gamma=1e-2),
}


ROUTES = ["direct", "conjugate gradients", "products", "float32", "sparse"]


@pytest.mark.parametrize(
    ("case", "route"),
    # products with X'X give fewer eigenvectors than there are columns
    [(case, route) for case in CASES for route in ROUTES if (case, route) != ("soft, d = D", "products")],
)
def test_agrees_with_the_literal_version_round_by_round(case, route, monkeypatch):
    c = CASES[case]
    tolerance = 1e-8
    X = forked(c["n"], c["D"])[0]
    if route == "conjugate gradients":
        monkeypatch.setattr("skeltraj.core._ddrtree_round.round.prefer_direct", lambda *sizes: False)
    if route == "products":
        monkeypatch.setattr(space, "_MAX_DENSE_FEATURES", 0)
    if route == "float32":
        X = X.astype(np.float32)  # as given to both: the package must lose nothing more
    W, Z, C = start(X.astype(np.float64), c["d"], c["K"])
    given = sparse.csr_matrix(X) if route == "sparse" else X
    literal = oracles.ddrtree(centred(X.astype(np.float64)), W, Z, C, c["lam"], c["sigma"], c["gamma"], ROUNDS)
    for rounds in (1, 2, ROUNDS):
        fit = core.ddrtree(
            given,
            c["d"],
            n_nodes="all",
            init=Z if c["K"] is None else (Z, C),
            lam=c["lam"],
            sigma=c["sigma"] or 1.0,
            assignment="soft" if c["sigma"] else "hard",
            gamma=c["gamma"],
            max_iter=rounds,
            tol=0,
        )
        assert fit.n_iter == rounds or fit.objective[-1] == fit.objective[-2]  # at rest before that
        W1, Z1, C1, R1, edges1, _ = literal[fit.n_iter]
        close(fit.objective, [state[-1] for state in literal[: fit.n_iter + 1]], tolerance)
        same_up_to_signs(fit, W1, Z1, C1, tolerance)
        close(fit.assignment, R1, tolerance)
        if c["K"] is not None:  # one node per row: coincident nodes can be joined in more than one way
            np.testing.assert_array_equal(fit.edges, edges1)


@pytest.mark.parametrize(
    ("case", "rounds"), [("case1", 1), ("case1", 2), ("case1", 5), ("case2", 1), ("case2", 3), ("case3", 3)]
)
def test_agrees_with_r_at_a_fixed_number_of_rounds(case, rounds):
    read = lambda name: np.loadtxt(REFERENCE / case / name, delimiter=",", ndmin=2)
    params = dict(line.split(",") for line in (REFERENCE / case / "params.csv").read_text().split()[1:])
    X, d = read("X.csv"), int(params["d"])
    init = (read("Z0.csv"), read("Y0.csv")) if case == "case2" else None
    W, Z, Y, tree = (read(f"iter{rounds}/{name}.csv") for name in ("W", "Z", "Y", "stree"))
    options = dict(lam=float(params["lambda"]), sigma=float(params["sigma"]), gamma=float(params["gamma"]), tol=0)
    fit = core.ddrtree(X, d, n_nodes="all", init=init, center=False, max_iter=rounds, **options)
    same_up_to_signs(fit, W, Z, Y, 1e-10)
    # R returns the tree on which the last round was made: that of the nodes one round earlier
    if rounds > 1:
        before = core.ddrtree(X, d, n_nodes="all", init=init, center=False, max_iter=rounds - 1, **options)
        np.testing.assert_array_equal(before.edges, tree[np.lexsort((tree[:, 1], tree[:, 0])), :2].astype(int))


def recomputed(X, fit):
    """The objective of a fit from the definition."""
    p = fit.params
    return oracles.ddrtree_objective(
        X - fit.mean, fit.loadings, fit.embedding, fit.nodes, fit.assignment.toarray(), fit.edges,
        p["lam"], p["sigma"], p["gamma"],
    )  # fmt: skip


@pytest.mark.parametrize("preset", [None, "kdd2015", "monocle2"])
@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_objective_is_the_papers_and_never_rises(preset, assignment, seed):
    X = forked(130, 8, noise=0.15, seed=seed)[0]
    fit = core.ddrtree(X, 2, preset=preset, assignment=assignment, max_iter=60, tol=1e-7, rng=seed)
    assert len(fit.objective) == fit.n_iter + 1
    assert fit.n_iter >= 3
    close(fit.objective[-1], recomputed(X, fit), 1e-9)
    scale = np.abs(fit.objective).max()
    assert np.diff(fit.objective).max() <= 1e-12 * scale
    assert fit.objective[0] - fit.objective[-1] > 1e-3 * scale


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("n_nodes", ["auto", "all"])
def test_extrapolation_takes_fewer_rounds_and_never_rises(n_nodes):
    rounds = np.zeros(2)
    for seed in range(3):
        X = forked(300, 10, noise=0.15, seed=seed)[0]
        options = dict(n_components=5, n_nodes=n_nodes, tol=1e-6, max_iter=500)
        plain, fast = core.ddrtree(X, **options), core.ddrtree(X, **options, extrapolate=True)
        close(fast.objective[-1], recomputed(X, fast), 1e-9)
        assert np.diff(fast.objective).max() <= 1e-12 * np.abs(fast.objective).max()
        # another local minimum, maybe, but as low within a hundredth of the way down
        assert fast.objective[-1] <= plain.objective[-1] + 1e-2 * (plain.objective[0] - plain.objective[-1])
        rounds += (plain.n_iter, fast.n_iter)
    assert rounds[1] < rounds[0]


@pytest.mark.parametrize("n_nodes", [40, "all"], ids=["factorised", "conjugate gradients"])
@pytest.mark.parametrize("least_weight", [1e-6, 1e-2])
def test_small_weights_are_left_out_and_the_objective_never_rises(n_nodes, least_weight):
    X = forked(600, 8, noise=0.15)[0]
    options = dict(n_components=3, n_nodes=n_nodes, tol=0, max_iter=12)
    whole, fit = core.ddrtree(X, **options), core.ddrtree(X, **options, least_weight=least_weight)
    R = fit.assignment.toarray()
    largest = R.max(axis=1, keepdims=True)
    assert R[R > 0].min() < 1
    assert (R >= 0.999 * least_weight * largest)[R > 0].all()
    assert fit.assignment.nnz < 0.8 * whole.assignment.nnz
    assert not (np.diff(whole.assignment.indptr) < np.diff(fit.assignment.indptr)).all()
    close(R.sum(axis=1), np.ones(600), 1e-12)
    wanted = oracles.soft_assignment(fit.embedding, fit.nodes, fit.params["sigma"])
    wanted[wanted < least_weight * wanted.max(axis=1, keepdims=True)] = 0
    close(R, wanted / wanted.sum(axis=1, keepdims=True), 1e-12)
    close(fit.objective[-1], recomputed(X, fit), 1e-9)
    assert np.diff(fit.objective).max() <= 1e-12 * np.abs(fit.objective).max()
    close(fit.objective, whole.objective, 10 * least_weight)
    assert (whole.params["least_weight"], fit.params["least_weight"]) == (0.0, least_weight)


def test_the_first_value_belongs_to_the_start():
    X = forked(70)[0]
    W, Z, C = start(X, 2, 15)
    seen = []
    core.ddrtree(X, 2, init=(Z, C), lam=9, sigma=0.1, gamma=2, max_iter=2, callback=lambda i, f: seen.append((i, f)))
    R = oracles.soft_assignment(Z, C, 0.1)
    first = oracles.ddrtree_objective(centred(X), W, Z, C, R, oracles.kruskal(C), 9, 0.1, 2)
    assert [i for i, _ in seen] == [0, 1, 2]
    assert seen[0][1] == pytest.approx(first, rel=1e-10)


def test_convergence_is_on_the_relative_change():
    X = forked(120)[0]
    fit = core.ddrtree(X, tol=1e-4)
    change = np.abs(np.diff(fit.objective)) / np.maximum(np.abs(fit.objective[:-1]), np.abs(fit.objective[1:]))
    assert fit.converged
    assert change[-1] <= 1e-4
    assert (change[:-1] > 1e-4).all()
    assert not core.ddrtree(X, tol=1e-4, max_iter=2).converged


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("n_nodes", ["auto", "all"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "float32", "ties", "wide"])
def test_the_order_of_cells_does_not_matter_to_the_last_bit(kind, n_nodes):
    X = forked(160, 200 if kind == "wide" else 6)[0]
    if kind == "ties":  # a grid, and duplicates
        X = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), -1).reshape(-1, 2)
        X = np.concatenate([X, X[:20], X[:20]])
    if kind == "float32":
        X = X.astype(np.float32)
    shuffle = np.random.default_rng(5).permutation(len(X))
    wrap = sparse.csr_matrix if kind == "sparse" else np.asarray
    a = core.ddrtree(wrap(X), n_nodes=n_nodes, max_iter=15)
    b = core.ddrtree(wrap(X[shuffle]), n_nodes=n_nodes, max_iter=15)
    np.testing.assert_array_equal(b.objective, a.objective)
    np.testing.assert_array_equal(b.embedding, a.embedding[shuffle])
    if n_nodes == "all":
        # cells that are the same share their nodes out among themselves in any way
        rows = lambda nodes: nodes[np.lexsort(nodes.T)]
        np.testing.assert_array_equal(rows(b.nodes), rows(a.nodes))
        if kind != "ties":
            np.testing.assert_array_equal(b.nodes, a.nodes[shuffle])
    else:
        np.testing.assert_array_equal(b.nodes, a.nodes)
        np.testing.assert_array_equal(b.edges, a.edges)
        assert (b.assignment != a.assignment[shuffle]).nnz == 0
    for branch_a, branch_b in zip(a.graph.branches, b.graph.branches, strict=True):
        np.testing.assert_array_equal(a.nodes[branch_a], b.nodes[branch_b])


def test_the_order_of_observations_of_a_kernel_does_not_matter():
    X = forked(60, 10)[0]
    kernel = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    shuffle = np.random.default_rng(5).permutation(60)
    a = core.ddrtree(kernel, kernel="precomputed", max_iter=10)
    b = core.ddrtree(kernel[np.ix_(shuffle, shuffle)], kernel="precomputed", max_iter=10)
    np.testing.assert_array_equal(b.embedding, a.embedding[shuffle])
    np.testing.assert_array_equal(b.loadings, a.loadings[shuffle])


@pytest.mark.parametrize("factor", [1e-3, 10.0, 1e6])
def test_units_do_not_matter_under_the_defaults(factor):
    X = forked(150)[0]
    a, b = core.ddrtree(X), core.ddrtree(X * factor)
    close(b.embedding / factor, a.embedding)
    close(b.objective / factor**2, a.objective)
    np.testing.assert_array_equal(b.edges, a.edges)
    assert b.params["sigma"] == pytest.approx(a.params["sigma"] * factor**2)


def test_rotation_and_shift_do_not_matter():
    X = forked(150)[0]
    Q = np.linalg.qr(np.random.default_rng(3).standard_normal((6, 6)))[0]
    a, b = core.ddrtree(X), core.ddrtree(X @ Q + 3.0)
    close(b.embedding, a.embedding)
    close(b.loadings, Q.T @ a.loadings)
    np.testing.assert_array_equal(b.edges, a.edges)


def test_the_same_seed_gives_the_same_fit_and_inputs_are_not_changed():
    X = forked(150)[0]
    kept = X.copy()
    a, b, c = core.ddrtree(X, rng=3), core.ddrtree(X, rng=np.random.default_rng(3)), core.ddrtree(X, rng=4)
    np.testing.assert_array_equal(a.embedding, b.embedding)
    assert np.abs(a.nodes - c.nodes).max() > 0
    np.testing.assert_array_equal(X, kept)


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("n_nodes", [100, "all"])
def test_nothing_of_size_n_squared_is_formed(n_nodes):
    n = 6000
    X = forked(n, 8)[0]
    core.ddrtree(X[:4200], n_nodes=n_nodes, sigma=1e-5, lam=10.0, max_iter=1)  # compiled: that takes memory, too
    peak, _ = peak_memory(lambda: core.ddrtree(X, n_nodes=n_nodes, sigma=1e-5, lam=10.0, max_iter=2, tol=0))
    assert peak < 0.1 * 8 * n**2


def test_without_tree_and_quantisation_it_is_pca():
    X = forked(90)[0]
    fit = core.ddrtree(X, 3, lam=0, gamma=1e-10, sigma=0.1, n_nodes=20)
    W = oracles.pca(centred(X), 3)
    same_up_to_signs(fit, W, centred(X) @ W, fit.nodes * np.sign((fit.loadings * W).sum(axis=0)))


def test_one_node_per_row_and_large_gamma_give_drtrees_updates():
    X = centred(forked(60)[0])
    W, Z, _ = start(X, 2, None)
    lam = 3.0
    for rounds in (1, 2, 3):
        W, Z = oracles.drtree_round(X, W, Z, lam)
        # every point stays with its own node, so the assignment is the identity, and gamma ties z_i to c_i
        fit = core.ddrtree(X, 2, n_nodes="all", assignment="hard", lam=lam, gamma=1e9, max_iter=rounds, tol=0)
        assert (fit.assignment != sparse.identity(60)).nnz == 0
        same_up_to_signs(fit, W, Z, Z, 1e-6)


def test_with_the_embedding_held_and_no_tree_it_is_mean_shift():
    X = centred(forked(80)[0])
    W, Z, C = start(X, 2, None)
    for rounds in (1, 2, 5):
        C = Z
        for _ in range(rounds):
            C = oracles.mean_shift_round(Z, C, 0.05)
        # a vanishing gamma leaves the embedding at PCA
        fit = core.ddrtree(X, 2, n_nodes="all", lam=0, sigma=0.05, gamma=1e-10, max_iter=rounds, tol=0)
        same_up_to_signs(fit, W, Z, C, 1e-7)


def test_a_small_sigma_gives_the_nearest_node():
    X = forked(90)[0]
    hard = core.ddrtree(X, n_nodes=20, assignment="hard", lam=10, gamma=2)
    soft = core.ddrtree(X, n_nodes=20, sigma=1e-12, lam=10, gamma=2)
    assert (soft.assignment.argmax(axis=1) == hard.assignment.argmax(axis=1)).all()
    assert soft.assignment.max() == hard.assignment.max() == 1.0
    close(soft.embedding, hard.embedding, 1e-6)
    close(soft.objective, hard.objective, 1e-6)


@pytest.mark.parametrize("n_nodes", [2, 5, "all", "auto"])
@pytest.mark.parametrize("lam", [0.0, 20.0])
def test_ties_and_duplicates_still_give_a_tree(n_nodes, lam):
    X = np.repeat(np.array([[0.0, 0.0], [1, 0], [0, 1], [1, 1]]), 5, axis=0)
    fit = core.ddrtree(X, n_nodes=n_nodes, lam=lam, sigma=0.1)
    assert fit.edges.shape == (len(fit.nodes) - 1, 2)
    assert fit.graph.is_tree
    assert np.isfinite(fit.nodes).all()
    assert np.isfinite(fit.objective).all()
    assert np.diff(fit.objective).max() <= 1e-10 * np.abs(fit.objective).max()
    same = fit.embedding.reshape(4, 5, 2)
    np.testing.assert_array_equal(same, same[:, :1].repeat(5, axis=1))


@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("n", [3, 4, 5, 7])
def test_few_rows(n, assignment):
    X = forked(n, 4, seed=n)[0]
    for n_nodes in range(2, n + 1):
        fit = core.ddrtree(X, 2, n_nodes=n_nodes, assignment=assignment)
        assert fit.graph.is_tree
        assert np.isfinite(fit.embedding).all()
    assert len(core.ddrtree(X).nodes) == n


def test_data_on_a_line_leave_the_second_component_empty():
    X = np.linspace(0, 1, 40)[:, None] * np.array([1.0, 2.0, -1.0])
    for given in (X, np.tile(X, 30)):
        fit = core.ddrtree(given, 2)
        assert np.abs(fit.embedding[:, 1]).max() < 1e-6
        np.testing.assert_allclose(fit.loadings.T @ fit.loadings, np.eye(2), atol=1e-10)


def test_a_share_of_variance_sets_the_components():
    X = forked(100, 12, noise=0.3)[0]
    values = np.linalg.svd(centred(X), compute_uv=False) ** 2
    for share in (0.5, 0.9, 0.999):
        wanted = int(np.searchsorted(np.cumsum(values) / values.sum(), share)) + 1
        assert core.ddrtree(X, share, max_iter=2).embedding.shape[1] == wanted
        assert core.ddrtree(np.tile(X, 20), share, max_iter=2).embedding.shape[1] == wanted


def test_presets_and_explicit_values():
    X = forked(200)[0]
    kdd = core.ddrtree(X, preset="kdd2015", max_iter=1).params
    assert (kdd["n_nodes"], kdd["lam"], kdd["sigma"], kdd["gamma"]) == (200, 200.0, 1e-3, 10.0)
    monocle = core.ddrtree(X, preset="monocle2").params
    assert (monocle["n_nodes"], monocle["lam"], monocle["sigma"], monocle["gamma"]) == (107, 1000.0, 1e-3, 10.0)
    assert (monocle["max_iter"], monocle["tol"]) == (20, 1e-3)
    assert core.ddrtree(X[:99], preset="monocle2", max_iter=1).params["n_nodes"] == 99
    mixed = core.ddrtree(X, preset="kdd2015", lam=7, n_nodes=12, max_iter=1).params
    assert (mixed["n_nodes"], mixed["lam"], mixed["gamma"]) == (12, 7.0, 10.0)
    assert core.ddrtree(X, preset="monocle2", n_nodes=None, max_iter=1).params["n_nodes"] == 200


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(("n", "n_features"), [(90, 6), (40, 60)])
def test_a_fit_begins_where_one_of_other_rows_ended(n, n_features, center):
    X, other = forked(n, n_features)[0] + 2.0, forked(80, n_features, seed=5)[0] + 1.0
    before = core.ddrtree(other, 3, n_nodes=12, center=center)
    given = dict(lam=1, sigma=0.1, gamma=1, center=center, max_iter=3)
    fit = core.ddrtree(X, 3, init=before, **given)
    # the loadings nearest to the other ones among those that the rows span, and the nodes where these were
    rows = X - X.mean(axis=0) * center
    span = np.linalg.svd(rows, full_matrices=False)
    span = span[2][span[1] > 1e-9]
    U, _, Vt = np.linalg.svd(span.T @ span @ before.loadings, full_matrices=False)
    W = U @ Vt
    nodes = (before.nodes @ before.loadings.T + before.mean - X.mean(axis=0) * center) @ W
    Z = rows @ W
    R = oracles.soft_assignment(Z, nodes, 0.1)
    first = oracles.ddrtree_objective(rows, W, Z, nodes, R, oracles.kruskal(nodes), 1, 0.1, 1)
    assert fit.objective[0] == pytest.approx(first, rel=1e-8)
    assert fit.params["n_nodes"] == 12
    assert np.diff(fit.objective).max() <= 1e-12 * np.abs(fit.objective).max()
    order = np.random.default_rng(0).permutation(n)
    np.testing.assert_allclose(core.ddrtree(X[order], 3, init=before, **given).nodes, fit.nodes, atol=1e-9)


def test_a_fit_begins_where_one_of_the_same_rows_ended():
    X = forked(150, 6)[0]
    before = core.ddrtree(X, 3)
    after = core.ddrtree(X, 3, init=before)
    assert after.params == before.params  # the automatic sigma is that of the rows, wherever a fit begins
    assert after.objective[0] < before.objective[0]
    assert after.objective[-1] <= before.objective[-1]
    assert after.n_iter < before.n_iter


def test_noise_made_equal_before_a_fit_to_begin_from():
    X = forked(120, 5)[0]
    smooth = core.denoise(X, equalize=True)
    before = smooth.lifted(core.ddrtree(smooth.values, 3, n_nodes=10))
    assert not np.allclose(before.loadings.T @ before.loadings, np.eye(3))
    places = before.nodes @ np.linalg.pinv(before.loadings) + before.mean
    fit = core.ddrtree(X, 3, init=before, lam=0, sigma=0.1, gamma=1, max_iter=1)
    U, _, Vt = np.linalg.svd(before.loadings, full_matrices=False)
    W, rows = U @ Vt, centred(X)
    nodes = (places - X.mean(axis=0)) @ W
    R = oracles.soft_assignment(rows @ W, nodes, 0.1)
    first = oracles.ddrtree_objective(rows, W, rows @ W, nodes, R, oracles.kruskal(nodes), 0, 0.1, 1)
    assert fit.objective[0] == pytest.approx(first, rel=1e-8)


def test_fits_from_which_none_can_begin():
    X = forked(60, 6)[0]
    fit = core.ddrtree(X, 3, n_nodes=10)
    with pytest.raises(ValueError, match="init is a fit of 6 columns; wanted 5, those of X"):
        core.ddrtree(X[:, :5], 3, init=fit)
    with pytest.raises(ValueError, match="init is a fit with 3 components and n_components=2; wanted the same"):
        core.ddrtree(X, 2, init=fit)
    kernel = core.ddrtree(X @ X.T, 3, n_nodes=10, kernel="precomputed")
    for given in (dict(X=X, init=kernel), dict(X=X @ X.T, kernel="precomputed", init=fit)):
        with pytest.raises(ValueError, match="a kernel matrix; wanted data matrices"):
            core.ddrtree(n_components=3, **given)


def test_a_dask_array_begins_where_another_fit_ended():
    da = pytest.importorskip("dask.array")
    X = forked(120, 6)[0]
    before = core.ddrtree(X[:60], 3, n_nodes=10)
    plain, lazy = (core.ddrtree(rows, 3, init=before) for rows in (X, da.from_array(X, chunks=(50, -1))))
    np.testing.assert_allclose(lazy.objective, plain.objective, rtol=1e-9)


@pytest.mark.parametrize(("n", "neighbor", "d"), [(40, 2, 2), (120, 6, 2), (120, 6, 12)])
def test_the_automatic_sigma(n, neighbor, d):
    X = forked(n, 12, noise=0.3)[0]
    Z = centred(X) @ np.linalg.svd(centred(X), full_matrices=False)[2][:d].T
    squared = np.sort(((Z[:, None] - Z) ** 2).sum(axis=2), axis=1)[:, neighbor]  # a row itself is the first
    assert core.ddrtree(X, d, max_iter=1).params["sigma"] == pytest.approx(3 * np.median(squared) / min(d, 10))


def test_starts():
    X = forked(100)[0]
    Z = forked(100, 2, seed=9)[0]
    a = core.ddrtree(X, init=Z, n_nodes=20)
    b = core.ddrtree(X, init=lambda data: Z, n_nodes=20)
    np.testing.assert_array_equal(a.embedding, b.embedding)
    # the first value is that of the start, with the orthonormal W nearest to it
    first = core.ddrtree(X, init=(Z, Z[:5]), sigma=0.1, lam=1, gamma=1, max_iter=1).objective[0]
    U, _, Vt = np.linalg.svd(centred(X).T @ Z, full_matrices=False)
    R = oracles.soft_assignment(Z, Z[:5], 0.1)
    assert first == pytest.approx(
        oracles.ddrtree_objective(centred(X), U @ Vt, Z, Z[:5], R, oracles.kruskal(Z[:5]), 1, 0.1, 1)
    )


def test_a_linear_kernel_equals_the_data():
    X = forked(80, 9)[0]
    a, b = core.ddrtree(X, 3), core.ddrtree(X @ X.T, 3, kernel="precomputed")
    close(b.embedding, a.embedding)
    close(b.objective, a.objective)
    close(b.loadings.T @ (centred(X) @ centred(X).T) @ b.loadings, np.eye(3))
    new = forked(20, 9, seed=4)[0]
    close(b.transform(new @ X.T), a.transform(new), 1e-7)


def test_new_rows_are_embedded_where_the_fit_would_put_them():
    X = forked(300, noise=0.05)[0]
    fit = core.ddrtree(X, tol=1e-9, max_iter=1000, n_nodes=30)
    close(fit.transform(X), fit.embedding, 1e-2)
    Z = fit.transform(X[:7])
    R = oracles.soft_assignment(Z, fit.nodes, fit.params["sigma"])
    gamma = fit.params["gamma"]
    close(Z, ((X[:7] - fit.mean) @ fit.loadings + gamma * R @ fit.nodes) / (1 + gamma), 1e-8)
    close(fit.transform(sparse.csr_matrix(X)), fit.transform(X))
    with pytest.raises(ValueError, match="X has 4 columns; the fit was made with 6"):
        fit.transform(X[:, :4])


@pytest.mark.compiled("takes minutes")
def test_the_tree_follows_the_arms():
    X, arm, _ = forked(600, 10, noise=0.05)
    fit = core.ddrtree(X)
    assert len(fit.graph.tips) == 3
    assert len(fit.graph.forks) == 1
    branch = fit.graph.branch_of_edge[core.locate(fit.graph, fit.embedding).edge]
    far = np.linalg.norm(fit.embedding - fit.nodes[fit.graph.forks[0]], axis=1) > 0.2
    table = np.array([[np.sum(far & (arm == a) & (branch == b)) for b in range(3)] for a in range(3)])
    assert table.max(axis=1).sum() >= 0.98 * far.sum()
    assert len(set(table.argmax(axis=1))) == 3


def test_a_true_answer_of_the_callback_stops_and_an_exception_leaves():
    X = forked(100)[0]
    fit = core.ddrtree(X, tol=0, callback=lambda i, f: i == 3)
    assert fit.n_iter == 3
    assert not fit.converged

    def interrupt(i, f):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        core.ddrtree(X, callback=interrupt)


X = forked(30)[0]


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (dict(X=altered(X, 1, 1, np.nan)), ValueError, r"X holds 1 value\(s\) that are NaN"),
        (dict(X=sparse.csr_matrix(altered(X, 1, 1, np.inf))), ValueError, r"X holds 1 value\(s\) that are NaN or inf"),
        (dict(X=X[:1]), ValueError, r"X has 1 row\(s\) \(cells\); wanted at least 3"),
        (dict(X=X[:0]), ValueError, r"X is empty: shape \(0, 6\)"),
        (dict(X=X[:, :0]), ValueError, r"X is empty: shape \(30, 0\)"),
        (dict(X=X[0]), ValueError, r"X has 1 dimension\(s\), shape \(6,\)"),
        (dict(X=np.full((5, 2), "a")), TypeError, "X has dtype <U1; wanted real numbers"),
        (dict(X=np.full((9, 4), 2.7)), ValueError, r"all 4 columns \(genes\) are constant, all 9 rows are the same"),
        (dict(X=np.full((9, 40), 2.7)), ValueError, r"all 40 columns \(genes\) are constant"),
        (dict(n_components=7), ValueError, r"n_components=7 is out of range; wanted a whole number from 1 to 6 \(data"),
        (dict(n_components=0), ValueError, "n_components=0 is out of range"),
        (dict(n_components=2.5), TypeError, "n_components=2.5 is a float; wanted a whole number"),
        (dict(n_components=True), TypeError, "n_components=True is a bool"),
        (dict(n_nodes=31), ValueError, r"n_nodes=31 is out of range; wanted .* from 2 to 30 \(the number of rows\)"),
        (dict(n_nodes=1), ValueError, "n_nodes=1 is out of range"),
        (dict(n_nodes="many"), ValueError, "n_nodes='many' is not known. Wanted a whole number, 'auto' or 'all'"),
        (dict(lam=-1), ValueError, "lam=-1 is out of range; wanted a number >= 0"),
        (dict(lam="5N"), TypeError, "lam='5N' is a str; wanted a number"),
        (dict(sigma=0), ValueError, "sigma=0 is out of range; wanted a number > 0"),
        (dict(gamma=0), ValueError, "gamma=0 is out of range; wanted a number > 0"),
        (dict(gamma=np.nan), ValueError, "gamma=nan is out of range"),
        (dict(tol=-1e-3), ValueError, "tol=-0.001 is out of range"),
        (dict(least_weight=-1), ValueError, "least_weight=-1 is out of range; wanted a number >= 0 and <= 1"),
        (dict(least_weight=2.0), ValueError, "least_weight=2.0 is out of range"),
        (dict(max_iter=0), ValueError, "max_iter=0 is out of range; wanted a whole number from 1 up"),
        (dict(assignment="fuzzy"), ValueError, r"assignment='fuzzy' is not known. Available: \['soft', 'hard'\]"),
        (dict(preset="monocle"), ValueError,
            r"preset='monocle' is not known. Available: \[None, 'kdd2015', 'monocle2'\]"),
        (dict(kernel="rbf"), ValueError, "kernel='rbf' is not known"),
        (dict(kernel="precomputed"), ValueError, r"X has shape \(30, 6\); a kernel matrix must be square"),
        (dict(X=np.arange(25.0).reshape(5, 5), kernel="precomputed"), ValueError, "X is not symmetric"),
        (dict(X=-np.eye(5), kernel="precomputed"), ValueError, "X is not a kernel matrix: smallest eigenvalue -1"),
        (dict(X=np.diag([-3.0, 1, 2, 5]), kernel="precomputed"), ValueError, "smallest eigenvalue -1.72478, largest"),
        (dict(X=np.ones((5, 5)), kernel="precomputed"), ValueError, "all 5 observations are the same"),
        (dict(init=np.ones((30, 2))), ValueError, "init: all 30 rows are the same; wanted rows that differ"),
        (dict(init=np.zeros((30, 3))), ValueError, r"init has shape \(30, 3\); wanted .* = \(30, 2\)"),
        (dict(init=(X[:, :2], X[:5, :3])), ValueError, r"init's nodes have shape \(5, 3\); wanted 2 columns"),
    ],
)  # fmt: skip
def test_errors_name_the_value_and_what_was_wanted(change, kind, message):
    with pytest.raises(kind, match=message):
        core.ddrtree(**({"X": X} | change))


@pytest.mark.parametrize("seed", range(20))
def test_loadings_are_orthonormal_up_to_the_rank(seed):
    rng = np.random.default_rng(seed)
    for n, n_features in ((5, 30), (8, 200), (12, 12), (30, 4)):
        X = rng.standard_normal((n, n_features))
        for d in (2, min(n, n_features)):
            fit = core.ddrtree(X, d, max_iter=3)
            np.testing.assert_allclose(fit.loadings.T @ fit.loadings, np.eye(d), atol=1e-8)


@pytest.mark.parametrize(("lam", "gamma"), [(1e16, 1.0), (1e11, 1e-6), (1.0, 1e14), (1e-12, 1e-8)])
def test_extreme_weights_still_give_a_fit(lam, gamma):
    X = forked(100)[0]
    fit = core.ddrtree(X, n_nodes=30, lam=lam, gamma=gamma, sigma=0.01, max_iter=5)
    assert np.isfinite(fit.embedding).all()
    assert np.diff(fit.objective).max() <= 1e-9 * np.abs(fit.objective).max()


@pytest.mark.parametrize("factor", [1e-140, 1e140])
def test_extreme_units_change_nothing(factor):
    X = forked(80)[0]
    a, b = core.ddrtree(X, max_iter=5), core.ddrtree(X * factor, max_iter=5)
    np.testing.assert_allclose(b.embedding / factor, a.embedding, rtol=1e-6, atol=1e-9)


def test_a_gamma_beside_which_one_is_lost_is_refused():
    X = forked(30, 3)[0]
    with pytest.raises(ValueError, match=r"gamma=5100000\d+\.0 is out of range; wanted a number > 0 and <= 1e\+14"):
        core.ddrtree(X, gamma=5.1e14)
    fit = core.ddrtree(X, n_nodes=8, gamma=1e14)  # ends soon
    assert np.isfinite(fit.nodes).all()
    assert (np.diff(fit.objective) <= 1e-9 * np.abs(fit.objective).max()).all()
