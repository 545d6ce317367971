"""Columns of a model: constant ones, those that follow from others, and the spline."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from skeltraj.core._survival.columns import beyond, refuse_collinear, refuse_constant, restricted_cubic, standardized


def test_standardized():
    X = np.random.default_rng(0).normal(5, 3, (20, 2))
    Z, scale = standardized(X)
    np.testing.assert_allclose(Z * scale + X.mean(axis=0), X)
    np.testing.assert_allclose(Z.std(axis=0, ddof=1), 1)
    assert standardized(np.ones((1, 2)))[1].tolist() == [1, 1]


def test_what_adds_nothing_is_refused_by_name():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 3))
    names = ["pseudotime", "age", "stage=2", "sum"]
    refuse_constant(X, names[:3], "covariates")
    refuse_collinear(X, names[:3])
    with pytest.raises(ValueError, match=r"covariates: 'age' is 7 for all 30 samples used; wanted one that varies"):
        refuse_constant(np.column_stack([X[:, 0], np.full(30, 7.0)]), names[:2], "covariates")
    both = np.column_stack([X, 3 * X[:, 0] - 1e-3 * X[:, 2] + 100])
    with pytest.raises(ValueError, match=r"'sum' follows from \['pseudotime', 'stage=2'\] for all 30 samples"):
        refuse_collinear(both, names)
    refuse_collinear(both + 1e-4 * rng.standard_normal(both.shape), names)


def test_columns_beyond_others():
    rng = np.random.default_rng(2)
    X, Z = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    np.testing.assert_array_equal(beyond(X, Z), X)
    told = np.column_stack([X[:, 0], Z[:, 0] - 2 * Z[:, 1] + 5, 3 * X[:, 0], X[:, 1]])
    np.testing.assert_array_equal(beyond(told, Z), X[:, :2])
    assert beyond(Z, Z).shape == (40, 0)


def test_the_spline_is_cubic_between_knots_and_straight_beyond():
    x = np.linspace(0, 1, 2001)
    knots = np.quantile(x, [0.05, 0.35, 0.65, 0.95])
    columns = restricted_cubic(x)
    assert columns.shape == (2001, 2)
    bend = np.diff(columns, 2, axis=0)
    middle = x[1:-1]
    outside = (middle < knots[0] - 1e-3) | (middle > knots[-1] + 1e-3)
    assert abs(bend[outside]).max() < 1e-9 < 1e-7 < abs(bend[~outside]).max()
    for low, high in pairwise(knots):  # second differences of a cubic lie on a line
        inside = (middle > low + 1e-3) & (middle < high - 1e-3)
        assert abs(np.diff(bend[inside], 2, axis=0)).max() < 1e-10
    assert restricted_cubic(np.repeat([0.0, 1.0], 30)).shape == (60, 0)
    assert restricted_cubic(np.repeat([0.0, 1.0, 2.0], 30)).shape == (90, 1)
