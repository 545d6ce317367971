"""Input that looks like raw counts: said before anything is learned from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from anndata import AnnData

from skeltraj._keys import Param
from skeltraj.core._data.counts import few_rows, largest_count
from skeltraj.core._runtime.lazy import in_memory
from skeltraj.core._runtime.warn import warn

from .pick import Input

_MAX_DIFFERENCE = 1e-3  # of principal components, as a share: those of these values, in another precision; by eye
_REMEDY = (
    "Cells then differ mostly by their totals and by a few high genes: try sc.pp.normalize_total(adata), "
    "sc.pp.log1p(adata) and sc.pp.pca(adata) first (keep the counts in a layer)."
)


def warn_of_counts(adata: AnnData, source: Input) -> None:
    """Warn if the input, or what its principal components were made of, looks like raw counts; by a few cells."""
    if source.per_gene:
        largest = largest_count(source.matrix, source.name)
        if largest is not None:
            warn(f"{_counts_warning(source.name, largest)} {_REMEDY}")
    elif source.recorded.get(Param.USE_REP) == "X_pca" and "PCs" in adata.varm and adata.X is not None:
        largest = largest_count(adata.X, "adata.X")
        if largest is not None and _are_components(adata.X, adata.varm["PCs"], source.matrix):
            warn(f"{_counts_warning('adata.X', largest)} {source.name} was made of it. {_REMEDY}")


def _counts_warning(name: str, largest: float) -> str:
    return f"{name} looks like raw counts (whole numbers, up to {largest:,.0f} in the cells examined)."


def _are_components(X: Any, loadings: Any, components: Any) -> bool:
    """Whether the loadings make these components of X, but for a shift."""
    among_first = not (in_memory(X) and in_memory(components))
    axes = np.asarray(loadings, dtype=np.float64)
    there = np.asarray(few_rows(components, among_first=among_first), dtype=np.float64)
    if there.shape[1] > axes.shape[1]:
        return False
    made = np.asarray(few_rows(X, among_first=among_first) @ axes[:, : there.shape[1]], dtype=np.float64)
    made, there = made - made.mean(axis=0), there - there.mean(axis=0)
    return bool(np.linalg.norm(made - there) <= _MAX_DIFFERENCE * np.linalg.norm(there))
