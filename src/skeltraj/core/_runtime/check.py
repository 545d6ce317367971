"""What every fit asks of its input, before it does any work."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from .auto import is_auto
from .lazy import is_lazy, loaded

# sizes of numbers, and one over them, that may be taken
LARGEST = 1e50  # where fourth powers, and sums of many, must be numbers still
LARGEST_OF_SQUARES = 1e145  # where squares must
LARGEST_COUNT = 1e9  # chosen by eye

Kind = TypeVar("Kind")
_LONGEST = 80  # characters of a value in a message; chosen by eye
_MOST_BITS = 256  # of a whole number that a message writes out


def matrix(X: Any, *, name: str = "X", min_obs: int = 3, streams: bool = False, largest: float = LARGEST) -> Any:
    """Check that `X` is a finite real matrix and return it without widening or densifying it.

    Parameters
    ----------
    X
        Dense array-like or scipy sparse matrix, (n_obs, n_features); with `streams` also a dask array or a matrix on
        disk that can be sliced (as HDF5's and zarr's, and AnnData's sparse ones).
    name
        What to call it in messages.
    min_obs
        Fewest rows allowed.
    streams
        Whether to accept what is not in memory, and leave it there.
    largest
        Size that no entry may exceed; where something is learned (`min_obs` above 1) the largest must be at least one
        over it, unless all are zero.

    Returns
    -------
    A numeric ndarray, a CSR matrix with sorted indices, or the dask array or matrix on disk itself.

    Raises
    ------
    TypeError
        If the entries are not real numbers.
    ValueError
        If `X` is not two-dimensional, is empty, has too few rows, holds NaN or infinite values, or its numbers are too
        large or too small.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"name={said(name)} is a {type(name).__name__}; wanted what messages call the matrix.")
    if hasattr(X, "obsm") and hasattr(X, "uns"):
        raise TypeError(f"{name} is an {type(X).__name__}; for these use skeltraj.tl, or give one of its matrices.")
    streamed = streams and is_streamed(X)
    X = X if streamed else loaded(X)
    values: Any
    if streamed:
        values = None
    elif sparse.issparse(X):
        if len(X.shape) == 2:
            X = entries(X, name).tocsr()
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
        values = X.data
    else:
        X = array(X, name)
        values = X
    if len(X.shape) != 2:
        raise ValueError(
            f"{name} has {len(X.shape)} dimension(s), shape {X.shape}; wanted a matrix (n_obs, n_features)."
        )
    if any(np.isnan(size) for size in X.shape):
        raise ValueError(f"{name} has unknown shape {X.shape}; call its compute_chunk_sizes() first.")
    if X.dtype.kind not in "fiub":
        raise TypeError(f"{name} has dtype {X.dtype}; wanted real numbers.")
    n_obs, n_features = X.shape
    if n_obs == 0 or n_features == 0:
        raise ValueError(f"{name} is empty: shape {X.shape}; wanted at least {min_obs} rows and 1 column.")
    if n_obs < min_obs:
        raise ValueError(f"{name} has {n_obs} row(s) (cells); wanted at least {min_obs}.")
    if X.dtype.kind == "f":
        seen = list(_seen_streamed(X, name) if streamed else map(_seen, _pieces(values)))
        bad = sum(n for n, _ in seen)
        if bad:
            raise ValueError(
                f"{name} holds {bad} value(s) that are NaN or infinite, out of {n_obs} x {n_features}; "
                "wanted finite numbers. Remove or impute them first."
            )
        _in_range(max((size for _, size in seen), default=0.0), name, largest, learns=min_obs > 1)
    return X


def dense(X: Any, name: str, *, min_obs: int = 1, n_columns: int | None = None) -> np.ndarray:
    """Return a finite real matrix, dense or sparse, as a new C-ordered float64 array; errors as those of `matrix`."""
    X = matrix(X, name=name, min_obs=min_obs)
    if n_columns is not None and X.shape[1] != n_columns:
        raise ValueError(f"{name} has shape {X.shape}; wanted {n_columns} columns.")
    return np.array(X.toarray() if sparse.issparse(X) else X, dtype=np.float64, order="C")


def array(value: Any, name: str) -> np.ndarray:
    """Return what can be read as an array as one, or raise an error that names it."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(
            f"{name} has {int(np.ma.count_masked(value))} masked value(s); wanted all of them. Fill them first."
        )
    value = loaded(value)
    if sparse.issparse(value):
        raise TypeError(f"{name} is a sparse matrix of shape {value.shape}; wanted a dense array.")
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:  # rows of different lengths, values that are missing
        raise type(error)(f"{name} cannot be read as an array of numbers: {error}") from error


def vector(value: Any, name: str, n: int | None = None, *, of: str = "points") -> np.ndarray:
    """Return real numbers, one for each of n, as a float64 array, (n,), or raise an error that names what was wanted.

    NaN and infinite values are taken.
    """
    values = array(value, name)
    if values.ndim != 1 or (n is not None and len(values) != n):
        wanted = "(n,)" if n is None else f"one number for each of {n} {of}"
        raise ValueError(f"{name} is of shape {values.shape}; wanted {wanted}.")
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{name} is of type {values.dtype}; wanted real numbers.")
    return as_float(values, name)


def as_float(values: np.ndarray, name: str) -> np.ndarray:
    """Return real numbers as a float64 array; an error where longer ones do not fit."""
    if values.dtype.itemsize > 8 and (np.isfinite(values) & (np.abs(values) > np.finfo(np.float64).max)).any():
        raise ValueError(f"{name} holds numbers beyond {np.finfo(np.float64).max:g}; wanted smaller ones.")
    return values.astype(np.float64, copy=False)


def codes(value: Any, name: str, n: int | None = None, *, of: str = "points") -> np.ndarray:
    """Return whole numbers, one for each of n, as an int64 array, (n,); negative ones, which mean none, become -1."""
    values = array(value, name)
    if values.ndim != 1 or (n is not None and len(values) != n):
        wanted = "(n,)" if n is None else f"{n} codes of {of} (negative: none)"
        raise ValueError(f"{name} is of shape {values.shape}; wanted {wanted}.")
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


def instance(value: Any, name: str, kind: type[Kind]) -> Kind:
    """Return `value` if it is of that class, or raise an error that names it."""
    if not isinstance(value, kind):
        raise TypeError(f"{name}={said(value)} is a {type(value).__name__}; wanted a {kind.__name__}.")
    return value


def flag(value: Any, name: str) -> bool:
    """Return True or False as a bool, or raise an error that names it."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={said(value)} is a {type(value).__name__}; wanted True or False.")
    return bool(value)


def flag_or_none(value: Any, name: str) -> bool | None:
    """Return True or False as a bool, or None, or raise an error that names it."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    raise TypeError(f"{name}={said(value)} is a {type(value).__name__}; wanted True, False or None.")


def called(value: Callable[..., Any] | None, name: str) -> None:
    """Raise an error if what is to be called cannot be."""
    if value is not None and not callable(value):
        raise TypeError(f"{name}={said(value)} is a {type(value).__name__}; wanted a function or None.")


def words(value: Any, name: str, n: int, of: str) -> list[str] | None:
    """Return names, one for each of n, as a list of str; None if none are given."""
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) != 1:
        raise TypeError(f"{name}={said(value)} is a {type(value).__name__}; wanted {n} names of {of}.")
    given = [str(word) for word in value]
    if len(given) != n:
        raise ValueError(f"{name}: {len(given)} names were given for {n} {of}.")
    return given


def said(value: Any) -> str:
    """A value as messages show it: short, whatever it is."""
    if isinstance(value, Integral) and int(value).bit_length() > _MOST_BITS:
        return f"{'-' if value < 0 else ''}2**{int(value).bit_length() - 1} or more"
    return _short.repr(value)


_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = _LONGEST
_short.maxlist = _short.maxtuple = _short.maxdict = _short.maxset = 12


def _in_range(size: float, name: str, largest: float, *, learns: bool) -> None:
    if size > largest or (learns and 0 < size < 1 / largest):
        raise ValueError(
            f"{name}: its largest entry is {size:.3g} in size; wanted from {1 / largest:g} to {largest:g}, as products "
            "of entries must be numbers too. Give it in other units."
        )


def entries(X: Any, name: str) -> Any:
    """Return a sparse matrix, or raise an error if it has entries outside its shape.

    SciPy does not look where a matrix is made from arrays of indices or these are changed, and compiled code, its own
    as well, writes and reads where they say.
    """
    if X.format not in ("csr", "csc", "bsr", "coo"):
        X = X.tocsr()  # the others have no such arrays, but numbers of columns row by row, say
    if X.format == "coo":
        fine = all(len(at) == len(X.data) and _within(at, n) for at, n in zip((X.row, X.col), X.shape, strict=True))
    else:
        shape = np.array(X.shape) // (X.blocksize if X.format == "bsr" else 1)
        n_major, n_minor = shape[::-1] if X.format == "csc" else shape
        start, at = X.indptr, X.indices
        fine = start.shape == (n_major + 1,) and start[0] == 0 and _within(start, len(at) + 1)
        fine = fine and len(at) == len(X.data) and bool((start[1:] >= start[:-1]).all())
        fine = fine and _within(at[: start[-1]], n_minor)
    if not fine:
        raise ValueError(
            f"{name}: a sparse matrix of shape {X.shape} ({X.format}) has entries outside of it, or its arrays of "
            "indices do not fit together; wanted whole numbers from 0 up, below the shape (its check_format() tells)."
        )
    return X


def _within(numbers: np.ndarray, n: int) -> bool:
    whole = numbers.dtype in (np.int32, np.int64)  # SciPy's own
    return whole and (not len(numbers) or bool(0 <= numbers.min() and numbers.max() < n))


def is_streamed(X: Any) -> bool:
    """Whether `X` is a dask array or a matrix on disk, which are read a part at a time."""
    return not hasattr(X, "__array_interface__") and (is_lazy(X) or _on_disk(X))


def _on_disk(X: Any) -> bool:
    sliceable = hasattr(X, "shape") and hasattr(X, "__getitem__") and not sparse.issparse(X)
    return sliceable and isinstance(getattr(X, "dtype", None), np.dtype)


def _seen(part: Any, name: str = "") -> tuple[int, float]:
    """How many entries are not finite, and the size of the largest."""
    values = entries(part, name).data if sparse.issparse(part) else np.asarray(part)
    return int(np.count_nonzero(~np.isfinite(values))), _size(values)


def _seen_streamed(X: Any, name: str) -> Iterable[tuple[int, float]]:
    """The same of parts of a matrix that is not in memory, in one pass."""
    if is_lazy(X):
        import dask

        return dask.compute(*(dask.delayed(_seen)(block, name) for block in X.to_delayed().ravel()))
    step = max(1, (1 << 22) // X.shape[1])
    return (_seen(X[i : i + step], name) for i in range(0, X.shape[0], step))


def _size(values: np.ndarray) -> float:
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _pieces(values: np.ndarray, size: int = 1 << 22) -> Iterable[np.ndarray]:
    """Parts of an array of about `size` entries, so that a check never doubles the memory in use."""
    step = max(1, size // max(1, values[:1].size))
    return (values[i : i + step] for i in range(0, len(values), step))


def number(
    value: Any, name: str, *, above: float | None = None, at_least: float | None = None, at_most: float | None = None
) -> float:
    """Return `value` as a float, or raise an error that names it and the range that was wanted."""
    wanted = "a number"
    if above is not None:
        wanted += f" > {above:g}"
    if at_least is not None:
        wanted += f" >= {at_least:g}"
    if at_most is not None:
        wanted += f"{' and' if wanted != 'a number' else ''} <= {at_most:g}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={said(value)} is a {type(value).__name__}; wanted {wanted}.")
    x = _float(value)
    if not np.isfinite(x) or (above is not None and x <= above) or (at_least is not None and x < at_least):
        raise ValueError(f"{name}={said(value)} is out of range; wanted {wanted}.")
    if at_most is not None and x > at_most:
        raise ValueError(f"{name}={said(value)} is out of range; wanted {wanted}.")
    return x


def share(value: Any, name: str) -> float:
    """Return `value` as a float between 0 and 1, or raise an error that names it."""
    x = number(value, name, above=0)
    if x >= 1:
        raise ValueError(f"{name}={x:g} is out of range; wanted a number between 0 and 1.")
    return x


def _float(value: Real) -> float:
    """A number as a float: infinite where it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf  # type: ignore[operator]


def number_or_inf(value: Any, name: str, *, above: float) -> float:
    """Return `value` as a float > `above`, or infinity."""
    return np.inf if isinstance(value, float | np.floating) and value == np.inf else number(value, name, above=above)


def number_or_auto(value: Any, name: str, *, above: float) -> float | None:
    """Return `value` as a float > `above`, or None for "auto"."""
    return None if is_auto(value) else number(value, name, above=above)


def count(value: Any, name: str, *, at_least: int = 1, at_most: int | None = None, why: str = "") -> int:
    """Return `value` as an int, or raise an error that names it and the range that was wanted."""
    wanted = f"a whole number from {at_least}" + (f" to {at_most}" if at_most is not None else " up")
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={said(value)} is a {type(value).__name__}; wanted {wanted}.")
    n = int(value)
    if n < at_least or n > (np.iinfo(np.int64).max if at_most is None else at_most):
        raise ValueError(f"{name}={said(value)} is out of range; wanted {wanted}{why}.")
    return n


def generator(value: Any) -> np.random.Generator:
    """Return `rng`, a seed or a generator of either of numpy's kinds, as a Generator; else an error that names it."""
    if isinstance(value, np.random.RandomState):
        value = value.randint(0, 1 << 32, size=4, dtype=np.uint32)
    wanted = "a whole number from 0 up, or a numpy.random.Generator"
    if isinstance(value, bool | np.bool_ | str | float | np.floating):
        raise TypeError(f"rng={said(value)} is a {type(value).__name__}; wanted {wanted}.")
    try:
        return np.random.default_rng(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"rng={said(value)} is no seed; wanted {wanted}.") from error


def components(value: Any, shape: tuple[int, int]) -> int | float:
    """Return a number of components as an int, or a share of the variance, between 0 and 1, as a float."""
    if isinstance(value, np.floating):
        value = float(value)
    if isinstance(value, float) and 0 < value < 1:
        return value
    why = f" (data of shape {shape}), or a share between 0 and 1"
    return count(value, "n_components", at_most=min(shape), why=why)


def choice(value: Any, name: str, options: Iterable[Any]) -> Any:
    """Return `value` if it is one of `options`, or raise an error that lists them."""
    options = list(options)
    value = bool(value) if isinstance(value, np.bool_) else value
    if not any(value is option or (isinstance(value, str) and value == option) for option in options):
        raise ValueError(f"{name}={said(value)} is not known. Available: {options}.")
    return value


def coordinates(value: Any, name: str, n_components: int | None = None) -> np.ndarray:
    """Return points as a float64 array, (n, n_components), or raise an error that names what was wanted."""
    points = array(value, name)
    width = "n_components" if n_components is None else n_components
    if points.ndim != 2 or (n_components is not None and points.shape[1] != n_components):
        raise ValueError(f"{name}: an array of shape {points.shape} was given; wanted (n, {width}).")
    if points.dtype.kind not in "fiub":
        raise TypeError(f"{name}: entries are of type {points.dtype}; wanted real numbers.")
    return as_float(points, name)


def assignment(value: Any, shape: tuple[int, int]) -> Any:
    """Return an assignment of points to nodes, (n, n_nodes), as CSR in memory, or raise an error.

    Dense ones are taken as well, and those that are left to dask.
    """
    value = loaded(value)
    if not sparse.issparse(value):
        value = array(value, "assignment")
        value = as_float(value, "assignment") if value.dtype.kind in "fiub" else value
    if value.shape != shape:
        raise ValueError(f"assignment has shape {value.shape}; wanted {shape}, points by nodes.")
    if not shape[0]:
        return sparse.csr_matrix(shape)
    R = sparse.csr_matrix(matrix(value, name="assignment", min_obs=1), dtype=np.float64)
    if (R.data < 0).any():
        raise ValueError(f"assignment: {R.data.min():g} is among its weights; wanted weights from 0 up.")
    return R


def finite(values: np.ndarray, name: str) -> np.ndarray:
    """Return `values`, (n, d), or raise an error that says how many rows hold NaN or infinite values."""
    n_bad = int((~np.isfinite(values)).any(axis=1).sum())
    if n_bad:
        raise ValueError(f"{name}: {n_bad} of {len(values)} hold NaN or infinite coordinates; wanted finite ones.")
    return values


def squares(values: np.ndarray, name: str, *, least: bool = False) -> np.ndarray:
    """Return coordinates whose squares are numbers, or raise an error; with `least` also if these would be zero."""
    size, largest = _size(values), LARGEST_OF_SQUARES
    if size > largest or (least and 0 < size < 1 / largest):
        raise ValueError(
            f"{name}: the largest coordinate is {size:.3g} in size; wanted from {1 / largest:g} to {largest:g}, as "
            "squares must be numbers too. Give them in other units."
        )
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
        raise ValueError(f"{name}: {len(wrong)} of {n} are out of range, as {wrong[0]:g}; wanted {low:g} to {high:g}.")
    return given


def node(value: Any, name: str, n_nodes: int) -> int:
    """Return the number of a node as an int, or raise an error that names the range."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={said(value)} is a {type(value).__name__}; wanted a node, from 0 to {n_nodes - 1}.")
    if not 0 <= int(value) < n_nodes:
        raise ValueError(f"{name}={said(value)} is not a node; wanted a number from 0 to {n_nodes - 1}.")
    return int(value)


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


def text(value: Any, name: str) -> str:
    """Return `value` if it is text, or raise an error that names it."""
    if not isinstance(value, str):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; wanted a string.")
    return value


def texts(value: Any, name: str) -> list[str]:
    """Return one name, or several, as a list, or raise an error that names what is none."""
    if isinstance(value, str):
        return [value]
    several = isinstance(value, Iterable) and not isinstance(value, bytes | Mapping | Set)
    if not several or (isinstance(value, np.ndarray) and value.ndim != 1):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; wanted a name (str), or a list of names.")
    given = list(value)
    wrong = [one for one in given if not isinstance(one, str)]
    if wrong:
        raise TypeError(f"{name}: {wrong[0]!r} is a {type(wrong[0]).__name__}; wanted names (str).")
    return [str(one) for one in given]


def is_list(value: Any) -> bool:
    """Whether `value` is a list, a tuple or an array with one dimension at least, and no text."""
    listed = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return listed or (isinstance(value, np.ndarray) and value.ndim > 0)


def path(value: Any, name: str) -> Path:
    """Return the name of a file as a path, or raise an error that names it."""
    if not isinstance(value, str | PathLike) or not str(value) or "\0" in str(value):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; wanted the name of a file.")
    return Path(value)
