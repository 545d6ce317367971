from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Keys
from skeltraj._printing import Printed
from skeltraj.core import StretchMeans, stretch_means
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.checks import holds_numbers, obs_column, of_two, with_key
from skeltraj.get._reading.lineages import on_lineages

from ._graph import graph
from ._ordered import ordered


@dataclass(frozen=True, repr=False)
class CovariateTables(Printed):
    """A column of `obs` along the lineages.

    Parameters
    ----------
    column
        Its name.
    kind
        "numeric"; "yes or no" (a column of booleans, of 0 and 1, or of two other values); "ordinal" (ordered
        categories).
    share_of
        For two other values, the one that counts as yes: the second in their order, as in
        :func:`skeltraj.tl.association`. Else empty.
    levels
        The ordered categories; else empty.
    values
        For each cell: the number; 0 or 1; or the number of its level, from 1. NaN if missing.
    on_lineage
        One column for each lineage: which cells lie on the path from the root to its tip.
    means
        One row for each ``lineage`` and ``bin`` of pseudotime: ``start``, ``end``, ``middle`` (median pseudotime),
        ``n_cells``, ``mean``, ``sd``, and the interval of the mean from ``low`` to ``high``. Yes or no: shares, with
        the interval of Wilson. Ordinal: of the levels' numbers.
    shares
        For ordinal columns, one row for each ``lineage``, ``bin`` and ``level``: ``start``, ``end``, ``n_cells`` in the
        bin, ``share`` that is of the level, and its interval from ``low`` to ``high``. Else without rows.
    n_cells
        Number of cells with a value and a pseudotime.
    """

    column: str
    kind: Literal["numeric", "yes or no", "ordinal"]
    share_of: str
    levels: list[str]
    values: pd.Series
    on_lineage: pd.DataFrame
    means: pd.DataFrame
    shares: pd.DataFrame
    n_cells: int


@as_declared
@shared_texts
def covariate(
    adata: AnnData, column: str, key: str = "ddrtree", *, n_bins: int = 10, level: float = 0.95
) -> CovariateTables:
    """A numeric, ordinal or yes-or-no column of `obs` along the tree: means in stretches of each lineage.

    The intervals treat cells as independent of one another: this is right for a cohort with one row for each patient,
    but gives intervals that are too narrow for a column that is the same for all cells of a donor.

    Parameters
    ----------
    <adata_ordered>
    column
        Column of `obs`: numbers, booleans, two values, or ordered categories.
    <key>
    n_bins
        Number of stretches of pseudotime along each lineage, with equal numbers of cells (as far as cells with equal
        pseudotime, which stay together, allow).
    level
        Coverage of the intervals.

    Returns
    -------
    A :class:`CovariateTables`. Nothing is stored.

    Raises
    ------
    KeyError
        If the cells have not been ordered, or there is no such column.
    TypeError, ValueError
        If the column holds groups without an order, or no value, or none on a lineage; if a number is out of
        range.

    Examples
    --------
    <example_ordered>
    >>> adata.obs["Gata1"] = adata.X[:, adata.var_names.get_loc("Gata1")]
    >>> means = st.get.covariate(adata, "Gata1", n_bins=4).means
    >>> bool(means.loc[means["lineage"] == "T5", "mean"].is_monotonic_increasing)
    True
    """
    order, keys = ordered(adata, key), Keys(key)
    tree = graph(adata, key)
    kind, share_of, levels, values = _values(adata, column, key)
    pseudotime = adata.obs[keys.pseudotime].to_numpy(dtype=np.float64)
    known = np.isfinite(values) & np.isfinite(pseudotime)
    if not known.any():
        raise ValueError(f"adata.obs[{column!r}] is missing for all {adata.n_obs} cells with a pseudotime.")
    lineages = on_lineages(adata, tree, order, key)
    options: dict[str, Any] = {"n_bins": n_bins, "level": level}

    def table(of: np.ndarray, put: Callable[[StretchMeans], dict[str, Any]], share: bool) -> pd.DataFrame:
        parts: list[pd.DataFrame] = []
        for name, on in lineages.items():
            found = stretch_means(np.where(on, of, np.nan), pseudotime, share=share, **options)
            if found is not None:
                n_found = len(found.n)
                lineage = pd.Categorical([name] * n_found, categories=list(lineages))
                shared = {"lineage": lineage, "bin": np.arange(1, n_found + 1)}
                shared |= {Column.START: found.bounds[:-1], Column.END: found.bounds[1:], Column.N_CELLS: found.n}
                parts.append(pd.DataFrame(shared | put(found)))
        if not parts:
            raise ValueError(f"none of the {int(known.sum())} cells with adata.obs[{column!r}] lies on a lineage.")
        return pd.concat(parts, ignore_index=True)

    means = table(
        values,
        lambda found: {name: getattr(found, name) for name in ("middle", "mean", "sd", "low", "high")},
        kind == "yes or no",
    )
    shares = [
        table(
            np.where(np.isfinite(values), values == number, np.nan),
            lambda found, name=name: {  # type: ignore[misc]
                "level": pd.Categorical([name] * len(found.n), categories=levels, ordered=True),
                "share": found.mean,
                "low": found.low,
                "high": found.high,
            },
            share=True,
        )
        for number, name in enumerate(levels, start=1)
    ]
    columns = ["lineage", "bin", Column.START, Column.END, Column.N_CELLS, "level", "share", "low", "high"]
    return CovariateTables(
        column=column,
        kind=kind,
        share_of=share_of,
        levels=levels,
        values=pd.Series(values, index=adata.obs_names, name=column),
        on_lineage=pd.DataFrame(lineages, index=adata.obs_names),
        means=means,
        shares=pd.concat(shares, ignore_index=True) if shares else pd.DataFrame(columns=columns),
        n_cells=int(known.sum()),
    )


def _values(
    adata: AnnData, name: str, key: str
) -> tuple[Literal["numeric", "yes or no", "ordinal"], str, list[str], np.ndarray]:
    """What kind a column is, which value is yes, its levels, and a number for each cell."""
    column = obs_column(adata, name, "column")
    if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered:
        levels = [str(level) for level in column.cat.categories]
        codes = column.cat.codes.to_numpy()
        return "ordinal", "", levels, np.where(codes >= 0, codes + 1.0, np.nan)
    known = column.dropna()
    yes_no = len(known) > 0 and all(isinstance(value, bool | np.bool_) for value in known.unique())
    if not yes_no and not pd.api.types.is_bool_dtype(column) and not holds_numbers(column):
        n_values = known.nunique()
        if n_values == 2 and not pd.api.types.is_complex_dtype(column):
            values, share_of = of_two(column)
            return "yes or no", share_of, [], values
        raise TypeError(
            f"adata.obs[{name!r}] is of type {column.dtype} and holds {n_values} value(s); wanted numbers, yes or no, "
            "two values, or ordered categories. For "
            f"groups call skeltraj.tl.composition(adata, {name!r}{with_key(key)}); to give them an order, "
            f"adata.obs[{name!r}] = pandas.Categorical(adata.obs[{name!r}], categories=[...], ordered=True)."
        )
    values = column.astype(object).where(column.notna(), np.nan).to_numpy(dtype=np.float64)
    if np.isinf(values).any():
        raise ValueError(
            f"adata.obs[{name!r}] holds {int(np.isinf(values).sum())} infinite values; wanted finite ones."
        )
    there = np.unique(values[~np.isnan(values)])
    if len(there) == 2 and not np.isin(there, (0, 1)).all():
        values, share_of = of_two(column)
        return "yes or no", share_of, [], values
    return "yes or no" if np.isin(there, (0, 1)).all() else "numeric", "", [], values
