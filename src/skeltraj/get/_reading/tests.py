"""Stored tables of tests, with the names that scanpy has for their columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._keys import Column

from .checks import available


def plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """How a test was made, for the `attrs` of a table: pandas compares these, so there are no arrays among them."""
    attrs: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, pd.DataFrame):
            if value.index.name is not None:
                attrs[name] = value.to_dict("index")
        else:
            attrs[name] = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    return attrs


def ranked(
    table: pd.DataFrame,
    adata: AnnData,
    change: str,
    pval_cutoff: float | None,
    log2fc_min: float | None,
    gene_symbols: str | None,
) -> pd.DataFrame:
    """A table of tests sorted by p-value and score, with scanpy's names; `change` names its column of changes."""
    new = {
        Column.SCORE: "scores",
        change: "logfoldchanges",
        Column.P_VALUE: "pvals",
        Column.Q_VALUE: "pvals_adj",
    }
    result = table.rename(columns=new)
    result.insert(0, "names", result.index.astype(str))
    first = ["names", *new.values()]
    result = result[first + [name for name in result.columns if name not in first]]
    if gene_symbols is not None:
        if gene_symbols not in adata.var:
            raise KeyError(
                f"gene_symbols={gene_symbols!r} is not in adata.var. Available: {available(adata.var.columns)}."
            )
        result[gene_symbols] = adata.var[gene_symbols]
    result = result.sort_values(["pvals", "scores"], ascending=[True, False], kind="stable", na_position="last")
    if pval_cutoff is not None:
        result = result[result["pvals_adj"] <= pval_cutoff]
    if log2fc_min is not None:
        result = result[result["logfoldchanges"].abs() >= log2fc_min]
    return result.reset_index(drop=True)
