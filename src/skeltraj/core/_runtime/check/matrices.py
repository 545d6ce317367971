"""Matrices of points by columns: dense, sparse, of dask, on disk."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from skeltraj._printing import told_apart
from skeltraj.core._runtime.lazy import is_lazy, loaded

from .arrays import array, as_float, refuse_masked, size_of
from .values import in_message

# size of numbers, and one over it, that may be taken where fourth powers, and sums of many, must be numbers still
LARGEST = 1e50


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
        raise TypeError(f"name={in_message(name)} is a {type(name).__name__}; wanted what messages call the matrix.")
    if hasattr(X, "obsm") and hasattr(X, "uns"):
        raise TypeError(f"{name} is an {type(X).__name__}; for these use skeltraj.tl, or give one of its matrices.")
    streamed = streams and is_streamed(X)
    X = X if streamed else loaded(X)
    values: Any
    if streamed:
        values = None
    elif sparse.issparse(X):
        if len(X.shape) == 2:
            X = _summed(entries(X, name).tocsr())
        values = X.data
    else:
        X = array(X, name)
        values = X
    _refuse_shape_or_type(X, name, min_obs)
    may_be_masked = streamed and isinstance(getattr(X, "_meta", None), np.ma.MaskedArray)  # of dask, whole numbers too
    if X.dtype.kind == "f" or may_be_masked:
        seen = list(_seen_streamed(X, name) if streamed else map(_seen, _pieces(values)))
        bad = sum(n for n, _ in seen)
        if bad:
            raise ValueError(
                f"{name} holds {bad} value(s) that are NaN or infinite, out of {X.shape[0]} x {X.shape[1]}; "
                "wanted finite numbers. Remove or impute them first."
            )
        _in_range(max((size for _, size in seen), default=0.0), name, largest, learns=min_obs > 1)
    return X


def _refuse_shape_or_type(X: Any, name: str, min_obs: int) -> None:
    """Raise unless it is a matrix of real numbers, with rows and columns enough."""
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


def dense(X: Any, name: str, *, min_obs: int = 1) -> np.ndarray:
    """Return a finite real matrix, dense or sparse, as a new C-ordered float64 array; errors as those of `matrix`."""
    X = matrix(X, name=name, min_obs=min_obs)
    return np.array(X.toarray() if sparse.issparse(X) else X, dtype=np.float64, order="C")


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


def entries(X: Any, name: str) -> Any:
    """Return a sparse matrix with one entry at most at a place, or raise an error if it has some outside its shape.

    SciPy does not look where a matrix is made from arrays of indices or these are changed, and compiled code, its own
    as well, writes and reads where they say. Where there are several entries at a place, or numbers in the byte order
    of other machines, the matrix is copied.
    """
    X = _native(X)
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
    return _summed(X)


def _summed(X: Any) -> Any:
    """A sparse matrix with one entry at most at a place, sorted; what it is made of stays as it is."""
    if X.format == "bsr":
        X = X.tocsr()  # SciPy sums no blocks
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _native(X: Any) -> Any:
    """A sparse matrix with its numbers in the byte order of this machine, which SciPy and compiled code want.

    SciPy makes no other, but its arrays may be replaced, as by those of a file from elsewhere.
    """
    names = {"csr": ("data", "indices", "indptr"), "coo": ("data", "row", "col")}
    names |= dict.fromkeys(("csc", "bsr"), names["csr"])
    foreign = [name for name in names.get(X.format, ()) if not getattr(X, name).dtype.isnative]
    if foreign:
        X = copy(X)  # its arrays are shared
        for name in foreign:
            values = getattr(X, name)
            setattr(X, name, values.astype(values.dtype.newbyteorder("=")))
    return X


def _within(numbers: np.ndarray, n: int) -> bool:
    whole = numbers.dtype in (np.int32, np.int64)  # SciPy's own
    return whole and (not len(numbers) or bool(0 <= numbers.min() and numbers.max() < n))


def is_streamed(X: Any) -> bool:
    """Whether `X` is a dask array or a matrix on disk, which are read a part at a time."""
    return not hasattr(X, "__array_interface__") and (is_lazy(X) or _on_disk(X))


def _in_range(size: float, name: str, largest: float, *, learns: bool) -> None:
    if size > largest or (learns and 0 < size < 1 / largest):
        shown, _ = told_apart(size, largest)
        raise ValueError(
            f"{name}: its largest entry is {shown} in size; wanted from {1 / largest:g} to {largest:g}, as products "
            "of entries must be numbers too. Give it in other units."
        )


def _on_disk(X: Any) -> bool:
    sliceable = hasattr(X, "shape") and hasattr(X, "__getitem__") and not sparse.issparse(X)
    return sliceable and isinstance(getattr(X, "dtype", None), np.dtype)


def _seen(part: Any, name: str = "") -> tuple[int, float]:
    """How many entries are not finite, and the size of the largest."""
    refuse_masked(part, name)
    values = entries(part, name).data if sparse.issparse(part) else np.asarray(part)
    size = size_of(values)
    return 0 if np.isfinite(size) else int(np.count_nonzero(~np.isfinite(values))), size


def _seen_streamed(X: Any, name: str) -> Iterable[tuple[int, float]]:
    """The same of parts of a matrix that is not in memory, in one pass."""
    if is_lazy(X):
        import dask

        return dask.compute(*(dask.delayed(_seen)(block, name) for block in X.to_delayed().ravel()))
    step = max(1, (1 << 22) // X.shape[1])
    return (_seen(X[i : i + step], name) for i in range(0, X.shape[0], step))


def _pieces(values: np.ndarray, size: int = 1 << 18) -> Iterable[np.ndarray]:
    """Parts of an array of about `size` entries: a check looks at each twice, while it is in the processor's cache."""
    step = max(1, size // max(1, values[:1].size))
    return (values[i : i + step] for i in range(0, len(values), step))
