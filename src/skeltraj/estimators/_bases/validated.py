"""Input as scikit-learn checks it, without what it would take in silence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from skeltraj.core._runtime import check
from skeltraj.core._runtime.lazy import loaded


@contextmanager
def new_fit(estimator: BaseEstimator) -> Iterator[None]:
    """Remove what an earlier fit left, whose columns may be others; and what this one does, if it fails: it is none."""
    _forget(estimator)
    try:
        yield
    except BaseException:
        _forget(estimator)
        raise


def _forget(estimator: BaseEstimator) -> None:
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
