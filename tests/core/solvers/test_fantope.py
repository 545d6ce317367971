"""The nearest matrix of the Fantope against its definition."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from skeltraj.core._solvers import fantope


def symmetric(D, seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((D, D)) * 10 ** rng.uniform(-2, 2)
    return A + A.T


@pytest.mark.parametrize("seed", range(30))
def test_the_nearest_of_the_matrices_between_0_and_1(seed):
    D = 2 + seed % 7
    A = symmetric(D, seed)
    for d in range(1, D):
        E = fantope.nearest(A, d)
        M = E @ E.T
        values = np.linalg.eigvalsh(M)
        assert values.min() > -1e-10
        assert values.max() < 1 + 1e-10
        assert np.trace(M) == pytest.approx(d, abs=1e-9)
        np.testing.assert_allclose(M, oracles.nearest_in_fantope(A, d), atol=1e-8)
        # no other is nearer: it leaves A at an obtuse angle
        rng = np.random.default_rng(seed)
        for _ in range(10):
            V = np.linalg.qr(rng.standard_normal((D, D)))[0][:, :d]
            assert ((A - M) * (V @ V.T - M)).sum() <= 1e-8 * max(1, np.abs(A).max())


def test_with_the_whole_trace_it_is_the_identity():
    for seed in range(40):
        for D in (1, 2, 3, 5):
            E = fantope.nearest(symmetric(D, seed), D)
            np.testing.assert_allclose(E @ E.T, np.eye(D), atol=1e-10)


def test_the_nearest_where_eigenvalues_tie():
    for d in (1, 2, 3):
        E = fantope.nearest(5 * np.eye(4), d)
        np.testing.assert_allclose(E @ E.T, d / 4 * np.eye(4), atol=1e-12)
    E = fantope.nearest(np.diag([9.0, 1.0, 1.0, -5.0]), 2)
    np.testing.assert_allclose(E @ E.T, np.diag([1, 0.5, 0.5, 0]), atol=1e-12)
    already = np.diag([0.7, 0.3, 1.0])
    E = fantope.nearest(already, 2)
    np.testing.assert_allclose(E @ E.T, already, atol=1e-12)


def test_the_sum_of_the_largest_eigenvalues():
    A = symmetric(6, 0)
    for d in (1, 3, 6):
        total, vectors = fantope.top_sum(A, d)
        values = np.sort(np.linalg.eigvalsh(A))[::-1]
        assert total == pytest.approx(values[:d].sum())
        np.testing.assert_allclose(A @ vectors, vectors * values[:d], atol=1e-10 * np.abs(values).max())
        assert np.trace(vectors.T @ A @ vectors) == pytest.approx(total)
