"""One number for each cell, from a column of `obs` or a gene."""

from __future__ import annotations

import numpy as np
from anndata import AnnData

from skeltraj.core._runtime.lazy import column_of
from skeltraj.get._reading.checks import available, holds_numbers, one_column


def numbers_of_cells(adata: AnnData, name: str, argument: str) -> np.ndarray:
    """The numbers that a column of `obs`, or else a gene's values in `X`, give to the cells, (n_obs,); NaN: none.

    Raises
    ------
    KeyError
        If there is neither a column nor exactly one gene of that name.
    TypeError
        If the column is not numeric.
    """
    if name in adata.obs:
        column = one_column(adata.obs, name, argument)
        if not holds_numbers(column):
            raise TypeError(f"{argument}: adata.obs[{name!r}] is not numeric ({column.dtype}); wanted numbers.")
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    at = np.flatnonzero(adata.var_names == name)
    if not len(at):
        raise KeyError(
            f"{argument}={name!r} is neither a column of adata.obs nor a gene in adata.var_names. Columns: "
            f"{available(adata.obs.columns)}."
        )
    if len(at) > 1:
        raise KeyError(f"{argument}={name!r}: {len(at)} genes have that name; wanted one.")
    if adata.X is None:
        raise KeyError(f"{argument}={name!r}: adata.X is None, so the gene has no values.")
    return column_of(adata.X, at[0]).astype(np.float64)
