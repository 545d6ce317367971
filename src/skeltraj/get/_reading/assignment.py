"""The stored assignment of the cells to the nodes of their skeleton."""

from __future__ import annotations

from typing import Any

import numpy as np
from anndata import AnnData
from scipy import sparse

from skeltraj._keys import Entry, Keys

_TOLERANCE = 1e-2  # of the sum of a row: above the rounding of float16; chosen by eye


def shares(adata: AnnData, values: Any, key: str) -> sparse.csr_matrix:
    """What stands in `obsm` for the assignment, if it is one: (n_obs, n_nodes), rows that sum to 1.

    Raises
    ------
    ValueError
        If it is none; the message says what is wrong, and what to call.
    """
    name, n_nodes = f"adata.obsm[{Keys(key).assignment!r}]", len(adata.uns[key][Entry.NODES])
    array: Any = values if sparse.issparse(values) else np.asarray(values)
    if array.shape != (adata.n_obs, n_nodes) or array.dtype.kind not in "fiu":
        raise ValueError(
            f"{name} is of shape {array.shape} and dtype {array.dtype}; wanted real numbers, one for each of "
            f"{adata.n_obs} cells and {n_nodes} nodes. It was changed since the fit stored it: fit again."
        )
    rows: Any = array if sparse.issparse(array) and array.format == "csr" else sparse.csr_matrix(array)
    sums = np.asarray(rows.sum(axis=1), dtype=np.float64).ravel()
    lost = np.flatnonzero(~(np.abs(sums - 1) <= _TOLERANCE))
    if len(lost):
        raise ValueError(
            f"{len(lost)} of {adata.n_obs} cells, such as {str(adata.obs_names[lost[0]])!r}, have shares in {name} "
            "that do not sum to 1, as after anndata.concat with join='outer'. Leave them out; cells that the fit has "
            "not seen need skeltraj.tl.ingest."
        )
    if rows.data.size and not 0 <= float(rows.data.min()):
        raise ValueError(f"{name} holds {float(rows.data.min()):g}; wanted shares from 0 to 1: fit again.")
    return rows
