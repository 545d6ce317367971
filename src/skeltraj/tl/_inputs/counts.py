"""Input that looks like raw counts: said before anything is learned from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from anndata import AnnData
from scipy import sparse

from skeltraj._keys import Param
from skeltraj.core._runtime import check
from skeltraj.core._runtime.lazy import in_memory, loaded
from skeltraj.core._runtime.warn import warn

from .pick import Input

# All chosen by eye.
_N_ROWS = 200  # cells that are looked at
_N_FIRST_ROWS = 1000  # of a matrix that is not in memory, these are among this many first ones
_N_VALUES = 100_000  # of a sparse matrix in memory
_LEAST = 10  # whole numbers that stay below this are grades, states or answers
_TAIL = 8  # the largest count is at least this many times the mean of those that are not 0; pixels and ranks reach less
_MAX_DIFFERENCE = 1e-3  # of principal components, as a share: those of these values, in another precision


def warn_of_counts(adata: AnnData, source: Input) -> None:
    """Warn if the input, or what its principal components were made of, looks like raw counts; by a few cells."""
    if source.per_gene:
        largest = _largest_count(source.matrix, source.name)
        if largest is not None:
            warn(f"{_counts_warning(source.name, largest)} {_REMEDY}")
    elif source.recorded.get(Param.USE_REP) == "X_pca" and "PCs" in adata.varm and adata.X is not None:
        largest = _largest_count(adata.X, "adata.X")
        if largest is not None and _are_components(adata.X, adata.varm["PCs"], source.matrix):
            warn(f"{_counts_warning('adata.X', largest)} {source.name} was made of it. {_REMEDY}")


_REMEDY = (
    "Cells then differ mostly by their totals and by a few high genes: try sc.pp.normalize_total(adata), "
    "sc.pp.log1p(adata) and sc.pp.pca(adata) first (keep the counts in a layer)."
)


def _counts_warning(name: str, largest: float) -> str:
    return f"{name} looks like raw counts (whole numbers, up to {largest:,.0f} in the cells examined)."


def _largest_count(matrix: Any, name: str = "X") -> float | None:
    """The largest value, if all that are looked at are whole numbers from 0 on with the long tail of counts."""
    if getattr(getattr(matrix, "dtype", None), "kind", "O") not in "iuf" or len(matrix.shape) != 2:
        return None
    if sparse.issparse(matrix) and hasattr(matrix, "data"):
        matrix = check.entries(matrix, name)
        values = matrix.data[:: max(1, len(matrix.data) // _N_VALUES)]
    else:
        rows = _rows(matrix)
        values = rows.data if sparse.issparse(rows) else np.asarray(rows)
    some = values[values != 0].astype(np.float64)
    if not len(some) or not np.isfinite(some).all() or some.min() < 0 or (some != np.round(some)).any():
        return None
    largest = float(some.max())
    return largest if largest >= max(_LEAST, _TAIL * float(some.mean())) else None


def _rows(matrix: Any) -> Any:
    """A few rows, evenly spread; of what is not in memory, among the first ones."""
    n = matrix.shape[0] if in_memory(matrix) else min(matrix.shape[0], _N_FIRST_ROWS)
    return loaded(matrix[np.unique(np.linspace(0, n - 1, min(n, _N_ROWS)).astype(np.int64))])


def _are_components(X: Any, loadings: Any, components: Any) -> bool:
    """Whether the loadings make these components of X, but for a shift."""
    axes, there = np.asarray(loadings, dtype=np.float64), np.asarray(_rows(components), dtype=np.float64)
    if not in_memory(X):
        there = np.asarray(_rows(components[: min(X.shape[0], _N_FIRST_ROWS)]), dtype=np.float64)
    if there.shape[1] > axes.shape[1]:
        return False
    made = np.asarray(_rows(X) @ axes[:, : there.shape[1]], dtype=np.float64)
    made, there = made - made.mean(axis=0), there - there.mean(axis=0)
    return bool(np.linalg.norm(made - there) <= _MAX_DIFFERENCE * np.linalg.norm(there))
