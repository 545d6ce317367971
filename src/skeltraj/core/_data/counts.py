"""Whether a matrix looks like raw counts, by a few of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from skeltraj.core._runtime import check
from skeltraj.core._runtime.lazy import in_memory, loaded

# All chosen by eye.
_N_ROWS = 200  # rows that are looked at
_N_FIRST_ROWS = 1000  # of a matrix that is not in memory, these are among this many first ones
_N_VALUES = 100_000  # of a sparse matrix in memory
_LEAST = 10  # whole numbers that stay below this are grades, states or answers
_TAIL = 8  # the largest count is at least this many times the mean of those that are not 0; pixels and ranks reach less


def largest_count(matrix: Any, name: str = "X") -> float | None:
    """The largest value, if all that are looked at are whole numbers from 0 on with the long tail of counts."""
    if getattr(getattr(matrix, "dtype", None), "kind", "O") not in "iuf" or len(matrix.shape) != 2:
        return None
    if sparse.issparse(matrix) and hasattr(matrix, "data"):
        matrix = check.entries(matrix, name)
        values = matrix.data[:: max(1, len(matrix.data) // _N_VALUES)]
    else:
        rows = few_rows(matrix, among_first=not in_memory(matrix))
        values = rows.data if sparse.issparse(rows) else np.asarray(rows)
    some = values[values != 0].astype(np.float64)
    if not len(some) or not np.isfinite(some).all() or some.min() < 0 or (some != np.round(some)).any():
        return None
    largest = float(some.max())
    return largest if largest >= max(_LEAST, _TAIL * float(some.mean())) else None


def few_rows(matrix: Any, *, among_first: bool) -> Any:
    """A few rows, evenly spread over all or, to spare a pass over what is not in memory, over the first ones."""
    n = min(matrix.shape[0], _N_FIRST_ROWS) if among_first else matrix.shape[0]
    return loaded(matrix[np.unique(np.linspace(0, n - 1, min(n, _N_ROWS)).astype(np.int64))])
