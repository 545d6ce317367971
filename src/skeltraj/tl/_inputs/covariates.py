"""Columns of `obs` as columns of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj.core._runtime import check
from skeltraj.get._reading.checks import holds_numbers, obs_column

_MAX_GROUPS = 100  # more are names of samples or the like; chosen by eye


@dataclass(frozen=True, eq=False)
class Covariates:
    """Columns of `obs` as numbers.

    Parameters
    ----------
    columns
        Their names in `obs`.
    missing
        Which cells lack a value of each column, (n_obs, n_columns).
    names
        Of the columns of the model: a number by its name, a group as "column=group".
    values
        Numbers, and 0 or 1 for each group but the first that occurs, (n_obs, n_names); NaN where missing.
    """

    columns: list[str]
    missing: np.ndarray
    names: list[str]
    values: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """Cells without a missing value, (n_obs,)."""
        return np.asarray(~self.missing.any(axis=1))

    @property
    def filled(self) -> np.ndarray | None:
        """The values with 0 for what is missing, in cells that are left out; None if there are no covariates."""
        return np.nan_to_num(self.values) if self.columns else None

    @property
    def or_explained(self) -> str:
        """Why else a gene may have no p-value, for messages."""
        return ", or follow from the covariates," if self.columns else ""


def covariates_of(adata: AnnData, columns: Sequence[str] | str | None, among: np.ndarray) -> Covariates:
    """Read covariates.

    Parameters
    ----------
    adata
        Annotated data.
    columns
        Columns of `obs`: numbers; yes and no; or groups.
    among
        Which cells may be used, (n_obs,): groups that occur in none of them have no column.

    Raises
    ------
    KeyError
        If there is no such column.
    TypeError, ValueError
        If a column is named twice, or holds neither numbers nor groups, infinite values, none at all, or a single one
        in the cells that may be used.
    """
    named = [] if columns is None else check.texts(columns, "covariates")
    twice = [name for name in named if named.count(name) > 1]
    if twice:
        raise ValueError(f"covariates={named} names {twice[0]!r} twice; wanted each column once.")
    missing, names, values = [], [], []
    for name in named:
        column = obs_column(adata, name, "covariates", of_several=True)
        lacking = column.isna().to_numpy()
        if among.any() and not (among & ~lacking).any():
            raise ValueError(
                f"covariates: adata.obs[{name!r}] has no value in any of the {int(among.sum())} cells that could be "
                "used; wanted a column that has some."
            )
        missing.append(lacking)
        for said, numbers in _numbers(column, name, among & ~lacking):
            names.append(said)
            values.append(np.where(lacking, np.nan, numbers))
    shape = (adata.n_obs, len(named))
    return Covariates(
        columns=named,
        missing=np.column_stack(missing) if named else np.zeros(shape, dtype=bool),
        names=names,
        values=np.column_stack(values) if values else np.empty((adata.n_obs, 0)),
    )


def _numbers(column: pd.Series, name: str, among: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """What a column gives: names and numbers."""
    if holds_numbers(column) or pd.api.types.is_bool_dtype(column):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(numbers).any():
            raise ValueError(f"covariates: adata.obs[{name!r}] holds infinite values; wanted finite ones.")
        if len(np.unique(numbers[among])) == 1:
            raise _constant(name, f"{numbers[among][0]:g}", among)
        return [(name, numbers)]
    groups = _as_groups(column, name)
    codes = groups.cat.codes.to_numpy()
    there = np.unique(codes[among])
    if len(there) > _MAX_GROUPS:
        raise ValueError(
            f"covariates: adata.obs[{name!r}] has {len(there)} groups; wanted numbers, or at most {_MAX_GROUPS} groups."
        )
    if len(there) == 1:
        raise _constant(name, repr(str(groups.cat.categories[there[0]])), among)
    return [(f"{name}={groups.cat.categories[code]}", (codes == code).astype(np.float64)) for code in there[1:]]


def _constant(name: str, value: str, among: np.ndarray) -> ValueError:
    return ValueError(f"covariates: {name!r} is {value} for all {int(among.sum())} cells used; wanted one that varies.")


def _as_groups(column: pd.Series, name: str) -> pd.Series:
    """A covariate that holds no numbers as a categorical column; an error if it holds dates or the like.

    Of objects two values, as 0 and 1, are groups; of more there must be texts among them.
    """
    kind = column.dtype
    is_text, is_yes_or_no = pd.api.types.is_string_dtype(kind), pd.api.types.is_bool_dtype(kind)
    if not (isinstance(kind, pd.CategoricalDtype) or is_text or is_yes_or_no):
        raise TypeError(f"covariates: adata.obs[{name!r}] is of type {kind}; wanted numbers or groups.")
    if pd.api.types.is_object_dtype(kind):
        known = column.dropna()
        no_groups = [value for value in known if not isinstance(value, str | bool | np.bool_)]
        if len(no_groups) == len(known) and known.nunique() > 2:  # each would be a group of its own
            said = f"adata.obs[{name!r}]"
            raise TypeError(
                f"covariates: {said} is of type object and holds {type(no_groups[0]).__name__}; wanted numbers "
                f"({said}.astype(float)) or groups ({said}.astype('category'))."
            )
    return column.astype("category")
