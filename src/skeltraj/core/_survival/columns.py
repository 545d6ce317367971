"""Columns of a model: whether each adds something, how they are scaled, and a curve in one of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_SAME = 1e-8  # share of a column's size by which its values must differ, beyond rounding
# Share of a column's length that others must leave unexplained; the information holds its square, beyond rounding.
_FOLLOWS = 1e-7
# Quantiles at which the pieces of a restricted cubic spline meet, with four knots (Harrell 2015, table 2.3)
_KNOTS = (0.05, 0.35, 0.65, 0.95)


def standardized(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns with mean 0 and standard deviation 1, and the standard deviations that they had."""
    scale = X.std(axis=0, ddof=1) if len(X) > 1 else np.zeros(X.shape[1])
    scale[scale <= 0] = 1.0
    return (X - X.mean(axis=0)) / scale, scale


def refuse_constant(X: np.ndarray, names: Sequence[str], argument: str, where: str = "used") -> None:
    """Raise if a column has the same value for all samples; `where` says which these are."""
    for column, name in zip(X.T, names, strict=True):
        if np.ptp(column) <= _SAME * np.abs(column).max():
            raise ValueError(
                f"{argument}: {name!r} is {column[0]:g} for all {len(column)} samples {where}; wanted one that varies."
            )


def refuse_collinear(X: np.ndarray, names: Sequence[str], where: str = "used") -> None:
    """Raise if a column is a sum of multiples of those before it; the message names them, and says of which samples."""
    X = standardized(X)[0]
    for j in range(1, X.shape[1]):
        weights = np.linalg.lstsq(X[:, :j], X[:, j], rcond=None)[0]
        if np.linalg.norm(X[:, j] - X[:, :j] @ weights) <= _FOLLOWS * np.sqrt(len(X)):
            of = [name for name, weight in zip(names, weights, strict=False) if abs(weight) > _SAME]
            raise ValueError(
                f"covariates: {names[j]!r} follows from {of} for all {len(X)} samples {where} (they are collinear); "
                "leave one out."
            )


def beyond(X: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Those columns of `X` that do not follow from `others` and the ones before them."""
    chosen = others
    for column in X.T:
        both = standardized(np.column_stack([chosen, column]))[0]
        weights = np.linalg.lstsq(both[:, :-1], both[:, -1], rcond=None)[0]
        if np.linalg.norm(both[:, -1] - both[:, :-1] @ weights) > _FOLLOWS * np.sqrt(len(X)):
            chosen = np.column_stack([chosen, column])
    return chosen[:, others.shape[1] :]


def restricted_cubic(x: np.ndarray) -> np.ndarray:
    """The columns that make a line in `x` a restricted cubic spline, (n, 2): cubic between knots, straight beyond.

    None are left, (n, 0), where fewer than three of the knots differ.
    """
    knots = np.unique(np.quantile(x, _KNOTS))
    if len(knots) < 3:
        return np.empty((len(x), 0))
    cube = lambda at: np.maximum(x - at, 0) ** 3
    last, other = knots[-1], knots[-2]
    columns = [
        cube(knot) - cube(other) * (last - knot) / (last - other) + cube(last) * (other - knot) / (last - other)
        for knot in knots[:-2]
    ]
    return np.column_stack(columns) / (last - knots[0]) ** 2
