"""Input as scikit-learn checks it, without what it would take in silence."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from skeltraj.core._runtime import check
from skeltraj.core._runtime.lazy import loaded


def forget(estimator: BaseEstimator) -> None:
    """Remove what an earlier fit left: a fit that fails is none, and its columns may be others."""
    for name in [name for name in estimator.__dict__ if name.endswith("_") and not name.startswith("_")]:
        delattr(estimator, name)


def validated(estimator: BaseEstimator, X: Any, **how: Any) -> Any:
    """`validate_data` of a matrix in memory.

    Raises
    ------
    ValueError
        As that; or if values are masked.
    """
    X = loaded(X)
    check.refuse_masked(X, "X")
    return validate_data(estimator, X, **how)
