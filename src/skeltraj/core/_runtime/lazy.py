"""Where a matrix is: in memory, or left to dask (else on disk)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def in_memory(X: Any) -> bool:
    """Whether `X` is an array or a sparse matrix of scipy."""
    return isinstance(X, np.ndarray) or sparse.issparse(X)


def is_lazy(X: Any) -> bool:
    """Whether `X` is a dask array; dask is not imported to find out."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "to_delayed")
