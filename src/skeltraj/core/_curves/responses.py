"""Responses as columns of a matrix that is read a block of columns at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from skeltraj.core._data.canonical_order import row_keys
from skeltraj.core._data.stream import Stream
from skeltraj.core._runtime import check
from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.lazy import in_memory
from skeltraj.core._runtime.threads import ordered_map

_BLOCK_ENTRIES = 1 << 21  # numbers of a dense block: 16 MiB; chosen by eye
_MAX_BLOCK = 64  # responses in a block
_PART_BYTES = 1 << 29  # of the columns that are held at a time of a matrix that is not in memory; chosen by eye


class Responses:
    """Columns of a matrix, one for each response, of some of its rows; only a few of them are ever dense.

    Parameters
    ----------
    Y
        (n_all, n_responses), dense (NaN: unknown), sparse, a dask array, or a matrix on disk that can be sliced.
    rows
        Which rows to take, (n_obs,); those that follow one another and are `alike` come in the order of their values.
    n_all
        Rows that there must be.
    alike
        For each of the rows, whether it is to be told from the one before by its values alone, (n_obs,); None: not.
    counts
        Whether entries must be whole numbers from 0 up.
    yes_or_no
        Whether they must be 0 or 1.
    names
        What messages call the columns.
    name
        What messages call Y.

    Attributes
    ----------
    rows
        Which rows are taken, in their order, (n_obs,).
    """

    def __init__(
        self,
        Y: Any,
        rows: np.ndarray,
        n_all: int,
        alike: np.ndarray | None = None,
        *,
        counts: bool = False,
        yes_or_no: bool = False,
        names: Sequence[str] | None = None,
        name: str = "Y",
    ) -> None:
        if sparse.issparse(Y) or check.is_streamed(Y):
            if len(Y.shape) != 2 or np.dtype(Y.dtype).kind not in "fiub":
                raise TypeError(f"{name} is of shape {Y.shape} and type {Y.dtype}; wanted a matrix of real numbers.")
        else:
            Y = check.array(Y, name)
            if Y.ndim != 2 or Y.dtype.kind not in "fiub":
                raise TypeError(
                    f"{name} is an array of shape {Y.shape} and type {Y.dtype}; wanted a matrix of real numbers."
                )
        if not Y.shape[1]:
            raise ValueError(f"{name} has no columns: shape {Y.shape}; wanted at least one.")
        if Y.shape[0] != n_all:
            raise ValueError(f"{name} has {Y.shape[0]} rows, the positions are {n_all}; wanted the same points.")
        self._names = check.words(names, "names", int(Y.shape[1]), "responses")
        self._name = name
        if sparse.issparse(Y):
            Y = check.entries(Y, name)
        self.rows = rows if alike is None else _by_values(Y, rows, alike, name)
        self._Y = Y.tocsc() if sparse.issparse(Y) else Y
        self._place = np.full(n_all, -1)  # of each row of Y in the order that is wanted
        self._place[self.rows] = np.arange(len(rows))
        self._counts, self._yes_or_no = counts, yes_or_no
        self.n_obs = len(rows)
        self.n_responses = int(Y.shape[1])

    def map(
        self, function: Callable[[slice, np.ndarray], tuple[np.ndarray, ...]], done: Callable[[int], None] | None = None
    ) -> tuple[np.ndarray, ...]:
        """``function(at, block)`` of all blocks, (n_block, n_obs) each, its arrays joined; `done` hears of each."""
        size = int(np.clip(_BLOCK_ENTRIES // max(self.n_obs, 1), 1, _MAX_BLOCK))
        results: list[tuple[np.ndarray, ...]] = []
        for first, part in self._parts():

            def of(begin: int, first: int = first, part: Any = part) -> tuple[np.ndarray, ...]:
                end = min(begin + size, part.shape[1])
                at = slice(first + begin, first + end)
                result = function(at, self._block(part, begin, end, at))
                if done is not None:
                    done(end - begin)
                return result

            results += ordered_map(of, range(0, part.shape[1], size))
        return tuple(np.concatenate(arrays) for arrays in zip(*results, strict=True))

    def _block(self, part: Any, begin: int, end: int, at: slice) -> np.ndarray:
        """Some columns of a part as rows, (end - begin, n_obs), checked."""
        if not sparse.issparse(part):
            block = np.ascontiguousarray(np.asarray(part)[:, begin:end][self.rows].T, dtype=np.float64)
            self._check(block, lambda wrong: int(np.flatnonzero(wrong.any(axis=1))[0]), at)
            return block
        low, high = int(part.indptr[begin]), int(part.indptr[end])
        values, indices = part.data[low:high].astype(np.float64), part.indices[low:high].astype(np.int64)
        indptr = part.indptr[begin : end + 1].astype(np.int64) - low
        taken = self._place[indices] >= 0
        column = lambda wrong: int(np.searchsorted(indptr, np.flatnonzero(wrong)[0], side="right")) - 1
        self._check(values, column, at, taken)
        return scatter(indptr, indices, values, self._place, self.n_obs)

    def _check(
        self, values: np.ndarray, column: Callable[[np.ndarray], int], at: slice, taken: np.ndarray | bool = True
    ) -> None:
        """Raise if the family cannot have some values that are taken; `column` finds the first column with such."""
        wrong = np.abs(values) > (check.LARGEST_COUNT if self._counts else check.LARGEST)
        if self._counts:
            wrong |= ~(values >= 0) | (values != np.floor(values))
        elif self._yes_or_no:
            wrong |= (values != 0) & (values != 1) & ~np.isnan(values)
        wrong &= taken
        if not wrong.any():
            return
        j = column(wrong)
        label = f"column {at.start + j}" if self._names is None else repr(str(self._names[at.start + j]))
        wanted = f"numbers up to {check.LARGEST:g}"
        if self._counts:
            wanted = f"counts, whole numbers from 0 to {check.LARGEST_COUNT:g}"
        elif self._yes_or_no:
            wanted = "0 and 1"
        raise ValueError(f"{self._name}: {label} holds {values[wrong].flat[0]:g}; wanted {wanted}.")

    def _parts(self) -> Iterator[tuple[int, Any]]:
        """Columns that are held at a time, with the number of their first."""
        if in_memory(self._Y):
            yield 0, self._Y
            return
        size = self._held()
        for first in range(0, self.n_responses, size):
            columns = np.arange(first, min(first + size, self.n_responses))
            blocks = [block for _, block in Stream(self._Y, columns, name=self._name).blocks()]
            yield first, sparse.vstack(blocks).tocsc() if sparse.issparse(blocks[0]) else np.vstack(blocks)

    def _held(self) -> int:
        """Columns that may be held at a time, judged by the first rows."""
        _, rows = next(iter(Stream(self._Y, name=self._name).blocks()))
        entries: int = 2 * rows.nnz if isinstance(rows, sparse.csr_matrix) else rows.size
        per_column = 8 * entries / rows.shape[0] / self.n_responses * self._Y.shape[0]
        return int(np.clip(_PART_BYTES // max(per_column, 1), 1, self.n_responses))


def _by_values(Y: Any, rows: np.ndarray, alike: np.ndarray, name: str) -> np.ndarray:
    """Rows with those of every run that are alike in an order that depends on their values alone."""
    of_run = alike | np.r_[alike[1:], False]
    tied = np.flatnonzero(of_run)
    if not len(tied):
        return rows
    key = _keys(Y, rows[tied], name)
    rows = rows.copy()
    rows[tied] = rows[tied[np.lexsort((key, np.cumsum(~alike)[tied]))]]
    return rows


def _keys(Y: Any, rows: np.ndarray, name: str) -> np.ndarray:
    """Numbers that tell rows of Y apart by their values, (n_rows,)."""
    if not in_memory(Y):
        return np.concatenate([row_keys(block) for _, block in Stream(Y, name=name).blocks()])[rows]
    values = Y.tocsr()[rows] if sparse.issparse(Y) else Y[rows]
    if not sparse.issparse(values) and values.dtype.kind == "f":
        values = np.nan_to_num(values, nan=-1.0)
    return row_keys(values)


@compiled
def scatter(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, place: np.ndarray, n: int) -> np.ndarray:
    """Columns of a CSC matrix as rows, (n_columns, n): row i of the matrix comes to place[i], if that is >= 0."""
    block = np.zeros((len(indptr) - 1, n))
    for j in range(len(block)):
        for at in range(indptr[j], indptr[j + 1]):
            to = place[indices[at]]
            if to >= 0:
                block[j, to] += data[at]
    return block
