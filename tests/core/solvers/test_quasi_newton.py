"""Quasi-Newton steps between bounds, against L-BFGS-B and where the maximum is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize

from skeltraj.core._solvers import quasi_newton


@dataclass
class Known:
    """A matrix as the curvature."""

    matrix: np.ndarray

    @property
    def diagonal(self):
        return np.diag(self.matrix)

    def solve(self, b, free):
        x = np.zeros(len(b))
        x[free] = np.linalg.solve(self.matrix[np.ix_(free, free)], b[free])
        return x


def problem(seed, m=30):
    """A concave function of m entries, its derivatives, and minus its second ones at a point."""
    rng = np.random.default_rng(seed)
    A = rng.random((2 * m, m)) * (rng.random((2 * m, m)) < 0.2)
    price = 0.5 + rng.random(m)

    def function(x):
        inner = 0.1 + A @ x
        return float(np.log(inner).sum() - price @ x), A.T @ (1 / inner) - price

    def curvature(x):
        return A.T @ (A / (0.1 + A @ x)[:, None] ** 2) + 1e-6 * np.eye(m)

    return function, curvature


def climbed(function, x, upper, curvature, tol=1e-9):
    points = list(quasi_newton.steps(function, x, upper=np.full(len(x), upper), curvature=curvature, tol=tol))
    return points[-1][0], np.array([value for _, value in points])


def wanted(function, x, upper):
    bounds = [(0, None if upper == np.inf else upper)] * len(x)
    negative = minimize(
        lambda x: tuple(-part for part in function(x)),
        x,
        jac=True,
        bounds=bounds,
        method="L-BFGS-B",
        options=dict(ftol=0, gtol=1e-10, maxiter=10_000, maxfun=100_000),
    )
    return negative.x, -negative.fun


@pytest.mark.parametrize("upper", [np.inf, 3.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_maximum_is_that_of_lbfgsb(seed, upper):
    function, curvature = problem(seed)
    start = np.full(30, 0.5)
    x, value = wanted(function, start, upper)
    assert (x == 0).any()  # bounds matter
    assert upper == np.inf or (x == upper).any()
    found, values = climbed(function, start, upper, Known(curvature(start)))
    assert (found >= 0).all()
    assert (found <= upper).all()
    assert values[-1] == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(found, x, rtol=1e-4, atol=1e-5)
    assert (np.diff(values) >= 0).all()


def test_a_rough_curvature_spares_steps():
    """Within a factor of two of one whose eigenvalues span four orders of magnitude.

    Of several problems together, half of the steps: rounding alone makes some more or less of each.
    """
    rough, diagonal = np.transpose([_steps_by_rough_and_by_diagonal(seed) for seed in range(8)])
    assert rough.sum() < 0.5 * diagonal.sum()
    assert (rough < 0.6 * diagonal).all()


def _steps_by_rough_and_by_diagonal(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(100, 100)) * np.geomspace(1, 100, 100)
    H = root.T @ root
    rhs = H @ np.maximum(rng.normal(size=100), 0.0)

    def function(x):
        return float(rhs @ x - x @ H @ x / 2), rhs - H @ x

    vectors = np.linalg.qr(rng.normal(size=(100, 100)))[0]
    rough = root.T @ (vectors * rng.uniform(1, 2, size=100)) @ vectors.T @ root
    return [
        len(climbed(function, np.full(100, 0.5), np.inf, Known(P), tol=1e-6)[1]) for P in (rough, np.diag(np.diag(H)))
    ]


def test_the_exact_curvature_of_a_square_needs_one_step():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, 10))
    H, end = A.T @ A, 1.0 + rng.random(10)

    def function(x):
        return float(-(x - end) @ H @ (x - end) / 2), -H @ (x - end)

    found, values = climbed(function, np.ones(10), np.inf, Known(H))
    np.testing.assert_allclose(found, end, rtol=1e-9)
    assert len(values) == 2


@pytest.mark.parametrize("seed", range(3))
def test_a_curvature_that_is_not_positive_definite_leads_there_too(seed):
    function, curvature = problem(seed)
    start = np.full(30, 0.5)
    wrong = curvature(start)
    wrong -= 0.5 * np.diag(np.diag(wrong))
    assert np.linalg.eigvalsh(wrong)[0] < 0
    _, values = climbed(function, start, np.inf, Known(wrong), tol=1e-6)
    assert values[-1] == pytest.approx(wanted(function, start, np.inf)[1], abs=1e-6)
    assert (np.diff(values) >= 0).all()


def test_it_ends_where_rounding_hides_all_gains():
    function, curvature = problem(0)
    _, values = climbed(function, np.full(30, 0.5), np.inf, Known(curvature(np.full(30, 0.5))), tol=0.0)
    assert len(values) < 200
    assert values[-1] == pytest.approx(wanted(function, np.full(30, 0.5), np.inf)[1], abs=1e-9)


def test_derivatives_decide_where_rounding_hides_the_gain(monkeypatch):
    """Values that are cut at 1e-6, with exact derivatives."""
    monkeypatch.setattr(quasi_newton, "_MOST_UNSEEN", 1000)
    function, curvature = problem(0)
    start = np.full(30, 0.5)

    def rough(x):
        value, derivative = function(x)
        return np.floor(value * 1e6) / 1e6, derivative

    found, values = climbed(rough, start, np.inf, Known(curvature(start)), tol=1e-7)
    derivative = function(found)[1]
    assert np.abs(np.where(found > 0, derivative, np.maximum(derivative, 0.0))).max() <= 1e-7
    assert (np.diff(values) >= 0).all()


@pytest.mark.parametrize(("end", "slope"), [(0.0, -1.0), (1.0, 1.0)])
def test_at_the_maximum_there_is_no_step(end, slope):
    """Nor is one tried: at a bound a derivative that leads out of it counts for nothing, however large it is."""
    asked, slopes = [], np.array([slope, slope, 1e-10])

    def function(x):
        asked.append(x)
        assert len(asked) == 1
        return float(slopes @ x), slopes

    start = np.array([end, end, 0.5])
    points = list(quasi_newton.steps(function, start, upper=np.ones(3), curvature=Known(np.eye(3)), tol=1e-9))
    assert [value for _, value in points] == [slopes @ start]
