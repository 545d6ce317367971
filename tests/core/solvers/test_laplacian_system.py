"""Systems with a graph's Laplacian, the sparse and the dense way, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from comparing import close
from skeltraj.core._solvers import laplacian_system
from skeltraj.core._solvers.laplacian_system import LaplacianSystem
from weighted_graphs import GRAPHS


@pytest.mark.parametrize("dense", [False, True])
def test_what_is_known_of_the_inverse(problem, dense):
    n, pairs, weights, shift, Q = problem
    state = LaplacianSystem(n, pairs, shift, dense=dense).at(weights)
    inverse = np.linalg.inv(Q)
    resistance = oracles.trace_with_difference(inverse)
    assert state.logdet == pytest.approx(np.linalg.slogdet(Q)[1], abs=1e-10 * n)
    assert state.trace == pytest.approx(np.trace(inverse), rel=1e-10)
    assert state.resistance.shape == (len(pairs),)
    close(state.resistance, resistance[tuple(pairs.T)], 1e-10)
    b = np.random.default_rng(1).standard_normal((n, 4))
    close(state.solve(b), inverse @ b, 1e-10)
    assert sorted(state.order) == list(range(n))
    for start, stop in ((0, n), (0, 1), (1, n - 1), (n - 2, n)):
        wanted = resistance[np.ix_(state.order[start:stop], state.order[start:])]
        close(state.resistances(start, stop), wanted, 1e-10)


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
    resistance = system.at(weights).resistance
    for e in range(0, len(pairs), 10):
        step = np.zeros(len(pairs))
        step[e] = 1e-5
        slope = (system.at(weights + step).logdet - system.at(weights - step).logdet) / 2e-5
        assert resistance[e] == pytest.approx(slope, rel=1e-6)


def test_the_faster_way_is_chosen(monkeypatch):
    way = lambda n, pairs: type(LaplacianSystem(n, pairs, 1.0).at(np.ones(len(pairs)))).__name__
    path = np.column_stack([np.arange(29), np.arange(1, 30)])
    whole = np.argwhere(np.triu(np.ones((30, 30)), 1))
    assert way(30, path) == way(30, whole) == "_Dense"
    monkeypatch.setattr(laplacian_system, "_MAX_ROWS_ALWAYS_DENSE", 10)
    assert way(30, path) == "_Sparse"
    assert way(30, whole) == "_Dense"


@pytest.mark.parametrize("dense", [False, True])
def test_a_system_that_is_not_positive_definite_is_refused(dense):
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        LaplacianSystem(2, np.array([[0, 1]]), -1.0, dense=dense).at(np.array([1.0]))


def test_the_last_state_is_kept_for_the_same_weights_alone():
    system = LaplacianSystem(3, np.array([(0, 1), (1, 2)]), 0.1)
    weights = np.ones(2)
    state = system.at(weights)
    assert system.at(weights.copy()) is state
    weights[0] = 2.0  # the caller's own array
    assert system.at(weights) is not state
    assert system.at(weights).logdet != state.logdet
