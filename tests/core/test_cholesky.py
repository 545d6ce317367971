"""Systems with a graph's Laplacian, the sparse and the dense way, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from skeltraj.core._solvers import cholesky as _cholesky
from skeltraj.core._solvers import laplacian_system as _laplacian_system
from skeltraj.core._solvers.laplacian_system import LaplacianSystem


def random_graph(n, share, seed):
    rng = np.random.default_rng(seed)
    return np.argwhere(np.triu(rng.random((n, n)) < share, 1))


def turned(pairs, n, seed=0):
    """The same graph with its nodes numbered anew, pairs in any order and direction."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(n)[np.asarray(pairs)]
    pairs = pairs[rng.permutation(len(pairs))]
    flip = rng.random(len(pairs)) < 0.5
    pairs[flip] = pairs[flip][:, ::-1]
    return pairs


GRAPHS = {
    "no edges": (5, np.zeros((0, 2), dtype=int)),
    "one edge": (4, np.array([[3, 1]])),
    "path": (30, turned([[i, i + 1] for i in range(29)], 30)),
    "star": (25, turned([[0, i] for i in range(1, 25)], 25)),
    "complete": (18, turned(np.argwhere(np.triu(np.ones((18, 18)), 1)), 18)),
    "ring": (21, turned([[i, (i + 1) % 21] for i in range(21)], 21)),
    "grid": (
        36,
        turned(
            [[6 * i + j, 6 * i + j + 1] for i in range(6) for j in range(5)]
            + [[6 * i + j, 6 * i + j + 6] for i in range(5) for j in range(6)],
            36,
        ),
    ),
    "two parts and a node alone": (
        31,
        turned(np.r_[random_graph(15, 0.3, 0), random_graph(15, 0.3, 1) + 15], 31),
    ),
    **{f"random {share}": (60, turned(random_graph(60, share, 5), 60)) for share in (0.01, 0.03, 0.1, 0.4)},
}


@pytest.fixture(params=GRAPHS)
def problem(request):
    """A graph, weights of very different sizes, some zero, and the matrix as numpy has it."""
    n, pairs = GRAPHS[request.param]
    rng = np.random.default_rng(7)
    weights = 10.0 ** rng.uniform(-3, 2, len(pairs)) * (rng.random(len(pairs)) < 0.9)
    return n, pairs, weights, 0.3, oracles.similarity_laplacian(oracles.from_pairs(pairs, weights, n)) + 0.3 * np.eye(n)


def close(a, b, tolerance=1e-10):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1e-300, np.abs(b).max(initial=0)))


@pytest.mark.parametrize("share", [None, 0.0, 0.5, 1.0])
def test_the_factor_multiplied_out_is_the_matrix(problem, share):
    n, pairs, weights, _, Q = problem
    at = _cholesky.pattern(n, pairs)
    if share is not None:
        at = at._replace(n_sparse=round(share * n))
    assert sorted(at.place) == list(range(n))
    below = np.zeros(len(at.indices))
    below[_cholesky.find(at, pairs)] = -weights
    diagonal = np.empty(n)
    diagonal[at.place] = np.diag(Q)
    given = below.copy(), diagonal.copy()
    found = _cholesky.factor(at, below, diagonal)
    np.testing.assert_array_equal(below, given[0])
    np.testing.assert_array_equal(diagonal, given[1])
    F, m = np.diag(found.pivots), at.n_sparse
    F[m:, m:] = np.tril(found.block)
    for j in range(n):
        rows = at.indices[at.indptr[j] : at.indptr[j + 1]]
        assert (rows > j).all()
        assert (np.diff(rows) > 0).all()
        if j < m:
            F[rows, j] = found.lower[at.indptr[j] : at.indptr[j + 1]]
    placed = np.empty_like(Q)
    placed[np.ix_(at.place, at.place)] = Q
    close(F @ F.T, placed)
    close(F, np.linalg.cholesky(placed))
    below, on = _cholesky.inverse_entries(at, found)
    inverse = np.linalg.inv(placed)
    close(on, np.diag(inverse))
    for j in range(n):
        rows = at.indices[at.indptr[j] : at.indptr[j + 1]]
        close(below[at.indptr[j] : at.indptr[j + 1]], inverse[rows, j], 1e-10 * np.abs(inverse).max())
    b = np.random.default_rng(0).standard_normal((n, 3))
    close(_cholesky.solve(at, found, b), np.linalg.solve(Q, b))


def test_the_pattern_of_a_path_has_no_fill_and_a_complete_graph_is_full():
    n, pairs = GRAPHS["path"]
    assert len(_cholesky.pattern(n, pairs).indices) == n - 1
    n, pairs = GRAPHS["star"]
    assert len(_cholesky.pattern(n, pairs).indices) == n - 1
    n, pairs = GRAPHS["complete"]
    assert len(_cholesky.pattern(n, pairs).indices) == n * (n - 1) / 2
    assert len(_cholesky.pattern(5, np.zeros((0, 2), dtype=int)).indices) == 0


def test_the_dense_block_is_as_large_as_pays():
    n, pairs = GRAPHS["complete"]
    at = _cholesky.pattern(n, pairs)
    assert at.n_sparse == 0
    assert at.work == n**3
    for n, pairs in GRAPHS.values():
        at = _cholesky.pattern(n, pairs)
        work = lambda m, at=at, n=n: (
            _cholesky.DENSE_SPEED * sum((at.indptr[j + 1] - at.indptr[j]) ** 2 for j in range(m)) + (n - m) ** 3
        )
        assert at.work == work(at.n_sparse) == min(work(m) for m in range(n + 1))


def test_a_matrix_that_is_not_positive_definite_is_refused():
    at = _cholesky.pattern(2, np.array([[0, 1]]))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        _cholesky.factor(at, np.array([-2.0]), np.array([1.0, 1.0]))
    for dense in (False, True):
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            LaplacianSystem(2, np.array([[0, 1]]), -1.0, dense=dense).at(np.array([1.0]))


@pytest.mark.parametrize("dense", [False, True])
def test_what_is_known_of_the_inverse(problem, dense):
    n, pairs, weights, shift, Q = problem
    state = LaplacianSystem(n, pairs, shift, dense=dense).at(weights)
    inverse = np.linalg.inv(Q)
    resistance = oracles.trace_with_difference(inverse)
    assert state.logdet == pytest.approx(np.linalg.slogdet(Q)[1], abs=1e-10 * n)
    assert state.trace == pytest.approx(np.trace(inverse), rel=1e-10)
    assert state.resistance.shape == (len(pairs),)
    close(state.resistance, resistance[tuple(pairs.T)])
    b = np.random.default_rng(1).standard_normal((n, 4))
    close(state.solve(b), inverse @ b)
    for rows in (slice(0, n), slice(0, 1), slice(1, n - 1), slice(n - 2, n)):
        close(state.resistances(rows), resistance[rows])


@pytest.mark.parametrize("dense", [False, True])
def test_a_system_serves_many_weights(dense):
    n, pairs = GRAPHS["grid"]
    system = LaplacianSystem(n, pairs, 0.1, dense=dense)
    rng = np.random.default_rng(3)
    for _ in range(3):
        weights = rng.random(len(pairs))
        Q = oracles.similarity_laplacian(oracles.from_pairs(pairs, weights, n)) + 0.1 * np.eye(n)
        assert system.at(weights).logdet == pytest.approx(np.linalg.slogdet(Q)[1], rel=1e-12)


@pytest.mark.parametrize("dense", [False, True])
def test_resistances_are_the_derivatives_of_the_log_determinant(dense):
    n, pairs = GRAPHS["random 0.1"]
    weights = np.random.default_rng(3).random(len(pairs)) + 0.1
    system = LaplacianSystem(n, pairs, 0.2, dense=dense)
    found = system.at(weights).resistance
    for e in range(0, len(pairs), 10):
        step = np.zeros(len(pairs))
        step[e] = 1e-5
        slope = (system.at(weights + step).logdet - system.at(weights - step).logdet) / 2e-5
        assert found[e] == pytest.approx(slope, rel=1e-6)


def test_the_faster_way_is_chosen(monkeypatch):
    way = lambda n, pairs: type(LaplacianSystem.chosen(n, pairs, 1.0).at(np.ones(len(pairs)))).__name__
    path = np.column_stack([np.arange(29), np.arange(1, 30)])
    whole = np.argwhere(np.triu(np.ones((30, 30)), 1))
    assert way(30, path) == way(30, whole) == "_Dense"
    monkeypatch.setattr(_laplacian_system, "_SMALL", 10)
    assert way(30, path) == "_Sparse"
    assert way(30, whole) == "_Dense"
