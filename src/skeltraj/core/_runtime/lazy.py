"""Where a matrix is: in memory, or left to dask (else on disk)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def in_memory(X: Any) -> bool:
    """Whether `X` is an array or a sparse matrix of scipy."""
    return isinstance(X, np.ndarray) or sparse.issparse(X)


def is_lazy(X: Any) -> bool:
    """Whether `X` is a dask array, or a class of its own made from one (of a view); dask is not imported for it."""
    made_from = {kind.__module__.partition(".")[0] for kind in type(X).__mro__}
    return "dask" in made_from and hasattr(X, "to_delayed")


def loaded(X: Any) -> Any:
    """What is left to dask, and a sparse matrix on disk, in memory; anything else as it is.

    Numpy makes of a dask array of sparse blocks, and of a sparse matrix on disk, an array that holds one object.
    """
    if is_lazy(X):
        return X.compute()
    return X.to_memory() if hasattr(X, "to_memory") and hasattr(X, "format") else X


def column_of(matrix: Any, number: int) -> np.ndarray:
    """A column of a matrix, wherever that is, (n,)."""
    part = loaded(matrix[:, number : number + 1])
    return np.asarray(part.toarray() if sparse.issparse(part) else part).ravel()
