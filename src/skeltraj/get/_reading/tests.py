"""Stored tables of tests, with the names that scanpy has for their columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._keys import Column, Entry, Keys, TestEntry
from skeltraj.core._runtime import check

from .checks import available, one_column
from .entries import again, made
from .forms import Table, Values, fault

_P = Values(least=0, finite=False)


def table_of(adata: AnnData, fit: Mapping[str, Any], name: str, key: str, prefix: str = "") -> pd.DataFrame | None:
    """The table of a test of genes in `varm`, the record of which stands in a fit under `name`; None if it was not run.

    Of several tests in one table `prefix` is that of the columns of one; the columns are then without it.

    Raises
    ------
    ValueError
        If the table, or the record, is damaged.
    """
    keys = Keys(key)
    slot = {
        Entry.ASSOCIATION: keys.association,
        Entry.CONDITION_TEST: keys.condition_test,
        Entry.BRANCH_TEST: keys.branch_test,
    }[name]
    if slot not in adata.varm or made(fit, name, key, prefix.removesuffix("_") or None) is None:
        return None
    table = adata.varm[slot]
    columns = {f"{prefix}{Column.SCORE}": Values(finite=False), f"{prefix}{Column.CHANGE}": Values(finite=False)}
    columns |= {f"{prefix}{Column.P_VALUE}": _P, f"{prefix}{Column.Q_VALUE}": _P}
    whole = table.reset_index(drop=True) if isinstance(table, pd.DataFrame) else table
    wrong = fault(whole, Table(columns), {}, f"adata.varm[{slot!r}]")
    if wrong is not None:
        raise ValueError(f"{wrong} It was changed since it was stored. {again(name, key)}")
    table = table[[column for column in table.columns if column.startswith(prefix)]]
    return table.rename(columns=lambda column: column.removeprefix(prefix))


def plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """How a test was made, for the `attrs` of a table: pandas compares these, so there are no arrays among them."""
    attrs: dict[str, Any] = {}
    for name, value in record.items():
        if name in (Entry.MADE_OF, TestEntry.DIGEST):
            continue
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
        if gene_symbols in result:
            raise ValueError(
                f"gene_symbols={gene_symbols!r} is a column of the table itself; wanted another name (rename it)."
            )
        result[gene_symbols] = one_column(adata.var, gene_symbols, "gene_symbols", "adata.var")
    result = result.sort_values(["pvals", "scores"], ascending=[True, False], kind="stable", na_position="last")
    if pval_cutoff is not None:
        result = result[result["pvals_adj"] <= check.number(pval_cutoff, "pval_cutoff")]
    if log2fc_min is not None:
        result = result[result["logfoldchanges"].abs() >= check.number(log2fc_min, "log2fc_min")]
    return result.reset_index(drop=True)
