"""MPME against the literal version over all pairs, and what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import oracles
from comparing import close, same_up_to_sign
from samples import altered, forked
from skeltraj import core
from skeltraj.core._methods import mpme
from skeltraj.core._similarity.pair_distances import PairDistances
from skeltraj.core._solvers import laplacian_system
from skeltraj.core._solvers.laplacian_system import LaplacianSystem

PARTS = "in [0-9]+ parts"


def checked(fit, phi):
    """Everything that a fit says of itself, from the definition; returns S."""
    d, lam, C = (fit.params[key] for key in ("n_components", "lam", "C"))
    S = fit.similarity.toarray()
    np.testing.assert_array_equal(S, S.T)
    assert (np.diag(S) == 0).all()
    assert (fit.weights > 0).all()
    assert (S <= 4 * C * (1 + 1e-12)).all()
    assert fit.value == pytest.approx(oracles.mpme_value(S, phi, d, lam), rel=1e-9, abs=1e-9)
    assert fit.objective[-1] == fit.value
    assert len(fit.objective) == fit.n_iter + 1
    assert (np.diff(fit.objective) >= -1e-10 * np.abs(fit.objective[:-1])).all()
    literal = oracles.kkt_violation(S, oracles.mpme_gradient(S, phi, d, lam), 4 * C)
    assert fit.certificate.kkt_violation == pytest.approx(literal, rel=1e-3, abs=1e-9 * phi.max())
    return S


CASES = {
    "fork": (lambda: forked(60)[0], 2, {}),
    "large lam": (lambda: forked(50, seed=1)[0], 2, dict(lam=1.0)),
    "one dimension": (lambda: forked(50, 3, seed=2)[0], 1, {}),
    "three": (lambda: forked(40, 5, seed=3)[0], 3, dict(lam=0.1)),
    "box": (lambda: forked(50, seed=4)[0], 2, dict(C=3.0)),
    "narrow box": (lambda: forked(30, seed=5)[0], 2, dict(C=0.5)),
    "noise": (lambda: np.random.default_rng(0).standard_normal((80, 4)), 2, {}),
    "line": (lambda: np.random.default_rng(1).standard_normal((30, 1)), 2, dict(lam=0.1)),
    "small": (lambda: np.random.default_rng(2).standard_normal((3, 2)), 2, {}),
    "lattice": (lambda: np.argwhere(np.ones((6, 6))), 2, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_reaches_the_maximum_over_all_pairs(case):
    make, d, options = CASES[case]
    X = make()
    phi = oracles.squared_distances(X)
    fit = core.mpme(X, d, **options)
    S = checked(fit, phi)
    assert fit.converged
    assert isinstance(fit.certificate.duality_gap, float)
    lam = fit.params["lam"]
    best = oracles.mpme(phi, d, lam, options.get("C", np.inf))
    wanted = oracles.mpme_value(best, phi, d, lam)
    allowed = 1e-6 * len(X)
    assert fit.value >= wanted - allowed
    assert max(fit.value, wanted) - fit.value <= fit.certificate.duality_gap + 1e-9
    assert 0 <= fit.certificate.duality_gap <= allowed
    # the similarities at the maximum are unique where no two rows are in the same place
    if case != "lattice":
        close(S, best, 2e-2)


@pytest.mark.parametrize("n_neighbors", [1, 2])
@pytest.mark.parametrize("case", ["fork", "noise", "box", "lattice"])
def test_pairs_beyond_the_first_candidates_are_found(case, n_neighbors):
    make, d, options = CASES[case]
    X = make()
    few = core.mpme(X, d, n_neighbors=n_neighbors, **options)
    checked(few, oracles.squared_distances(X))
    many = core.mpme(X, d, n_neighbors=len(X) - 1, **options)
    assert few.value == pytest.approx(many.value, rel=2e-6, abs=2e-6)
    first = {
        (i, j)
        for i, near in enumerate(np.argsort(oracles.squared_distances(X), axis=1)[:, 1:])
        for j in near[:n_neighbors]
    }
    assert any((i, j) not in first and (j, i) not in first for i, j in few.edges.tolist())


def test_a_fit_that_is_stopped_early_is_certified_as_what_it_is():
    X = forked(60)[0]
    phi = oracles.squared_distances(X)
    best = core.mpme(X, tol=1e-7).value
    gaps = []
    for max_iter in (1, 3, 6, 12):
        fit = core.mpme(X, max_iter=max_iter)
        checked(fit, phi)
        assert fit.n_iter == max_iter
        assert not fit.converged
        assert best - fit.value <= fit.certificate.duality_gap
        gaps.append(fit.certificate.duality_gap)
    assert gaps[-1] < gaps[0]
    box = core.mpme(X, C=1.0, max_iter=3)
    checked(box, phi)
    assert core.mpme(X, C=1.0).value - box.value <= box.certificate.duality_gap


@pytest.mark.parametrize("C", [np.inf, 1.0])
def test_the_gap_bounds_what_is_missing_wherever_one_stands(C):
    X = forked(40)[0]
    X = X[PairDistances(X, "rows", name="X").order]
    phi, lam = oracles.squared_distances(X), 1e-4
    best = core.mpme(X, lam=lam, C=C, tol=1e-7)
    problem = mpme._Problem(PairDistances(X, "rows", name="X"), 2, lam, 4 * C)
    rng = np.random.default_rng(0)
    for share in (
        1e-3,
        0.1,
        0.5,
        0.9,
        0.99,
        1.0,
        1.5,
        rng.random(len(best.weights)),
        rng.exponential(1.0, 40 * 39 // 2),
    ):
        if np.size(share) == 40 * 39 // 2:
            pairs, weights = np.argwhere(np.triu(np.ones((40, 40)), 1)), share
        else:
            pairs, weights = best.edges, share * best.weights
        weights = np.minimum(weights, 4 * C)
        S = oracles.from_pairs(pairs, weights, 40)
        missing = best.value - oracles.mpme_value(S, phi, 2, lam)
        state = LaplacianSystem(40, pairs, lam).at(weights)
        certificate = problem._look_at_all(pairs, weights, phi[tuple(pairs.T)] / 2, state).certificate
        literal = oracles.kkt_violation(S, oracles.mpme_gradient(S, phi, 2, lam), 4 * C)
        assert certificate.kkt_violation == pytest.approx(literal, rel=1e-6, abs=1e-9)
        assert certificate.duality_gap >= missing - 1e-6
        if (
            C == np.inf and np.size(share) == 1 and 0.1 <= share <= 1
        ):  # towards the maximum: the bound is exact but for lam
            assert certificate.duality_gap <= 1.05 * missing + 1e-3


@pytest.mark.parametrize("way", ["dense", "sparse"])
def test_the_gradient_is_the_functions(way):
    rng = np.random.default_rng(0)
    X = forked(15)[0]
    phi = oracles.squared_distances(X)
    pairs = np.argwhere(np.triu(rng.random((15, 15)) < 0.5, 1))
    weights = rng.random(len(pairs))
    state = laplacian_system.LaplacianSystem(15, pairs, 0.3, dense=way == "dense").at(weights)
    gradient = state.resistance - phi[tuple(pairs.T)] / 2
    literal = oracles.mpme_gradient(oracles.from_pairs(pairs, weights, 15), phi, 2, 0.3)
    close(gradient, literal[tuple(pairs.T)], 1e-10)
    for e in range(len(pairs)):
        step = np.zeros(len(pairs))
        step[e] = 1e-5
        up, down = (oracles.mpme_value(oracles.from_pairs(pairs, weights + s, 15), phi, 2, 0.3) for s in (step, -step))
        assert gradient[e] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("options", [{}, dict(C=1.0), dict(lam=0.5)])
def test_the_papers_solver_agrees(options):
    X = forked(40)[0]
    ours = core.mpme(X, **options)
    paper = core.mpme(X, solver="lbfgs-all-pairs", tol=1e-8, **options)
    checked(paper, oracles.squared_distances(X))
    assert paper.value == pytest.approx(ours.value, rel=1e-6)
    assert paper.value <= ours.value + ours.certificate.duality_gap
    assert ours.value <= paper.value + paper.certificate.duality_gap
    assert paper.params["solver"] == "lbfgs-all-pairs"


@pytest.mark.parametrize("given", ["rows", "sparse", "kernel", "distances", "float32", "integers"])
@pytest.mark.parametrize("C", [np.inf, 2.0])
def test_the_order_of_rows_does_not_matter(given, C):
    rng = np.random.default_rng(4)
    X = np.exp(rng.standard_normal((50, 4)))  # not symmetric
    make = {
        "rows": lambda X: dict(X=X),
        "sparse": lambda X: dict(X=sparse.csr_matrix(X)),
        "kernel": lambda X: dict(X=X @ X.T, kernel="precomputed"),
        "distances": lambda X: dict(distances=oracles.squared_distances(X)),
        "float32": lambda X: dict(X=X.astype(np.float32)),
        "integers": lambda X: dict(X=np.round(100 * X).astype(np.int64)),
    }[given]
    shuffle = rng.permutation(50)
    a, b = core.mpme(**make(X), C=C), core.mpme(**make(X[shuffle]), C=C)
    close(b.similarity.toarray(), a.similarity.toarray()[np.ix_(shuffle, shuffle)], 1e-6)
    close(b.embedding, a.embedding[shuffle], 1e-6)
    assert a.value == pytest.approx(b.value, rel=1e-10)


def test_what_is_given_does_not_matter():
    X = forked(45)[0]
    X = X - X.mean(axis=0)
    plain = core.mpme(X, tol=1e-8)
    phi = oracles.squared_distances(X)
    for fit in (
        core.mpme(X @ X.T, kernel="precomputed", tol=1e-8),
        core.mpme(distances=phi, tol=1e-8),
        core.mpme(sparse.csr_matrix(X), tol=1e-8),
        core.mpme(sparse.csc_array(X), tol=1e-8),
    ):
        checked(fit, phi)
        assert fit.value == pytest.approx(plain.value, rel=1e-7)
        assert fit.params["lam"] == pytest.approx(plain.params["lam"])
        close(fit.similarity.toarray(), plain.similarity.toarray(), 1e-2)
    single = X.astype(np.float32)
    np.testing.assert_array_equal(
        core.mpme(single).similarity.toarray(), core.mpme(single.astype(np.float64)).similarity.toarray()
    )


@pytest.mark.parametrize("options", [{}, dict(C=2.0), dict(embed="laplacian")])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7, 1e8])
def test_sparse_rows_far_from_the_origin(offset, options):
    X = np.round(forked(60)[0] * 2**20) / 2**20 + offset  # the shift itself loses no digit
    a, b = core.mpme(X, **options), core.mpme(sparse.csr_matrix(X), **options)
    assert b.converged
    assert b.value == pytest.approx(a.value, rel=1e-10)
    np.testing.assert_array_equal(b.edges, a.edges)
    close(b.weights, a.weights, 1e-6)
    close(b.embedding, a.embedding, 1e-6)


def test_distances_need_not_be_euclidean():
    rng = np.random.default_rng(0)
    phi = rng.random((30, 30)) + 0.2
    phi = phi + phi.T
    np.fill_diagonal(phi, 0)
    fit = core.mpme(distances=phi, lam=0.05)
    checked(fit, phi)
    wanted = oracles.mpme_value(oracles.mpme(phi, 2, 0.05), phi, 2, 0.05)
    assert fit.value == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("C", [np.inf, 2.0])
def test_the_sparse_way_is_the_dense_way(C, monkeypatch):
    X = forked(90)[0]
    dense = core.mpme(X, C=C, tol=1e-8)
    seen = []
    monkeypatch.setattr(laplacian_system, "_MAX_ROWS_ALWAYS_DENSE", 0)
    monkeypatch.setattr(laplacian_system, "_MAX_ROWS_DENSE", 0)
    made = laplacian_system._Sparse.__init__
    monkeypatch.setattr(laplacian_system._Sparse, "__init__", lambda *a: (seen.append(1), made(*a))[1])
    fit = core.mpme(X, C=C, tol=1e-8)
    assert len(seen) > fit.n_iter
    checked(fit, oracles.squared_distances(X))
    assert fit.value == pytest.approx(dense.value, rel=1e-7)
    close(fit.similarity.toarray(), dense.similarity.toarray(), 1e-2)
    same_up_to_sign(fit.embedding, dense.embedding, 1e-3)
    with pytest.warns(UserWarning, match="90 rows in 90 parts"):
        alone = core.mpme(X, lam=1e4)
    assert len(alone.edges) == 0
    assert alone.value == pytest.approx(90 * np.log(1e4))


@pytest.mark.compiled("takes minutes")
def test_many_rows_take_the_sparse_way(monkeypatch):
    seen = []
    made = laplacian_system._Sparse.__init__
    monkeypatch.setattr(laplacian_system._Sparse, "__init__", lambda *a: (seen.append(1), made(*a))[1])
    X = forked(705)[0]
    fit = core.mpme(X, tol=1e-2)
    assert seen
    monkeypatch.setattr(laplacian_system, "_MAX_ROWS_ALWAYS_DENSE", 1000)
    dense = core.mpme(X, tol=1e-2)
    assert abs(fit.value - dense.value) <= max(fit.certificate.duality_gap, dense.certificate.duality_gap)
    S, lam = fit.similarity.toarray(), fit.params["lam"]
    phi = oracles.squared_distances(X)
    assert fit.value == pytest.approx(oracles.mpme_value(S, phi, 2, lam), rel=1e-9)
    gradient = oracles.mpme_gradient(S, phi, 2, lam)
    assert fit.certificate.kkt_violation == pytest.approx(oracles.kkt_violation(S, gradient, np.inf), rel=1e-3)


@pytest.mark.parametrize("c", [1e-3, 1e3])
@pytest.mark.parametrize("C", [np.inf, 2.0])
def test_units(c, C):
    X = forked(50)[0]
    a = core.mpme(X, lam=0.1, C=C, tol=1e-8)
    b = core.mpme(c * X, lam=0.1 / c**2, C=C / c**2, tol=1e-8)
    close(b.similarity.toarray() * c**2, a.similarity.toarray(), 1e-3)
    same_up_to_sign(b.embedding / c, a.embedding, 1e-3)
    assert b.value == pytest.approx(a.value - 2 * 50 * np.log(c), rel=1e-6)


def test_lam_is_set_by_the_data_alone():
    X = forked(60)[0]
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((X.shape[1],) * 2))[0]
    a = core.mpme(X, tol=1e-8)
    near = np.sort(oracles.squared_distances(X), axis=1)[:, 3]  # 60 // 20, after the row itself
    assert a.params["lam"] == pytest.approx(2 / (60 * np.median(near)))
    assert core.mpme(X, 3).params["lam"] == pytest.approx(1.5 * a.params["lam"])
    for Y, c in ((1e3 * X, 1e3), (X + 5, 1), (X @ turn, 1), (10 * X @ turn - 3, 10)):
        b = core.mpme(Y, tol=1e-8)
        assert b.params["lam"] * c**2 == pytest.approx(a.params["lam"], rel=1e-8)
        close(b.similarity.toarray() * c**2, a.similarity.toarray(), 1e-3)
    many = forked(250)[0]
    near = np.sort(oracles.squared_distances(many), axis=1)[:, 10]
    assert core.mpme(many, tol=1e-2).params["lam"] == pytest.approx(2 / (250 * np.median(near)))


def test_weights_stay_in_the_box_and_reach_it():
    X = forked(40)[0]
    for C in (0.3, 1.0, 5.0):
        fit = core.mpme(X, C=C)
        assert fit.weights.max() <= 4 * C * (1 + 1e-12)
        assert (fit.weights > 4 * C * (1 - 1e-9)).sum() > 5
    counts = [len(core.mpme(X, C=C).edges) for C in (0.1, 1.0, 10.0, np.inf)]
    assert (np.diff(counts) <= 0).all()
    assert counts[0] > counts[-1]


def test_a_wide_box_is_none():
    X = forked(40)[0]
    a, b = core.mpme(X, tol=1e-8), core.mpme(X, C=1e6, tol=1e-8)
    assert a.value == pytest.approx(b.value, rel=1e-7)
    close(b.similarity.toarray(), a.similarity.toarray(), 1e-2)


def _no_endless_looks(monkeypatch, most=200):
    look, looks = mpme._Problem._look_at_all, []

    def counted(*arguments):
        looks.append(1)
        if len(looks) > most:
            raise AssertionError(f"all pairs were looked at {most} times")
        return look(*arguments)

    monkeypatch.setattr(mpme._Problem, "_look_at_all", counted)


@pytest.mark.parametrize("C", [1e-4, 1e-5])
def test_a_box_far_below_the_prices(C, monkeypatch):
    _no_endless_looks(monkeypatch)
    X = np.random.default_rng(0).standard_normal((40, 3))
    phi = oracles.squared_distances(X)
    fit = core.mpme(X, C=C)
    checked(fit, phi)
    lam = fit.params["lam"]
    wanted = oracles.mpme_value(oracles.mpme(phi, 2, lam, C), phi, 2, lam)
    assert fit.value == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("lam", [1e-9, 1e-4, 1e4])
@pytest.mark.parametrize("C", [np.inf, 1.0])
def test_any_lam_comes_to_an_end(lam, C, monkeypatch):
    _no_endless_looks(monkeypatch)
    X = forked(40)[0]
    phi = oracles.squared_distances(X)
    if lam == 1e4:
        with pytest.warns(UserWarning, match=PARTS):
            fit = core.mpme(X, lam=lam, C=C, tol=1e-13)
    else:
        fit = core.mpme(X, lam=lam, C=C, tol=1e-13)
    wanted = oracles.mpme_value(oracles.mpme(phi, 2, lam, C), phi, 2, lam)
    assert fit.value == pytest.approx(wanted, rel=1e-5)


def test_too_large_a_lam_leaves_every_row_alone():
    X = forked(30)[0]
    phi = oracles.squared_distances(X)
    np.fill_diagonal(phi, np.inf)
    lam = 2.1 * 2 / phi.min()  # phi / d >= 2 / lam for all pairs
    with pytest.warns(
        UserWarning, match=r"30 rows in 30 parts \(the largest of 1 rows, 30 rows alone\): a smaller lam"
    ):
        fit = core.mpme(X, lam=lam)
    assert fit.edges.shape == (0, 2)
    assert fit.similarity.nnz == 0
    assert fit.value == pytest.approx(30 * np.log(lam))
    assert fit.certificate.kkt_violation == 0
    assert fit.certificate.duality_gap == pytest.approx(0, abs=1e-9)
    assert np.isfinite(fit.embedding).all()
    with pytest.warns(UserWarning, match=PARTS):
        some = core.mpme(X, lam=lam / 2)
    assert len(some.edges) > 0
    assert (phi[tuple(some.edges.T)] / 2 < 2 / (lam / 2)).all()


def test_two_far_groups_are_two_parts():
    X = np.r_[forked(25)[0], forked(25, seed=1)[0] + 1000]
    with pytest.warns(UserWarning, match="50 rows in 2 parts"):
        fit = core.mpme(X)
    assert len(np.unique(fit.graph.component)) == 2
    checked(fit, oracles.squared_distances(X))


def test_a_callback_is_told_of_every_step_and_may_stop():
    X = forked(40)[0]
    told = []
    fit = core.mpme(X, callback=lambda step, value: told.append((step, value)))
    assert [step for step, _ in told] == list(range(fit.n_iter + 1))
    np.testing.assert_array_equal([value for _, value in told], fit.objective)
    assert core.mpme(X, callback=lambda step, value: True).objective.tolist() == fit.objective[:1].tolist()
    for last in (1, 7):
        stopped = core.mpme(X, callback=lambda step, value: step == last)  # noqa: B023
        assert stopped.n_iter == last
        assert not stopped.converged
        np.testing.assert_array_equal(stopped.objective, fit.objective[: last + 1])
        S = stopped.similarity.toarray()
        value = oracles.mpme_value(S, oracles.squared_distances(X), 2, stopped.params["lam"])
        assert stopped.value == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("at", [0, 3])
@pytest.mark.parametrize("solver", ["candidates", "lbfgs-all-pairs"])
def test_a_callbacks_exception_leaves_the_fit(solver, at):
    def callback(step, value):
        if step == at:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        core.mpme(forked(30)[0], solver=solver, callback=callback)


def test_components_by_share_of_the_variance():
    X = forked(60, noise=0.01)[0]
    assert core.mpme(X, 0.95).params["n_components"] == 2
    assert core.mpme(X, 0.5).params["n_components"] == 1
    assert core.mpme(sparse.csr_matrix(X), 0.95).embedding.shape == (60, 2)


def test_params_are_those_used():
    fit = core.mpme(forked(30)[0], 2, lam=0.2, C=7, embed="laplacian", n_neighbors=4, max_iter=99, tol=1e-3)
    assert fit.params == dict(
        n_components=2,
        lam=0.2,
        C=7.0,
        embed="laplacian",
        solver="candidates",
        n_neighbors=4,
        max_iter=99,
        tol=1e-3,
    )
    assert "30 rows in 2 dimensions" in repr(fit)


def test_the_input_is_left_alone():
    X = forked(30)[0]
    before = X.copy()
    core.mpme(X)
    np.testing.assert_array_equal(X, before)
    phi = oracles.squared_distances(X)
    before = phi.copy()
    core.mpme(distances=phi)
    np.testing.assert_array_equal(phi, before)


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_equal_rows_in_a_box(C):
    X = forked(30)[0]
    X[7] = X[3]
    X[11] = X[3]
    phi = oracles.squared_distances(X)
    fit = core.mpme(X, C=C)
    S = checked(fit, phi)
    assert fit.converged
    for i, j in ((3, 7), (3, 11), (7, 11)):
        assert S[i, j] == pytest.approx(4 * C)  # nothing holds it back
    paper = core.mpme(X, C=C, solver="lbfgs-all-pairs", tol=1e-7)
    assert paper.value <= fit.value + fit.certificate.duality_gap + 1e-9 * abs(fit.value)


def test_equal_rows_of_large_numbers():
    X = 1e6 * forked(30)[0]
    X[7] = X[3]
    fit = core.mpme(X, C=1e-11)
    checked(fit, oracles.squared_distances(X))
    assert fit.converged


def test_every_row_twice_in_a_box():
    X = np.repeat(forked(20)[0], 2, axis=0)
    fit = core.mpme(X, C=1.0, lam=0.1)
    phi = oracles.squared_distances(X)
    S = checked(fit, phi)
    assert (S[np.arange(0, 40, 2), np.arange(1, 40, 2)] == 4.0).all()


def test_a_box_whose_size_is_not_a_round_number():
    C = 1.7511107893000568 / 4
    X = forked(40)[0]
    fit = core.mpme(X, C=C)
    assert (fit.weights == 4 * C).sum() > 100
    checked(fit, oracles.squared_distances(X))


def test_two_rows_nearly_the_same():
    X = np.random.default_rng(0).standard_normal((100, 3))
    X[1] = X[0] + 1e-2
    assert core.mpme(X).converged
    X[1] = X[0] + 1e-4  # a similarity that would take the others' digits
    with pytest.warns(UserWarning, match=r"X: 2 of 100 rows are the same as another, or nearly so.*C=\S+ was taken"):
        fit = core.mpme(X)
    assert fit.converged
    assert np.isfinite(fit.params["C"])


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("pairs", ["one", "all"])
def test_a_kernel_with_squared_distances_below_zero_is_refused(pairs, C):
    K = -KERNEL if pairs == "all" else altered(altered(KERNEL, 0, 1, 9.0), 1, 0, 9.0)
    with pytest.raises(ValueError, match=r"X is not a kernel matrix.*wanted no squared distance below zero"):
        core.mpme(K, kernel="precomputed", C=C)


FORK = forked(20)[0]
TWICE = np.r_[FORK, FORK[:1]]
PHI = oracles.squared_distances(FORK)
KERNEL = FORK @ FORK.T


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(X=altered(FORK, 3, 2, np.nan)), ValueError, "X holds 1 value.* NaN or infinite.*wanted finite"),
        (dict(X=altered(FORK, 3, 2, np.inf)), ValueError, "X holds 1 value.* NaN or infinite.*wanted finite"),
        (dict(X=altered(FORK, 3, 2, np.nan), name="use_rep"), ValueError, "use_rep holds 1 value"),
        (dict(X=sparse.csr_matrix(altered(FORK, 3, 2, np.nan))), ValueError, "X holds 1 value"),
        (dict(X=FORK, distances=PHI), TypeError, "X and distances: both given; wanted one"),
        (dict(), TypeError, "X and distances: neither given; wanted one"),
        (dict(distances=PHI, kernel="precomputed"), TypeError, "kernel='precomputed'.*distances were given"),
        (dict(X=FORK, kernel="precomputed"), ValueError, r"X has shape \(20, 6\); wanted a square matrix"),
        (dict(X=FORK, kernel="linear"), ValueError, "kernel='linear' is not known"),
        (dict(X=sparse.csr_matrix(KERNEL), kernel="precomputed"), TypeError, "X is sparse; wanted a dense matrix"),
        (dict(X=altered(KERNEL, 0, 1, 9.0), kernel="precomputed"), ValueError, "X is not symmetric.*wanted the same"),
        (
            dict(X=np.ones((5, 5)), kernel="precomputed"),
            ValueError,
            "X: each of the 5 rows has .*wanted rows that differ",
        ),
        (dict(distances=altered(PHI, 0, 1, 9.0)), ValueError, "distances is not symmetric.*wanted the same"),
        (dict(distances=-PHI), ValueError, "distances holds -.*wanted no squared distance below zero"),
        (dict(distances=PHI + np.eye(20)), ValueError, "distances has 1 on its diagonal; wanted 0"),
        (dict(distances=np.zeros((4, 4))), ValueError, "distances holds zeros only.*wanted some that differ"),
        (dict(distances=altered(PHI, 0, 1, np.nan)), ValueError, "distances holds 1 value"),
        (dict(distances=PHI[:5]), ValueError, r"distances has shape \(5, 20\); wanted a square matrix"),
        (dict(distances=PHI, n_components=0.9), ValueError, "n_components=0.9 is a share.*wanted a whole number"),
        (
            dict(X=KERNEL, kernel="precomputed", n_components=0.9),
            ValueError,
            "n_components=0.9 is a share.*wanted a whole number",
        ),
        (dict(X=np.ones((6, 3))), ValueError, "X: each of the 6 rows has .*wanted rows that differ"),
        (dict(X=np.ones((6, 3)), C=1.0), ValueError, "X: each of the 6 rows has .*wanted rows that differ"),
        (dict(X=FORK[:1]), ValueError, r"X has 1 row\(s\).*at least 3"),
        (dict(X=FORK[:2]), ValueError, r"X has 2 row\(s\).*at least 3"),
        (dict(X=FORK[0]), ValueError, r"X has 1 dimension\(s\).*wanted a matrix"),
        (dict(X=FORK[:, :0]), ValueError, "X is empty"),
        (dict(X=FORK.astype(str)), TypeError, "X has dtype.*wanted real numbers"),
        (dict(X=FORK, C=0), ValueError, "C=0 is out of range; wanted a number > 0"),
        (dict(X=FORK, C=-1.0), ValueError, "C=-1.0 is out of range; wanted a number > 0"),
        (dict(X=FORK, C=-np.inf), ValueError, "C=-inf is out of range"),
        (dict(X=FORK, C=np.nan), ValueError, "C=nan is out of range"),
        (dict(X=FORK, C=None), TypeError, "C=None is a NoneType; wanted a number > 0"),
        (dict(X=FORK, lam=0), ValueError, "lam=0 is out of range; wanted a number > 0"),
        (dict(X=FORK, lam=-2), ValueError, "lam=-2 is out of range; wanted a number > 0"),
        (dict(X=FORK, lam=np.inf), ValueError, "lam=inf is out of range"),
        (dict(X=FORK, lam=1e-18), ValueError, "lam=1e-18 is lost beside similarities of about .*; wanted a larger one"),
        (dict(X=FORK, lam="large"), TypeError, "lam='large' is a str"),
        (dict(X=FORK, solver="newton"), ValueError, "solver='newton' is not known. Available: .*candidates"),
        (dict(X=FORK, embed="umap"), ValueError, "embed='umap' is not known. Available: .*kpca"),
        (
            dict(X=FORK, n_components=0),
            ValueError,
            "n_components=0 is out of range; wanted a whole number from 1 to 19",
        ),
        (dict(X=FORK, n_components=20), ValueError, r"n_components=20 is out of range.*from 1 to 19 \(20 rows\)"),
        (dict(X=FORK, n_components=1.5), TypeError, "n_components=1.5 is a float"),
        (dict(X=FORK, n_neighbors=0), ValueError, "n_neighbors=0 is out of range"),
        (dict(X=FORK, max_iter=0), ValueError, "max_iter=0 is out of range"),
        (dict(X=FORK, tol=0), ValueError, "tol=0 is out of range; wanted a number > 0"),
    ],
)
def test_errors_name_the_value_and_what_was_wanted(options, error, message):
    with pytest.raises(error, match=message):
        core.mpme(**options)


@pytest.mark.parametrize("given", ["rows", "sparse", "distances"])
def test_equal_rows_without_a_box_get_a_large_one(given):
    X = TWICE
    options = {
        "rows": dict(X=X),
        "sparse": dict(X=sparse.csr_matrix(X)),
        "distances": dict(distances=oracles.squared_distances(X)),
    }
    with pytest.warns(UserWarning, match=r"2 of 21 rows are the same as another.*C=\S+ was taken"):
        fit = core.mpme(**options[given], lam=0.1)
    assert fit.converged
    S, C = fit.similarity.toarray(), fit.params["C"]
    assert S.max() == pytest.approx(4 * C)
    assert (S > 0.9 * S.max()).sum() == 2  # the two, both ways; the others are as if they had none
    with pytest.warns(UserWarning, match="the same"):
        again = core.mpme(X, lam=0.1)
    finite = core.mpme(X, lam=0.1, C=C)
    assert again.value == pytest.approx(finite.value, rel=1e-9)


def test_when_it_stops_does_not_depend_on_the_units():
    X = forked(60)[0]
    fit = core.mpme(X)
    zero = core.mpme(X * np.exp(fit.value / (2 * len(X))))  # where the value is about 0
    assert abs(zero.value) < 1
    assert fit.converged
    assert zero.converged
    assert zero.n_iter == pytest.approx(fit.n_iter, rel=0.3)
    paper = [core.mpme(c * X, solver="lbfgs-all-pairs", tol=1e-4) for c in (1.0, 1e-4)]
    assert paper[0].n_iter == pytest.approx(paper[1].n_iter, rel=0.3)
    assert paper[1].value + 2 * len(X) * np.log(1e-4) == pytest.approx(paper[0].value, rel=1e-5)


@pytest.mark.parametrize("kind", ["copies", "counts"])
def test_copies_and_counts_under_the_defaults(kind):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 5)) if kind == "copies" else rng.poisson(0.5, (120, 8)).astype(float)
    X = np.vstack([X, X[:3]])
    with pytest.warns(UserWarning, match="are the same as another"):
        fit = core.mpme(X)
    assert fit.converged


def test_a_box_too_large_for_copies_is_named():
    X = np.vstack([FORK, FORK[:5]])
    with pytest.raises(ValueError, match="leave the others no digits.*wanted a smaller C"):
        core.mpme(X, C=1e300)
