"""Embeddings of the cells in `obsm`, named as for scanpy."""

from __future__ import annotations

import numpy as np
from anndata import AnnData

from skeltraj.core._runtime import check

from .checks import available
from .tables import without_names


def basis_key(adata: AnnData, basis: str) -> str:
    """The key in `obsm` that a basis names, or an error that lists those there are."""
    check.text(basis, "basis")
    for name in (basis, f"X_{basis}"):
        if name in adata.obsm:
            return name
    raise KeyError(
        f"basis={basis!r}: neither {basis!r} nor 'X_{basis}' is in adata.obsm. Available: {available(adata.obsm)}."
    )


def on_basis(adata: AnnData, basis: str) -> np.ndarray:
    """The cells' coordinates, (n_obs, n_dimensions), checked."""
    name = basis_key(adata, basis)
    entry = without_names(adata.obsm[name])
    points = np.asarray(entry.toarray() if hasattr(entry, "toarray") else entry)
    if points.dtype.kind not in "fiub":
        raise TypeError(f"adata.obsm[{name!r}] has dtype {points.dtype}; wanted real numbers.")
    lost = int((~np.isfinite(points)).any(axis=1).sum())
    if lost:
        raise ValueError(
            f"adata.obsm[{name!r}] has coordinates that are NaN or infinite for {lost} of {adata.n_obs} cells; wanted "
            "all of them."
        )
    return points.astype(np.float64)
