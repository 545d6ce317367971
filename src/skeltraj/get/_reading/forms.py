"""What stored entries must look like, and what is wrong with one that does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from skeltraj._printing import in_full

Kind: TypeAlias = Literal["real", "whole", "text", "flag"]
_IN_WORDS = {"real": "real numbers", "whole": "whole numbers", "text": "text", "flag": "true or false"}


@dataclass(frozen=True)
class Values:
    """An array, or a column of a table.

    Parameters
    ----------
    kind
        Of its entries.
    shape
        Sizes, as numbers or by name; a name that is met first stands for what is found there.
    of
        The name of a size: whole numbers are numbers of such things, from `least` up.
    least
        No number is smaller.
    finite
        Whether no number is NaN or infinite.
    """

    kind: Kind = "real"
    shape: tuple[int | str, ...] = ()
    of: str | None = None
    least: float = -np.inf
    finite: bool = True


@dataclass(frozen=True)
class Table:
    """A DataFrame with at least these columns, or with none and no rows; `rows` names their number."""

    columns: Mapping[str, Values]
    rows: str | None = None


@dataclass(frozen=True)
class Fields:
    """A dictionary with these entries, and perhaps those of `more`."""

    needed: Mapping[str, Form]
    more: Mapping[str, Form] = field(default_factory=dict)


@dataclass(frozen=True)
class Each:
    """A dictionary whose entries, whatever they are called, are all alike."""

    form: Form


Form: TypeAlias = Values | Table | Fields | Each


def fault(value: Any, form: Form, sizes: dict[str, int], name: str) -> str | None:
    """What is wrong with a stored entry called `name`, in words, or None.

    `sizes` are those that are known by their names; new ones are added.
    """
    if isinstance(form, Values):
        problem = _of_values(value, form, sizes)
        return None if problem is None else f"{name} {problem}"
    if isinstance(form, Table):
        return _of_table(value, form, sizes, name)
    if not isinstance(value, Mapping):
        return f"{name} is a {type(value).__name__}; wanted a dictionary."
    if isinstance(form, Each):
        inside: dict[str, Form] = dict.fromkeys(value, form.form)
    else:
        lacking = [entry for entry in form.needed if entry not in value]
        if lacking:
            return f"{name} has no {lacking[0]!r}."
        inside = {entry: one for entry, one in (form.needed | dict(form.more)).items() if entry in value}  # type: ignore[operator]
    for entry, one in inside.items():
        problem = fault(value[entry], one, sizes, f"{name}[{entry!r}]")
        if problem is not None:
            return problem
    return None


def _of_table(value: Any, form: Table, sizes: dict[str, int], name: str) -> str | None:
    if not isinstance(value, pd.DataFrame):
        return f"{name} is a {type(value).__name__}; wanted a table."
    if not value.columns.is_unique or not value.index.is_unique:
        return f"{name} has columns or rows of the same name; wanted each once."
    if form.rows is not None and len(value) != sizes.setdefault(form.rows, len(value)):
        return f"{name} has {len(value)} rows; wanted {sizes[form.rows]}, one for each of the {form.rows}."
    for column, one in form.columns.items() if value.size or len(value.columns) else ():
        if column not in value:
            return f"{name} has no column {column!r}. Available: {[str(there) for there in value.columns]}."
        problem = _of_values(_unwrapped(value[column]), one, sizes, (len(value),))
        if problem is not None:
            return f"{name}[{column!r}] {problem}"
    return None


def _unwrapped(column: pd.Series) -> np.ndarray:
    """The values of a column; of a categorical the names of its categories, which stand for them."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = pd.Series(column.cat.categories)
        return column.to_numpy(dtype=object) if len(column) else np.array([], dtype=str)
    return column.to_numpy()


def _of_values(value: Any, form: Values, sizes: dict[str, int], shape: tuple[int, ...] | None = None) -> str | None:
    """`shape` is given for columns, whose length is that of their table."""
    try:
        array = np.asarray(value)
    except ValueError:  # a ragged list
        return f"is a {type(value).__name__}; wanted an array."
    if shape is None:
        if array.ndim != len(form.shape):
            wanted = f"an array of {len(form.shape)} dimension(s)" if form.shape else "one value"
            return f"is a {type(value).__name__} of shape {array.shape}; wanted {wanted}."
        for size, wanted_size in zip(array.shape, form.shape, strict=True):
            known = wanted_size if isinstance(wanted_size, int) else sizes.setdefault(wanted_size, size)
            if size != known:
                shown = tuple(sizes.get(one, one) if isinstance(one, str) else one for one in form.shape)
                return f"is of shape {array.shape}; wanted {shown}."
    if not _is_of_kind(array, form.kind):
        return f"holds {array.dtype} of shape {array.shape}; wanted {_IN_WORDS[form.kind]}."
    if form.kind not in ("real", "whole") or not array.size:
        return None
    bad = int(np.count_nonzero(~np.isfinite(array))) if form.finite else 0
    if bad:
        return f"holds {bad} value(s) that are NaN or infinite; wanted finite ones."
    least = float(np.nanmin(array)) if not np.isnan(array).all() else np.inf
    if least < form.least:
        return f"holds {in_full(least)}; wanted at least {form.least:g}."
    if form.of is not None and array.max() >= sizes[form.of]:
        return f"holds {array.max()}; wanted numbers of the {sizes[form.of]} {form.of}, from 0."
    return None


def _is_of_kind(array: np.ndarray, kind: Kind) -> bool:
    """Whether all entries are of a kind; none are of every kind."""
    if not array.size:
        return True
    if kind == "text":
        return array.dtype.kind in "UT" or (
            array.dtype.kind == "O" and all(isinstance(one, str) for one in array.ravel().tolist())
        )
    return array.dtype.kind in {"real": "fiu", "whole": "iu", "flag": "b"}[kind]
