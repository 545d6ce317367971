"""Dense arrays: one value for each of n, numbers of things, coordinates of points."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from skeltraj._printing import in_full, told_apart
from skeltraj.core._runtime.lazy import loaded

LARGEST_OF_SQUARES = 1e145  # size of numbers, and one over it, whose squares must be numbers too


def refuse_masked(value: Any, name: str) -> None:
    """Raise if values are masked: other libraries take what lies beneath."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(
            f"{name} has {int(np.ma.count_masked(value))} masked value(s); wanted all of them. Fill them first."
        )


def array(value: Any, name: str) -> np.ndarray:
    """Return what can be read as an array as one, or raise an error that names it."""
    value = loaded(value)
    refuse_masked(value, name)
    if sparse.issparse(value):
        raise TypeError(f"{name} is a sparse matrix of shape {value.shape}; wanted a dense array.")
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:  # rows of different lengths, values that are missing
        raise type(error)(f"{name} cannot be read as an array of numbers: {error}") from error


def as_float(values: np.ndarray, name: str) -> np.ndarray:
    """Return real numbers as a float64 array; an error where longer ones do not fit."""
    if values.dtype.itemsize > 8 and (np.isfinite(values) & (np.abs(values) > np.finfo(np.float64).max)).any():
        raise ValueError(f"{name} holds numbers beyond {np.finfo(np.float64).max:g}; wanted smaller ones.")
    return values.astype(np.float64, copy=False)


def vector(value: Any, name: str, n: int | None = None, *, of: str = "points") -> np.ndarray:
    """Return real numbers, one for each of n, as a float64 array, (n,), or raise an error that names what was wanted.

    NaN and infinite values are taken.
    """
    values = _one_each(value, name, n, f"one number for each of {n} {of}")
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{name} is of type {values.dtype}; wanted real numbers.")
    return as_float(values, name)


def _one_each(value: Any, name: str, n: int | None, wanted: str) -> np.ndarray:
    values = array(value, name)
    if values.ndim != 1 or (n is not None and len(values) != n):
        raise ValueError(f"{name} is of shape {values.shape}; wanted {'(n,)' if n is None else wanted}.")
    return values


def codes(value: Any, name: str, n: int | None = None, *, of: str = "points") -> np.ndarray:
    """Return whole numbers, one for each of n, as an int64 array, (n,); negative ones, which mean none, become -1."""
    values = _one_each(value, name, n, f"{n} codes of {of} (negative: none)")
    if values.dtype.kind not in "iu":
        raise TypeError(f"{name} is of type {values.dtype}; wanted codes, whole numbers (negative: none).")
    if values.dtype.kind == "u" and values.size and int(values.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"{name} holds {int(values.max())}; wanted codes up to {np.iinfo(np.int64).max}.")
    return np.maximum(values.astype(np.int64), -1)


def flags(value: Any, name: str, n: int) -> np.ndarray:
    """Return True and False, one for each of n, as a boolean array, (n,), or raise an error that names it."""
    values = array(value, name)
    if values.shape != (n,) or values.dtype != bool:
        raise ValueError(f"{name} is of shape {values.shape} and type {values.dtype}; wanted {n} of True and False.")
    return values


def chosen(value: Any, name: str, n: int) -> np.ndarray:
    """Return which of n points are chosen, boolean, or raise an error that says what is wrong; also where none is."""
    given = flags(value, name, n)
    if not given.any():
        raise ValueError(f"{name}: none of {n} points is {name}; wanted some.")
    return given


def column(value: Any, name: str, n: int, low: float, high: float = np.inf) -> np.ndarray:
    """Return finite numbers from `low` to `high` as a float64 array, (n,), or raise an error."""
    given = array(value, name)
    if given.shape != (n,) or given.dtype.kind not in "fiub":
        raise ValueError(f"{name} is of shape {given.shape} and type {given.dtype}; wanted {n} numbers.")
    given = given.astype(np.float64, copy=False)
    wrong = given[~((given >= low) & (given <= high) & np.isfinite(given))]
    if len(wrong):
        first = in_full(float(wrong[0]))
        wanted = f"{low:g} to {high:g}" if np.isfinite(high) else f"finite numbers from {low:g} up"
        raise ValueError(f"{name}: {len(wrong)} of {n} are out of range, such as {first}; wanted {wanted}.")
    return given


def numbers(value: Any, name: str, n: int, of: str, width: int | None = None) -> np.ndarray:
    """Return numbers from 0 to n - 1 as an int64 array, (m,) or (m, width), or raise an error that names a wrong one.

    `of` says what is numbered, in the plural.
    """
    given = array(value, name)
    shape = "(m,)" if width is None else f"(m, {width})"
    if not given.size and given.dtype.kind == "f":  # an empty list
        given = given.reshape((0,) if width is None else (0, width)).astype(np.int64)
    if given.ndim != (1 if width is None else 2) or (width is not None and given.shape[1] != width):
        raise ValueError(f"{name}: an array of shape {given.shape} was given; wanted {shape}.")
    if given.dtype.kind not in "iu":
        raise TypeError(f"{name}: entries are of type {given.dtype}; wanted whole numbers, of {of}.")
    wrong = given[(given < 0) | (given >= n)]
    if len(wrong):
        raise ValueError(f"{name}: there is no {wrong[0]} among {n} {of}; wanted numbers from 0 to {n - 1}.")
    return given.astype(np.int64, copy=False)


def coordinates(value: Any, name: str, n_components: int | None = None) -> np.ndarray:
    """Return points as a float64 array, (n, n_components), or raise an error that names what was wanted."""
    points = array(value, name)
    width = "n_components" if n_components is None else n_components
    if points.ndim != 2 or (n_components is not None and points.shape[1] != n_components):
        raise ValueError(f"{name}: an array of shape {points.shape} was given; wanted (n, {width}).")
    if points.dtype.kind not in "fiub":
        raise TypeError(f"{name}: entries are of type {points.dtype}; wanted real numbers.")
    return as_float(points, name)


def finite(values: np.ndarray, name: str) -> np.ndarray:
    """Return `values`, (n, d), or raise an error that says how many rows hold NaN or infinite values."""
    n_bad = int((~np.isfinite(values)).any(axis=1).sum())
    if n_bad:
        raise ValueError(f"{name}: {n_bad} of {len(values)} hold NaN or infinite coordinates; wanted finite ones.")
    return values


def squares(values: np.ndarray, name: str, *, least: bool = False) -> np.ndarray:
    """Return coordinates whose squares are numbers, or raise an error; with `least` also if these would be zero."""
    size, largest = size_of(values), LARGEST_OF_SQUARES
    if size > largest or (least and 0 < size < 1 / largest):
        shown, _ = told_apart(size, largest)
        raise ValueError(
            f"{name}: the largest coordinate is {shown} in size; wanted from {1 / largest:g} to {largest:g}, as "
            "squares must be numbers too. Give them in other units."
        )
    return values


def size_of(values: np.ndarray) -> float:
    """The largest absolute value; 0 if there is none, NaN if one is."""
    return float(np.maximum(float(values.max(initial=0.0)), -float(values.min(initial=0.0))))
