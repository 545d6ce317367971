"""The values of one gene: which matrix they are from, as scanpy has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj.core._runtime import check
from skeltraj.core._runtime.lazy import column_of
from skeltraj.get._reading.checks import available, one_column


def gene_values(
    adata: AnnData,
    name: str,
    layer: str | None,
    *,
    argument: str,
    use_raw: bool | None,
    gene_symbols: str | None,
) -> np.ndarray:
    """The values of a gene, (n_obs,), from a layer, from `adata.raw` or from `X`.

    As in scanpy, `use_raw` None means `adata.raw` where there is one and no layer is named. A name that is no name of a
    gene is looked for among the symbols in the column `gene_symbols` of `var`.

    Raises
    ------
    KeyError
        If there is no such gene, layer or column.
    ValueError
        If `adata.raw` is asked for and not there, or together with a layer.
    """
    use_raw = check.flag_or_none(use_raw, "use_raw")
    if layer is not None and layer not in adata.layers:
        raise KeyError(f"layer={layer!r} is not in adata.layers. Available: {available(adata.layers)}.")
    if use_raw and layer is not None:
        raise ValueError(f"use_raw=True and layer={layer!r} were both given; wanted one of them.")
    if use_raw and adata.raw is None:
        raise ValueError("use_raw=True, but adata.raw is None; wanted use_raw=False, or adata.raw set.")
    raw = layer is None and adata.raw is not None if use_raw is None else use_raw
    source: Any = adata.raw if raw else adata
    at = _places(source.var, adata.var, name, gene_symbols)
    if not len(at):
        raise KeyError(_not_found(adata, name, raw, argument, gene_symbols))
    if len(at) > 1:
        raise KeyError(f"{argument}={name!r}: {len(at)} genes have that name; wanted one.")
    matrix = source.X if layer is None else adata.layers[layer]
    if matrix is None:
        raise ValueError(f"{argument}={name!r}: adata.X is None, so the gene has no values; wanted a layer.")
    values = column_of(matrix, at[0])
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{argument}={name!r}: the gene's values have dtype {values.dtype}; wanted real numbers.")
    return values.astype(np.float64)


def _places(var: pd.DataFrame, own: pd.DataFrame, name: str, gene_symbols: str | None) -> np.ndarray:
    """Where a gene is in `var`; `own` holds the symbols where `var`, that of raw, has none."""
    at = np.flatnonzero(var.index == name)
    if len(at) or gene_symbols is None:
        return at
    if gene_symbols in var:
        return np.flatnonzero(
            (one_column(var, gene_symbols, "gene_symbols", "adata.var") == name).to_numpy(dtype=bool, na_value=False)
        )
    if gene_symbols in own:
        genes = own.index[
            (one_column(own, gene_symbols, "gene_symbols", "adata.var") == name).to_numpy(dtype=bool, na_value=False)
        ]
        return np.flatnonzero(var.index.isin(genes))
    raise KeyError(f"gene_symbols={gene_symbols!r} is not a column of adata.var. Available: {available(own.columns)}.")


def _not_found(adata: AnnData, name: str, raw: bool, argument: str, gene_symbols: str | None) -> str:
    """What a name is not, and where it would have been found."""
    where = "adata.raw.var_names" if raw else "adata.var_names"
    symbols = "" if gene_symbols is None else f" or adata.var[{gene_symbols!r}]"
    text = f"{argument}={name!r} is neither a column of adata.obs nor a gene in {where}{symbols}."
    if raw and name in adata.var_names:
        text += " adata.var_names has it: give use_raw=False, or a layer."
    elif not raw and adata.raw is not None and name in adata.raw.var_names:
        text += " adata.raw has it: give use_raw=True, and no layer."
    return f"{text} Columns: {available(adata.obs.columns)}."
