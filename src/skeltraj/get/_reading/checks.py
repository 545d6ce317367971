"""Checks of what is there to be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._keys import Entry, Keys, Param
from skeltraj.core import METHODS, Graph, Mesh, Method
from skeltraj.core._runtime import check

_MOST_NAMED = 100  # in a message; chosen by eye


def available(there: Iterable[Any]) -> list[str]:
    """Names for a message, sorted, the first of many; newer AnnData list X among the layers, as None."""
    names = sorted(str(name) for name in there if name is not None)
    return names if len(names) <= _MOST_NAMED else [*names[:_MOST_NAMED], f"and {len(names) - _MOST_NAMED} more"]


def with_key(key: str) -> str:
    """What names the fit in a call that a message proposes, where it is not called as fits usually are."""
    return "" if key == "ddrtree" else f", key={key!r}"


def refuse_empty(adata: AnnData) -> None:
    """Raise if there is no cell."""
    if adata.n_obs == 0:
        raise ValueError(f"adata is empty: 0 cells x {adata.n_vars} genes.")


def refuse_mesh(graph: Graph, key: str, taker: str) -> None:
    """Raise if the skeleton joins the cells themselves."""
    if isinstance(graph, Mesh):
        raise ValueError(
            f"adata.uns[{key!r}] joins the cells themselves by their similarities, without tips and forks, and {taker} "
            "reads the branches of a skeleton; wanted one that has some, for example "
            f"skeltraj.tl.principal_tree(adata, use_rep={Keys(key).coordinates!r})."
        )


def method_of(fit: Mapping[str, Any]) -> Method | None:
    """What is known of the method of a stored fit; None if it is none of this package's."""
    return METHODS.get(fit.get(Entry.PARAMS, {}).get(Param.METHOD))


def refuse_read_lazily(table: Any, label: str) -> None:
    """Raise if a table is one that is read when it is asked for, which has other functions than pandas' own."""
    if not isinstance(table, pd.DataFrame) and hasattr(table, "to_memory"):
        raise TypeError(
            f"{label} is a {type(table).__name__}, as anndata.experimental.read_lazy gives it; wanted a table in "
            "memory: adata.to_memory()."
        )


def columns_in_memory(table: Any, names: Sequence[str]) -> pd.DataFrame:
    """Some columns of `obs`, or of `var`; they are read where it is one of `anndata.experimental.read_lazy`."""
    columns = table[list(names)]
    found: pd.DataFrame = columns if isinstance(columns, pd.DataFrame) else columns.to_memory()
    return found


def one_column(table: pd.DataFrame, name: str, argument: str, label: str = "adata.obs") -> pd.Series:
    """The column of `obs`, or of `var`, that an argument names, if there are not several."""
    column = columns_in_memory(table, [name])[name]
    if isinstance(column, pd.DataFrame):
        raise ValueError(
            f"{argument}: {label} has {column.shape[1]} columns called {name!r}; wanted one (rename the others, or "
            "leave them out)."
        )
    return column


def obs_column(adata: AnnData, name: str, argument: str, *, of_several: bool = False) -> pd.Series:
    """The column of `obs` that an argument names, or an error that lists those there are.

    `of_several`: the argument may name several columns.
    """
    if name not in adata.obs:
        said = f"{argument}: {name!r}" if of_several else f"{argument}={name!r}"
        raise KeyError(f"{said} is not in adata.obs. Available: {available(adata.obs.columns)}.")
    return one_column(adata.obs, name, argument)


def holds_numbers(column: pd.Series) -> bool:
    """Whether a column holds real numbers, and not yes and no."""
    kinds = pd.api.types
    return kinds.is_numeric_dtype(column) and not kinds.is_bool_dtype(column) and not kinds.is_complex_dtype(column)


def of_two(column: pd.Series) -> tuple[np.ndarray, str]:
    """A column with two values as 0 and 1, by their order, and the second."""
    known = column.notna().to_numpy()
    ordered = isinstance(column.dtype, pd.CategoricalDtype)
    column = column.cat.remove_unused_categories() if ordered else column.astype("category")
    values = column.cat.codes.to_numpy().astype(np.float64)
    values[~known] = np.nan
    return values, str(column.cat.categories[1])


def category(adata: AnnData, groupby: str, key: str) -> pd.Series:
    """A categorical column of `obs`, or an error that lists those there are, and what numbers are for beside a fit."""
    column = obs_column(adata, check.text(groupby, "groupby"), "groupby")
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column
    if holds_numbers(column):
        raise TypeError(
            f"adata.obs[{groupby!r}] is numeric ({column.dtype}); wanted groups (a categorical column). If the numbers "
            f"are codes of groups, write adata.obs[{groupby!r}] = adata.obs[{groupby!r}].astype('category') first; "
            f"if they are quantities, call skeltraj.tl.association(adata, columns=[{groupby!r}]"
            f"{with_key(key)}) or skeltraj.get.covariate(adata, {groupby!r}{with_key(key)})."
        )
    return column.astype("category")
