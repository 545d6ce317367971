"""Columns of `obs` as responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj.core._runtime import check
from skeltraj.get._reading.checks import holds_numbers, obs_column, of_two, with_key


@dataclass(frozen=True, eq=False)
class TestedColumns:
    """Columns of `obs` as responses.

    Parameters
    ----------
    names
        Of the columns.
    values
        (n_obs, n_columns), NaN where a value is missing.
    families
        "gaussian" or "binomial", of each column.
    levels
        Of a column with two values the one that counts as 1, in words; else "".
    """

    names: list[str]
    values: np.ndarray
    families: list[Literal["gaussian", "binomial"]]
    levels: list[str]


def read_columns(adata: AnnData, columns: str | Sequence[str], key: str) -> TestedColumns:
    """Columns of `obs` as responses: two values as 0 and 1, ordered categories by mid-ranks, numbers as they are.

    Mid-ranks are those among the cells with a value, as shares of their number: half of those that have the same
    category and all that have a lower one. The score test of a proportional-odds model compares their means.

    Raises
    ------
    KeyError
        If there is no such column.
    TypeError
        If a column holds more than two categories without an order.
    ValueError
        If a column has one value only, or infinite ones.
    """
    chosen = list(dict.fromkeys(check.texts(columns, "columns")))
    if not chosen:
        raise ValueError("columns is an empty list; wanted at least one column of adata.obs.")
    values: list[np.ndarray] = []
    families: list[Literal["gaussian", "binomial"]] = []
    levels: list[str] = []
    for name in chosen:
        column = obs_column(adata, name, "columns", of_several=True)
        there = column.dropna().unique()
        if len(there) < 2:
            raise ValueError(f"columns: adata.obs[{name!r}] has {len(there)} value(s); wanted at least two.")
        if pd.api.types.is_complex_dtype(column):
            raise TypeError(f"columns: adata.obs[{name!r}] is of type {column.dtype}; wanted real numbers.")
        if holds_numbers(column) and np.isinf(column.to_numpy(dtype=np.float64, na_value=np.nan)).any():
            raise ValueError(f"columns: adata.obs[{name!r}] holds infinite values; wanted finite ones.")
        if len(there) == 2:
            zero_or_one, level = of_two(column)
            values.append(zero_or_one)
            families.append("binomial")
            levels.append(level)
            continue
        levels.append("")
        if holds_numbers(column):
            values.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
            families.append("gaussian")
        elif isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered:
            values.append(_mid_ranks(column))
            families.append("gaussian")
        else:
            raise TypeError(
                f"columns: adata.obs[{name!r}] holds {len(there)} categories without an order; wanted numbers, two "
                "values or ordered categories (pandas.Categorical(..., ordered=True)). For groups use "
                f"skeltraj.tl.composition(adata, {name!r}{with_key(key)})."
            )
    return TestedColumns(chosen, np.column_stack(values), families, levels)


def _mid_ranks(column: pd.Series) -> np.ndarray:
    codes = column.cat.codes.to_numpy()
    counts = np.bincount(codes[codes >= 0], minlength=len(column.cat.categories))
    rank = (np.cumsum(counts) - counts / 2) / counts.sum()
    return np.where(codes >= 0, rank[codes], np.nan)
