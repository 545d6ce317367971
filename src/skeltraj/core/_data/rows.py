"""The data as a fit sees them: rows in an order of their own, centred, one block at a time."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock, RLock
from typing import Any
from weakref import finalize

import numpy as np
from scipy import sparse

from skeltraj.core._geometry.assign import Entries, assign, node_index
from skeltraj.core._geometry.neighbors import k_nearest
from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.lazy import in_memory
from skeltraj.core._runtime.threads import Sums, ordered_map, sums_of_groups

from .blocks import BLOCK_ENTRIES, DenseBlock, SparseBlock, block_of, column_sums, even_rows, rows_of
from .canonical_order import canonical_order
from .row_blocks import Points, RowBlocks, Select, Visit

_MAX_BLOCKS_SAMPLED = 32  # of which points are held at once: the most threads that find work
_TWO_BLOCKS = 2000  # rows from which there are two blocks at least, so that two threads find work; by measurement
_KEPT_BYTES = 1 << 26  # blocks of dense data that are kept, of all fits at work; chosen by eye


class _MemoryBudget:
    """So many bytes, of which each takes a part until it is gone."""

    def __init__(self, n_bytes: int) -> None:
        self._left, self._lock = n_bytes, RLock()

    def take(self, n_bytes: int, owner: object) -> bool:
        """Whether there is room for that many more; they are free again when there is no `owner` any more."""
        with self._lock:
            if n_bytes > self._left:
                return False
            self._left -= n_bytes
        finalize(owner, self._give_back, n_bytes)
        return True

    def _give_back(self, n_bytes: int) -> None:
        with self._lock:  # an owner may end while this thread holds the lock
            self._left += n_bytes


_room = _MemoryBudget(_KEPT_BYTES)


class Rows(RowBlocks):
    """Rows of a matrix that can be sliced, in canonical order.

    The order is a function of the rows' values alone, so every sum over the rows, and every choice made along them,
    is the same to the last bit however the rows were given. Blocks are widened to float64 (dense) or kept sparse as
    they pass; `X` itself is neither copied nor widened, unless it is small, and all sums are float64. A float32 input
    therefore loses nothing but the digits that it never had. A matrix on disk is read block by block, in the order in
    which it is stored.

    Parameters
    ----------
    X
        Dense or CSR matrix, (n_obs, n_features), or one on disk that gives either when sliced.
    center
        Whether to subtract the column means (implicitly, block by block).
    order
        Canonical order of the rows, where it is known already.
    """

    in_memory = True

    def __init__(self, X: Any, *, center: bool, order: np.ndarray | None = None) -> None:
        self._X = X
        self.n_obs, self.n_features = X.shape
        self._on_disk = not in_memory(X)
        self._reading = Lock()
        self._kept: list[DenseBlock | None] = []
        self._memory = np.empty((0, self.n_features))  # of the blocks that are kept
        step = int(np.clip(BLOCK_ENTRIES // self.n_features, 64, 8192))
        if self.n_obs >= _TWO_BLOCKS:
            step = min(step, -(-self.n_obs // 2))
        self.slices = [slice(i, min(i + step, self.n_obs)) for i in range(0, self.n_obs, step)]
        if order is None:
            order = np.arange(self.n_obs) if self._on_disk else canonical_order(X)
        self.order = order
        self._sparse = sparse.issparse(X[:1])
        self.mean = np.zeros(self.n_features)
        if center:
            self.centre()
        self._step = even_rows(step)
        last = self.slices[-1]
        n_rows = (len(self.slices) - 1) * self._step + even_rows(last.stop - last.start)
        if self._dense_in_memory and _room.take(8 * n_rows * self.n_features, self):
            # in one piece, which takes fewer pages of memory than one for each block
            self._memory = np.empty((n_rows, self.n_features))
            self._kept = [None] * len(self.slices)

    @property
    def _dense_in_memory(self) -> bool:
        return not (self._on_disk or sparse.issparse(self._X))

    @property
    def n_bytes(self) -> int:
        """Bytes of memory that the matrix takes, of a sparse one its entries; 0 on disk."""
        return 0 if self._on_disk else int(self._X.data.nbytes)

    def block(self, i: int) -> DenseBlock | SparseBlock:
        """Block `i` of rows, centred."""
        if self._kept:
            kept = self._kept[i]
            if kept is None:
                rows = self.order[self.slices[i]]
                memory = self._memory[i * self._step :][: even_rows(len(rows))]
                kept = self._kept[i] = rows_of(self._X, rows, self.mean, memory)
            return kept
        at = self.slices[i]
        if self._on_disk:
            with self._reading:  # files are not read by several threads at once
                part = self._X[at.start : at.stop]
            return block_of(part if self._sparse or not sparse.issparse(part) else part.toarray(), self.mean)
        if sparse.issparse(self._X) and not self._sparse:
            return DenseBlock(self._X[self.order[at]].toarray().astype(np.float64, copy=False) - self.mean)
        if self._sparse:
            return SparseBlock(self._X[self.order[at]].astype(np.float64, copy=False), self.mean)
        return rows_of(self._X, self.order[at], self.mean)

    def column_sums(self) -> np.ndarray:
        if not self._dense_in_memory:
            return super().column_sums()

        def visit(sums: list[np.ndarray], i: int) -> None:
            sums[0] += column_sums(self._X, self.order[self.slices[i]])

        [total] = sums_of_groups(len(self.slices), lambda: [np.zeros(self.n_features)], visit)
        return total

    def fold(self, start: Callable[[], Sums], visit: Visit) -> Sums:
        return sums_of_groups(len(self.slices), start, lambda sums, i: visit(sums, i, self.block(i)))

    def project(self, V: np.ndarray) -> np.ndarray:
        out = np.empty((self.n_obs, V.shape[1]))

        def visit(i: int) -> None:
            out[self.slices[i]] = self.block(i).project(V)

        ordered_map(visit, range(len(self.slices)))
        return out

    def assigned(self, nodes: np.ndarray, sigma: float) -> sparse.csr_matrix:
        index = node_index(nodes)
        blocks: list[Any] = ordered_map(
            lambda i: assign(self.block(i).filled(), nodes, sigma, index).entries, range(len(self.slices))
        )
        counts = np.concatenate([np.diff(block.indptr) for block in blocks])

        def take(i: int) -> Entries:
            block, blocks[i] = blocks[i], None  # so that a block is freed once it is copied
            return block

        return self.placed(take, counts, len(nodes))

    def placed(self, block: Callable[[int], Entries], counts: np.ndarray, n_nodes: int) -> sparse.csr_matrix:
        """Assignment by blocks in the order in which the rows were given; `counts`: entries of each row."""
        indptr = np.zeros(self.n_obs + 1, dtype=np.int64)
        indptr[1 + self.order] = counts
        np.cumsum(indptr, out=indptr)
        indices, weights = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])

        def place(i: int) -> None:
            R = block(i)
            _place(R.indptr, R.indices, R.data, indptr[self.order[self.slices[i]]], indices, weights)

        ordered_map(place, range(len(self.slices)))
        return sparse.csr_matrix((weights, indices, indptr), shape=(self.n_obs, n_nodes))

    def sample(self, m: int, select: Select, points: Points) -> np.ndarray:
        chosen: list[np.ndarray] = []
        for first in range(0, len(self.slices), _MAX_BLOCKS_SAMPLED):
            numbers = range(first, min(first + _MAX_BLOCKS_SAMPLED, len(self.slices)))
            more = ordered_map(lambda i: points(i, self.block(i)), numbers)
            chosen = [select(np.concatenate([*chosen, *more]), m)]
        return chosen[0]

    def nearest(self, probes: np.ndarray, k: int, points: Points) -> np.ndarray:
        parts = ordered_map(lambda i: k_nearest(probes, points(i, self.block(i)), k).squared, range(len(self.slices)))
        return np.sort(np.concatenate(parts, axis=1), axis=1)[:, :k]

    def gram(self) -> np.ndarray:
        """``X X'``, (n_obs, n_obs), in canonical order; for more columns than rows."""
        if self._sparse:
            X = self._X[self.order].astype(np.float64)
            gram = (X @ X.T).toarray()
            cross = np.asarray(X @ self.mean)
            return gram - cross[:, None] - cross[None, :] + self.mean @ self.mean
        gram = np.zeros((self.n_obs, self.n_obs))
        step = max(1, (1 << 20) // self.n_obs)
        for i in range(0, self.n_features, step):
            part = self._X[:, i : i + step]
            part = (part.toarray() if sparse.issparse(part) else part)[self.order].astype(np.float64)
            part -= self.mean[i : i + step]
            gram += part @ part.T
        return gram


@compiled
def _place(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    to: np.ndarray,
    all_indices: np.ndarray,
    all_weights: np.ndarray,
) -> None:
    """Copy row i of a sparse block to where `to` says that it begins."""
    for i in range(len(to)):
        for at in range(indptr[i], indptr[i + 1]):
            place = to[i] + at - indptr[i]
            all_indices[place] = indices[at]
            all_weights[place] = weights[at]
