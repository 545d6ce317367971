"""Input as hostile as files and sessions hold it, and what a call must do with it: work, or say what is wrong."""

from __future__ import annotations

import dis
import os
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import numpy as np
import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st
from scipy import sparse

import skeltraj

_HOME = os.path.dirname(skeltraj.__file__) + os.sep
_RAISE = dis.opmap["RAISE_VARARGS"]

# What a call may raise of what it was given.
ERRORS = (ValueError, TypeError, KeyError)


class Answer:
    """What a call gave: its `result`, the `error` that it raised, or neither yet."""

    def __init__(self) -> None:
        self.result: object = None
        self.error: Exception | None = None

    @property
    def worked(self) -> bool:
        return self.error is None


def answered(call, *args, errors=ERRORS, names=(), elsewhere=(), warned=(), **kwargs) -> Answer:
    """Call something with what may be wrong: it must work without a warning of others, or raise in its own words.

    Parameters
    ----------
    call
        What to call.
    args, kwargs
        Its arguments.
    errors
        What it may raise.
    names
        Words of which the message must have one: the arguments that may be wrong. Empty: any message will do.
    elsewhere
        Parts of paths of files of other packages that may raise as well.
    warned
        Kinds of warnings of others that users are meant to see.
    """
    answer = Answer()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer.result = call(*args, **kwargs)
        except errors as error:
            answer.error = error
    theirs = [w for w in caught if not (_ours(w) or _of_themselves(w) or issubclass(w.category, tuple(warned)))]
    assert not theirs, f"warned {theirs[0].category.__name__}: {theirs[0].message}, {theirs[0].filename}"
    if answer.error is not None:
        assert raised_in_own_words(answer.error.__traceback__, elsewhere), (
            "raised by what is called within: " + "".join(traceback.format_exception(answer.error))
        )
        message = str(answer.error)
        assert not names or any(name in message for name in names), f"names none of {list(names)}: {message}"
    return answer


def _ours(warning: warnings.WarningMessage) -> bool:
    """Whether a warning is one that users are meant to see, at their own line, or anndata's of their names."""
    if str(warning.message).endswith("_names_make_unique`."):
        return True
    return issubclass(warning.category, UserWarning) and not warning.filename.startswith(_HOME)


def _of_themselves(warning: warnings.WarningMessage) -> bool:
    """Whether dependencies warn of one another's future."""
    futures = (DeprecationWarning, FutureWarning, PendingDeprecationWarning)
    return issubclass(warning.category, futures) and not warning.filename.startswith(_HOME)


def raised_in_own_words(trace: TracebackType | None, elsewhere=()) -> bool:
    """Whether an error comes from a raise statement of this package (or of files that have one of `elsewhere`)."""
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    if any(part in code.co_filename for part in elsewhere):
        return True
    return code.co_filename.startswith(_HOME) and code.co_code[trace.tb_lasti] == _RAISE


def share_of_examples(share: float, least: int = 3):
    """Settings with this share of the profile's examples, for calls that take long."""
    return settings(max_examples=max(least, round(share * settings.default.max_examples)))


# Numbers and what stands in their place.

NUMBERS = [
    0, 1, 2, 3, -1, 0.0, -0.0, 0.5, 1.5, -0.5, 1e-300, 1e300, 1e-12, 1e12, 10**9, 10**400, -(10**400), 2**63, 2**64,
    float("nan"), float("inf"), -float("inf"),
]  # fmt: skip
NUMPY_NUMBERS = [
    np.int8(1), np.uint64(2), np.int64(-1), np.float16(0.5), np.float32(1), np.float64("nan"), np.longdouble(1),
    np.bool_(True), np.complex128(1), np.array(1), np.array(0.5), np.str_("a"), np.datetime64("2020-01-01"),
]  # fmt: skip
OTHERS = [
    "a", "", "auto", "all", "soft", b"a", None, True, False, 1j, pd.NA, pd.NaT, [], [1], [0, 1], (), (1, 2), {},
    {"a": 1}, {1}, np.array([]), np.array([1.0, np.nan]), np.zeros((2, 2)), object(), len, range(3), slice(None), ...,
]  # fmt: skip


def scalars() -> st.SearchStrategy:
    """Any value in the place of a number, a word or a flag."""
    return st.one_of(
        st.sampled_from(NUMBERS),
        st.sampled_from(NUMPY_NUMBERS),
        st.sampled_from(OTHERS),
        st.integers(-5, 50),
        st.floats(allow_nan=False, width=32),
    )


# Matrices.

DTYPES = [
    "f8", "f4", "f2", "g", ">f8", "i1", "i8", "u1", "u8", ">i4", "bool", "object", "c16", "U8", "S4", "M8[s]", "m8[s]",
]  # fmt: skip
DENSE = ["C", "F", "strided", "turned", "read-only", "memmap", "masked", "partly masked", "matrix", "list", "frame"]
SPARSE = ["csr", "csc", "coo", "lil", "dok", "dia", "bsr", "twice", "csr_array", "csc_array", "coo_array"]
LAZY = ["dask", "dask of sparse", "dask of odd chunks", "dask of unknown chunks"]
ODD = ["ragged", "one-dimensional", "three-dimensional", "frame with NA", "anndata", "none", "text", "number", "empty"]
SHAPES = [
    "arms", "noise", "counts", "line", "constant", "zero", "constant columns", "duplicates", "two places", "one apart",
]  # fmt: skip
SPOILED = ["nothing", "nothing", "nothing", "NaN", "inf", "-inf", "huge", "tiny", "big number"]


def points(shape: str, n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Finite points of a shape, (n, d)."""
    X = rng.standard_normal((n, d))
    if shape == "arms":
        ends = rng.standard_normal((3, d))
        X = rng.random((n, 1)) * ends[rng.integers(0, 3, n)] + 0.05 * X
    elif shape == "counts":
        X = rng.poisson(2.0, (n, d)).astype(float)
    elif shape == "line":
        X = np.outer(rng.random(n), rng.standard_normal(d))
    elif shape == "constant":
        X = np.full((n, d), rng.standard_normal())
    elif shape == "zero":
        X = np.zeros((n, d))
    elif shape == "constant columns":
        X[:, 1:] = rng.standard_normal(d - 1)
    elif shape == "duplicates":
        X = X[rng.integers(0, max(1, n // 3), n)]
    elif shape == "two places":
        X = X[np.minimum(np.arange(n), 1)]
    elif shape == "one apart":
        X = np.zeros((n, d))
        X[-1] = 1.0
    return X


@st.composite
def values(draw, n_obs=st.integers(1, 30), n_features=st.integers(1, 6), likely_fine=False) -> np.ndarray:
    """A float64 matrix of any shape, size of numbers and faults in it."""
    n, d = draw(n_obs), draw(n_features)
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    X = points(draw(st.sampled_from(SHAPES[: 4 if likely_fine else None])), n, d, rng)
    if not draw(st.booleans()) and not likely_fine:
        X = X * 10.0 ** draw(st.integers(-300, 300))
    if draw(st.integers(0, 3)) == 3:
        X = X + draw(st.sampled_from([1.0, -1e3, 1e8]))
    if not likely_fine:
        spoiled = draw(st.sampled_from(SPOILED))
        if spoiled != "nothing":
            at = tuple(rng.integers(0, X.shape))
            X[at] = {"NaN": np.nan, "inf": np.inf, "-inf": -np.inf, "huge": 1e300, "tiny": 1e-300}.get(spoiled, 2.0**63)
    return X


@st.composite
def matrices(draw, n_obs=st.integers(1, 30), n_features=st.integers(1, 6), lazy=True, odd=True) -> object:
    """A matrix of any type, order, kind of storage, shape, size of numbers and faults; or what is none."""
    X = draw(values(n_obs, n_features, likely_fine=draw(st.booleans())))
    kinds = ["C", *DENSE, *SPARSE, *(LAZY if lazy else []), *(ODD if odd else [])]
    return contained(X, draw(st.sampled_from(["f8", "f8", "f8", *DTYPES])), draw(st.sampled_from(kinds)))


def contained(X: np.ndarray, dtype: str, kind: str) -> object:
    """A matrix in another type and kind of storage."""
    with _quiet():
        return _CONTAINED.get(kind, _plain)(_as_type(X, dtype), kind)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without warnings of numbers that a type cannot hold."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _as_type(X: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "object":
        return np.array(X.tolist() if X.size else X, dtype=object).reshape(X.shape)
    if dtype in ("M8[s]", "m8[s]"):
        return np.nan_to_num(X).astype("i8").astype(dtype)
    if dtype == "c16":
        return X + 1j
    return X.astype(dtype)


def _plain(X: np.ndarray, kind: str) -> object:
    if kind == "F":
        return np.asfortranarray(X)
    if kind == "strided":
        return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    if kind == "turned":
        return X[::-1, ::-1].copy()[::-1, ::-1]
    if kind == "read-only":
        X = X.copy()
        X.flags.writeable = False
    return X


def _memmap(X: np.ndarray, kind: str) -> object:
    if X.dtype.hasobject or not X.size:
        return X
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    return mapped


def _masked(X: np.ndarray, kind: str) -> object:
    mask = np.zeros(X.shape, dtype=bool)
    if kind == "partly masked":
        mask.flat[0] = True
    return np.ma.MaskedArray(X, mask=mask)


def _sparse(X: np.ndarray, kind: str) -> object:
    if X.dtype.kind not in "fiubc" or X.dtype in (np.float16, np.dtype(">f8"), np.dtype(">i4")):
        X = np.nan_to_num(np.arange(X.size, dtype=float).reshape(X.shape))
    if kind == "twice":  # every entry in two parts, out of order
        rows, columns = np.indices(X.shape).reshape(2, -1)[:, ::-1]
        half = X.ravel()[::-1] / 2
        return sparse.coo_matrix((np.r_[half, half], (np.r_[rows, rows], np.r_[columns, columns])), shape=X.shape)
    form, _, array = kind.partition("_")
    return getattr(sparse, f"{form}_{array or 'matrix'}")(X)


def _lazy(X: np.ndarray, kind: str) -> object:
    import dask.array as da

    chunks = (max(1, len(X) // 2), -1)
    if kind == "dask of odd chunks":
        chunks = (1, 1)
    lazy = da.from_array(X, chunks=chunks)
    if kind == "dask of sparse":
        return lazy.map_blocks(sparse.csr_matrix) if X.dtype in (np.float32, np.float64) else lazy
    if kind == "dask of unknown chunks":
        return lazy[da.from_array(np.ones(len(X), dtype=bool), chunks=chunks[0])]
    return lazy


def _frame(X: np.ndarray, kind: str) -> object:
    frame = pd.DataFrame(X)
    if kind == "frame with NA" and len(frame):
        frame = frame.astype(object)
        frame.iloc[0, 0] = pd.NA
    return frame


def _anndata(X: np.ndarray, kind: str) -> object:
    import anndata

    return anndata.AnnData(np.zeros((3, 2)))


_CONTAINED = {
    "memmap": _memmap,
    "masked": _masked,
    "partly masked": _masked,
    "matrix": lambda X, kind: np.asmatrix(X),
    "list": lambda X, kind: X.tolist(),
    "frame": _frame,
    "frame with NA": _frame,
    **dict.fromkeys(SPARSE, _sparse),
    **dict.fromkeys(LAZY, _lazy),
    "ragged": lambda X, kind: [*X.tolist(), [1.0]],
    "one-dimensional": lambda X, kind: X.ravel(),
    "three-dimensional": lambda X, kind: X[None],
    "anndata": _anndata,
    "none": lambda X, kind: None,
    "text": lambda X, kind: "text",
    "number": lambda X, kind: 1.0,
    "empty": lambda X, kind: X[:0],
}


# One value for each of n points.


@st.composite
def columns(draw, n: int, codes: bool | None = None) -> object:
    """Values of n points, or of some others, of any type and with any faults: numbers, codes (`codes`), or flags."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    length = draw(st.sampled_from([n, n, n, n, n - 1, n + 1, 0, 1]))
    whole = draw(st.booleans()) if codes is None else codes
    column = rng.integers(-1, 3, length) if whole else rng.standard_normal(length)
    kind = draw(st.sampled_from(["f8", "i8", "as it is", "as it is", "as it is", *DTYPES]))
    with _quiet():
        if kind != "as it is":
            column = _as_type(np.asarray(column, dtype=float), kind)
        if column.dtype.kind in "fO" and length:
            column[rng.integers(length)] = draw(st.sampled_from([0.0, np.nan, np.inf, 1e300, -1.0, 1e-300]))
    return draw(
        st.sampled_from(
            [column, column, column, column.tolist(), pd.Series(column), np.tile(column[:, None], 2), column[::-1]]
        )
        | st.just(_lacking(column))
        | scalars()
    )


def _lacking(column: np.ndarray) -> object:
    """A pandas array with a missing value."""
    return pd.array([pd.NA, *column.tolist()[1:]]) if column.dtype.kind in "fi" and len(column) else column


# Skeletons: nodes and edges.


@st.composite
def trees(draw, n_nodes=st.integers(2, 12), d=st.integers(1, 4), parts=1) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and edges of a tree, or a forest, as arrays that are as they should be."""
    n = draw(n_nodes)
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    nodes = rng.standard_normal((n, draw(d)))
    if draw(st.integers(0, 4)) == 4:
        nodes = np.round(nodes)  # some at the same place
    edges = np.array([(rng.integers(i), i) for i in range(1, n)], dtype=np.int64).reshape(-1, 2)
    cut = min(parts - 1, len(edges))
    return nodes, edges[cut:] if cut else edges


@st.composite
def skeletons(draw) -> tuple[object, object]:
    """Nodes and edges with any faults: loops, forests, nodes alone, doubled edges, wrong numbers, types, shapes."""
    nodes, edges = draw(trees(parts=draw(st.integers(1, 3))))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    n = len(nodes)
    fault = draw(
        st.sampled_from(
            "none|none|loop|doubled|to itself|too large|negative|float|flat|wide|turned|no edges|unsigned|NaN node|"
            "huge|text|list|object|at one place".split("|")
        )
    )
    if fault == "loop":
        edges = np.vstack([edges, [[0, n - 1]]]) if n > 2 else edges
    elif fault == "doubled":
        edges = np.vstack([edges, edges[:1, ::-1]])
    elif fault == "to itself":
        edges = np.vstack([edges, [[0, 0]]])
    elif fault == "too large":
        edges = np.vstack([edges, [[0, n]]])
    elif fault == "negative":
        edges = np.vstack([edges, [[0, -1]]])
    elif fault == "float":
        edges = edges.astype(float)
    elif fault == "flat":
        edges = edges.ravel()
    elif fault == "wide":
        edges = np.hstack([edges, edges])[:, :3]
    elif fault == "turned":
        edges = edges[::-1, ::-1]
    elif fault == "no edges":
        edges = edges[:0]
    elif fault == "unsigned":
        edges = edges.astype(np.uint8)
    elif fault == "NaN node":
        nodes[rng.integers(n), 0] = np.nan
    elif fault == "huge":
        nodes = nodes * 10.0 ** draw(st.integers(-300, 300))
    elif fault == "text":
        nodes = nodes.astype(str)
    elif fault == "list":
        return nodes.tolist(), edges.tolist()
    elif fault == "object":
        nodes = nodes.astype(object)
    elif fault == "at one place":
        nodes = np.zeros_like(nodes)
    return nodes, edges
