"""What every fit asks of its input, before it does any work."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from .lazy import is_lazy

# sizes of numbers, and one over them, that may be taken
LARGEST = 1e50  # where fourth powers, and sums of many, must be numbers still
LARGEST_OF_SQUARES = 1e145  # where squares must


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
    if hasattr(X, "obsm") and hasattr(X, "uns"):
        raise TypeError(f"{name} is an {type(X).__name__}; for these use skeltraj.tl, or give one of its matrices.")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            f"{name} has {int(np.ma.count_masked(X))} masked value(s); wanted all of them. Fill them first."
        )
    streamed = streams and is_streamed(X)
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
        X = np.asarray(X)
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


def number(value: Any, name: str, *, above: float | None = None, at_least: float | None = None) -> float:
    """Return `value` as a float, or raise an error that names it and the range that was wanted."""
    wanted = "a number"
    if above is not None:
        wanted += f" > {above:g}"
    if at_least is not None:
        wanted += f" >= {at_least:g}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; wanted {wanted}.")
    x = float(value)
    if not np.isfinite(x) or (above is not None and x <= above) or (at_least is not None and x < at_least):
        raise ValueError(f"{name}={value!r} is out of range; wanted {wanted}.")
    return x


def number_or_inf(value: Any, name: str, *, above: float) -> float:
    """Return `value` as a float > `above`, or infinity."""
    return np.inf if isinstance(value, Real) and float(value) == np.inf else number(value, name, above=above)


def number_or_auto(value: Any, name: str, *, above: float) -> float | None:
    """Return `value` as a float > `above`, or None for "auto"."""
    return None if isinstance(value, str) and value == "auto" else number(value, name, above=above)


def count(value: Any, name: str, *, at_least: int = 1, at_most: int | None = None, why: str = "") -> int:
    """Return `value` as an int, or raise an error that names it and the range that was wanted."""
    wanted = f"a whole number from {at_least}" + (f" to {at_most}" if at_most is not None else " up")
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; wanted {wanted}.")
    n = int(value)
    if n < at_least or (at_most is not None and n > at_most):
        raise ValueError(f"{name}={value!r} is out of range; wanted {wanted}{why}.")
    return n


def generator(value: Any) -> np.random.Generator:
    """Return `rng`, a seed or a generator of either of numpy's kinds, as a Generator; else an error that names it."""
    if isinstance(value, np.random.RandomState):
        value = value.randint(0, 1 << 32, size=4, dtype=np.uint32)
    wanted = "a whole number from 0 up, or a numpy.random.Generator"
    if isinstance(value, bool | str | float):
        raise TypeError(f"rng={value!r} is a {type(value).__name__}; wanted {wanted}.")
    try:
        return np.random.default_rng(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"rng={value!r} is no seed; wanted {wanted}.") from error


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
        raise ValueError(f"{name}={value!r} is not known. Available: {options}.")
    return value


def coordinates(value: Any, name: str, n_components: int | None = None) -> np.ndarray:
    """Return points as a float64 array, (n, n_components), or raise an error that names what was wanted."""
    array = np.asarray(value)
    width = "n_components" if n_components is None else n_components
    if array.ndim != 2 or (n_components is not None and array.shape[1] != n_components):
        raise ValueError(f"{name}: an array of shape {array.shape} was given; wanted (n, {width}).")
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name}: entries are of type {array.dtype}; wanted real numbers.")
    return array.astype(np.float64, copy=False)


def assignment(value: Any, shape: tuple[int, int]) -> Any:
    """Return an assignment of points to nodes, (n, n_nodes), as CSR or a dask array, or raise an error.

    Dense ones are taken as well.
    """
    given = np.shape(value)
    if given != shape:
        raise ValueError(f"assignment has shape {given}; wanted {shape}, points by nodes.")
    if not shape[0]:
        return sparse.csr_matrix(shape)
    R = matrix(value, name="assignment", min_obs=1, streams=True)
    if is_streamed(R):
        return R
    R = sparse.csr_matrix(R, dtype=np.float64)
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
    array = np.asarray(value)
    if array.shape != (n,) or array.dtype != bool:
        raise ValueError(f"{name} is of shape {array.shape} and type {array.dtype}; wanted {n} of True and False.")
    if not array.any():
        raise ValueError(f"{name}: none of {n} points is {name}; wanted some.")
    return array


def column(value: Any, name: str, n: int, low: float, high: float = np.inf) -> np.ndarray:
    """Return finite numbers from `low` to `high` as a float64 array, (n,), or raise an error."""
    array = np.asarray(value)
    if array.shape != (n,) or array.dtype.kind not in "fiub":
        raise ValueError(f"{name} is of shape {array.shape} and type {array.dtype}; wanted {n} numbers.")
    array = array.astype(np.float64, copy=False)
    wrong = array[~((array >= low) & (array <= high) & np.isfinite(array))]
    if len(wrong):
        raise ValueError(f"{name}: {len(wrong)} of {n} are out of range, as {wrong[0]:g}; wanted {low:g} to {high:g}.")
    return array


def node(value: Any, name: str, n_nodes: int) -> int:
    """Return the number of a node as an int, or raise an error that names the range."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; wanted a node, from 0 to {n_nodes - 1}.")
    if not 0 <= int(value) < n_nodes:
        raise ValueError(f"{name}={value} is not a node; wanted a number from 0 to {n_nodes - 1}.")
    return int(value)


def numbers(value: Any, name: str, n: int, of: str, width: int | None = None) -> np.ndarray:
    """Return numbers from 0 to n - 1 as an int64 array, (m,) or (m, width), or raise an error that names a wrong one.

    `of` says what is numbered, in the plural.
    """
    array = np.asarray(value)
    shape = "(m,)" if width is None else f"(m, {width})"
    if not array.size and array.dtype.kind == "f":  # an empty list
        array = array.reshape((0,) if width is None else (0, width)).astype(np.int64)
    if array.ndim != (1 if width is None else 2) or (width is not None and array.shape[1] != width):
        raise ValueError(f"{name}: an array of shape {array.shape} was given; wanted {shape}.")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: entries are of type {array.dtype}; wanted whole numbers, of {of}.")
    wrong = array[(array < 0) | (array >= n)]
    if len(wrong):
        raise ValueError(f"{name}: there is no {wrong[0]} among {n} {of}; wanted numbers from 0 to {n - 1}.")
    return array.astype(np.int64, copy=False)
