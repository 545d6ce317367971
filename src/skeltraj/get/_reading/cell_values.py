"""Values of genes in the cells, on the scale of their curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from anndata import AnnData
from scipy import sparse

from skeltraj._keys import Keys, TestEntry
from skeltraj.core._data.stream import Stream
from skeltraj.core._runtime.lazy import in_memory

from .checks import available


def cell_values(adata: AnnData, record: Mapping[str, Any], key: str, genes: np.ndarray) -> np.ndarray:
    """What curves of genes were fitted to, (n_obs, n_genes): counts over size factors, else values as they are.

    NaN for cells without a size factor.

    Raises
    ------
    KeyError
        If the layer is gone.
    TypeError, ValueError
        If `X` is gone, or values are no real numbers.
    """
    layer = record.get(TestEntry.LAYER)
    if layer is not None and layer not in adata.layers:
        raise KeyError(
            f"adata.layers has no {layer!r}, to which the curves were fitted. Available: {available(adata.layers)}."
        )
    matrix = adata.X if layer is None else adata.layers[layer]
    if matrix is None:
        raise ValueError("adata.X is None, and the curves were fitted to it.")
    columns: Any
    if in_memory(matrix):
        columns = matrix[:, genes] if sparse.issparse(matrix) else np.asarray(matrix)[:, genes]
    else:
        blocks = [block for _, block in Stream(matrix, genes, name="the matrix").blocks()]
        columns = sparse.vstack(blocks) if sparse.issparse(blocks[0]) else np.vstack(blocks)
    values = np.asarray(columns.toarray() if sparse.issparse(columns) else columns)
    if values.dtype.kind not in "fiub":
        raise TypeError(
            f"{'adata.X' if layer is None else f'adata.layers[{layer!r}]'} has dtype {values.dtype}, and curves were "
            "fitted to real numbers: it was replaced since."
        )
    values = values.astype(np.float64)
    if Keys(key).size_factor not in adata.obs:
        return values
    factor = adata.obs[Keys(key).size_factor].to_numpy(dtype=np.float64)[:, None]
    return np.divide(values, factor, out=np.full(values.shape, np.nan), where=factor > 0)
