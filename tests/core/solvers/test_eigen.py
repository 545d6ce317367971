"""The largest eigenvalues against numpy's, and the signs of their vectors."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core._solvers.eigen import oriented, signs, top, top_of


@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 7), (40, 2), (40, 20), (700, 3), (700, 100)])
def test_they_are_the_largest(n, d):
    A = np.random.default_rng(0).standard_normal((n, n))
    A = A + A.T
    values, vectors = top(A, d)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[::-1][:d], atol=1e-10 * n)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-9 * n)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(d), atol=1e-12 * n)
    if d < n // 2:
        same_values, same = top_of(lambda V: A @ V, n, d)
        np.testing.assert_allclose(same_values, values, atol=1e-10 * n)
        np.testing.assert_allclose(np.abs((same * vectors).sum(axis=0)), 1.0, atol=1e-9)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("d", [1, 2, 30])
def test_a_matrix_that_is_not_finite_is_refused(d, wrong):
    A = np.eye(30)
    A[3, 20] = A[20, 3] = wrong
    with pytest.raises(np.linalg.LinAlgError):
        top(A, d)
    with pytest.raises(np.linalg.LinAlgError):
        top(A[:4, [0, 1, 2, 20]], min(d, 4))


def test_equal_eigenvalues_are_found_to_a_tolerance():
    values = np.repeat([4.0, 3.9, 1.0], [60, 1, 140])
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((201, 201)))[0]
    A = (turn * values) @ turn.T
    eigenvalues, vectors = top_of(lambda V: A @ V, 201, 2, tol=1e-10, n_vectors=32)
    np.testing.assert_allclose(eigenvalues, [4.0, 4.0], rtol=1e-9)
    np.testing.assert_allclose(A @ vectors, 4.0 * vectors, atol=1e-8)


def test_signs_follow_the_points_not_their_order_or_the_sign_that_was_given():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((50, 4)) ** 2 * [1, -1, 1, -1] + rng.standard_normal((50, 4)) / 10
    expected = oriented(vectors)
    assert ((expected**3).sum(axis=0) > 0).all()
    np.testing.assert_array_equal(np.abs(expected), np.abs(vectors))
    shuffle = rng.permutation(50)
    np.testing.assert_array_equal(oriented(-vectors[shuffle]), expected[shuffle])
    points = np.exp(rng.standard_normal((90, 50)))
    axes = oriented(vectors, points @ vectors)
    np.testing.assert_array_equal(oriented(-vectors, -points @ vectors), axes)
    assert (((points @ axes) ** 3).sum(axis=0) > 0).all()


@pytest.mark.parametrize("rounding", [0.0, 1e-12, -1e-12])
def test_of_symmetric_points_the_largest_entry_is_positive(rounding):
    vectors = np.array([[0.5, 0.5], [-2.0, 2.0], [1.5, -1.5], [0.1, -0.1]])
    cubes = rounding * np.ones(2)
    np.testing.assert_array_equal(signs(vectors, cubes, np.ones(2)), [-1, 1])
    np.testing.assert_array_equal(signs(vectors, np.array([1e-3, -1e-3]), np.ones(2)), [1, -1])
