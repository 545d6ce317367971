"""Leading eigenvectors of many matrices against numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core._solvers import leading_axes as module
from skeltraj.core._solvers.leading_axes import leading_axes


def of_eigenvalues(values, n, seed=0):
    """Matrices with these eigenvalues, in random directions."""
    rng = np.random.default_rng(seed)
    turns = np.linalg.qr(rng.standard_normal((n, len(values), len(values))))[0]
    return (turns * values) @ turns.transpose(0, 2, 1)


@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("second", [0.0, 0.3, 0.9, 0.999, 1 - 1e-9])
def test_they_are_those_of_a_full_reduction(second, d):
    values = np.array([1.0, second, 0.5 * second, 0.2 * second, 0.0, 0.0])
    matrices = 1e-7 * of_eigenvalues(values, 50)
    found, vectors = leading_axes(matrices, d)
    np.testing.assert_allclose(found, 1e-7 * np.tile(np.sort(values)[6 - d :], (50, 1)), atol=1e-20)
    np.testing.assert_allclose(matrices @ vectors, vectors * found[:, None], atol=1e-20)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-12)
    if d == 1:
        exact = np.linalg.eigh(matrices)[1][:, :, -1:]
        same = np.abs((exact * vectors).sum(axis=1))
        np.testing.assert_allclose(same, 1.0, atol=1e-12)


@pytest.mark.parametrize("others", [[0.5, 0.1], [0.6] + 28 * [0.2]])  # the latter tell by their fourth powers
def test_products_serve_where_one_value_stands_out(others, monkeypatch):
    matrices = of_eigenvalues([1.0, *others], 20)
    monkeypatch.setattr(module.np.linalg, "eigh", None)
    leading_axes(matrices, 1)
    with pytest.raises(TypeError):
        leading_axes(of_eigenvalues([1.0, 0.9999, 0.1], 20), 1)


def test_a_start_at_a_right_angle_is_no_trap():
    """Where the first steps lead to a smaller value, changes grow again; they must not be taken for the end."""
    start = np.random.default_rng(0).standard_normal(3)
    first = np.linalg.qr(np.column_stack([start, np.eye(3)[:, :2]]))[0]
    nearly = first[:, 1] + 1e-9 * first[:, 0]
    nearly /= np.linalg.norm(nearly)
    turn = np.linalg.qr(np.column_stack([nearly, first[:, 0], first[:, 2]]))[0]
    matrices = ((turn * [1.0, 0.6, 0.1]) @ turn.T)[None]
    _, vectors = leading_axes(matrices, 1)
    assert abs(float(vectors[0, :, 0] @ turn[:, 0])) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("second", [1 - 1e-5, 1 - 1e-6, 1 - 1e-7, 1 - 1e-8])
@pytest.mark.parametrize("rest", [0.0, 1e-8, 1e-7, 1e-3])
@pytest.mark.parametrize("q", [3, 10])
def test_two_values_close_to_each_other_are_told_apart(second, rest, q):
    """All others vanish at once, so that changes first shrink much faster than later."""
    matrices = 1e-3 * of_eigenvalues(np.r_[1.0, second, np.full(q - 2, rest)], 200)
    _, vectors = leading_axes(matrices, 1)
    exact = np.linalg.eigh(matrices)[1][:, :, -1:]
    np.testing.assert_allclose(np.abs((exact * vectors).sum(axis=1)), 1.0, atol=1e-12)


def test_nothing_spreads():
    values, vectors = leading_axes(np.zeros((3, 4, 4)), 1)
    np.testing.assert_array_equal(values, 0.0)
    assert np.isfinite(vectors).all()
