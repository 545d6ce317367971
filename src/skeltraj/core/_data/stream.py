"""A matrix that is read a block of rows at a time, as a fit wants its columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skeltraj.core._runtime import check
from skeltraj.core._runtime.lazy import is_lazy, loaded

_MAX_BLOCK_ENTRIES = 1 << 24  # numbers that a block may take once it is filled: 128 MiB; chosen by eye
_MAX_BLOCK_ROWS = 4096  # chosen by eye


@dataclass(frozen=True, repr=False, eq=False)
class Stream:
    """Rows of a matrix, some of its columns, projected where there are loadings; never held as a whole.

    Parameters
    ----------
    X
        (n_obs, n_columns), dense, sparse, a dask array, or a matrix on disk that can be sliced.
    columns
        Which columns, in this order; None: all.
    loadings
        Axes on which the rows are projected, (number of columns taken, n_features); None: not at all.
    mean
        What is subtracted from the rows before they are projected; None: nothing.
    name
        What messages call X.
    """

    X: Any
    columns: np.ndarray | None = None
    loadings: np.ndarray | None = None
    mean: np.ndarray | None = None
    name: str = "X"

    @property
    def n_obs(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Columns of a block."""
        if self.loadings is not None:
            return int(self.loadings.shape[1])
        return int(self.X.shape[1]) if self.columns is None else len(self.columns)

    def blocks(self, size: int | None = None) -> Iterator[tuple[slice, np.ndarray | sparse.csr_matrix]]:
        """Blocks of at most `size` rows with their places; an error at the first value that is not finite.

        By default as many rows as hold 2^24 numbers, at most 4,096. Of a dask array a chunk is computed at a time.
        """
        size = size or max(1, min(_MAX_BLOCK_ROWS, _MAX_BLOCK_ENTRIES // max(1, int(self.X.shape[1]))))
        for first, X in self._parts():
            for i in range(0, X.shape[0], size):
                block = X[i : i + size]
                at = slice(first + i, first + i + block.shape[0])
                yield at, self._taken(block, f"{self.name}, rows {at.start} to {at.stop - 1},")

    def rows(self, chosen: np.ndarray) -> np.ndarray | sparse.csr_matrix:
        """Some rows, by their numbers in rising order."""
        part = self.X[chosen]
        return self._taken(loaded(part), self.name)

    def _parts(self) -> Iterator[tuple[int, Any]]:
        X = self.X
        if not is_lazy(X):
            yield 0, X.tocsr() if sparse.issparse(X) else X
            return
        bounds = np.concatenate([[0], np.cumsum(X.chunks[0])]).astype(int)
        for i, j in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            if j > i:
                yield i, X[i:j].compute()

    def _taken(self, block: Any, name: str) -> Any:
        if self.columns is not None:
            block = (block.tocsr() if sparse.issparse(block) else np.asarray(block))[:, self.columns]
        block = check.matrix(block, name=name, min_obs=1, largest=check.LARGEST_OF_SQUARES)
        if self.loadings is None:
            return block
        scores = block @ self.loadings
        return scores if self.mean is None else scores - self.mean @ self.loadings


def column_means(stream: Stream) -> np.ndarray:
    """Means of the columns that are taken, (n_columns,), in one pass."""
    total = np.zeros(stream.n_features)
    for _, block in stream.blocks():
        # of a sparse block `sum` rounds to the block's own precision, whatever its dtype
        total += np.ones(block.shape[0]) @ block if sparse.issparse(block) else block.sum(axis=0, dtype=np.float64)
    return total / stream.n_obs
