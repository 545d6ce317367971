"""What is kept of every row between rounds, in memory."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

_SMALL = 1 << 16  # bytes from which memory is asked of the system itself, which gets it back as soon as it is free
_SLACK = 1.2  # a block's room over what it first needs; pages that are not written take no memory


class Cells:
    """Embedding and assignment of the rows, in canonical order.

    The assignment is by far the larger. Its entries change in number every round, and memory that the allocator holds
    back for sizes that do not come again adds up to as much as the assignment itself. So every block of rows has room of
    its own, which is written again as long as it is large enough, and node numbers take two bytes where they can.

    Parameters
    ----------
    n_blocks, n_nodes
        Blocks of rows; K.
    embedding
        Z, (n_obs, d).
    given
        Whether the embedding is one to start from.
    """

    def __init__(self, n_blocks: int, n_nodes: int, embedding: np.ndarray, given: bool) -> None:
        self.embedding, self.given = embedding, given
        self._n_nodes = n_nodes
        self._number = np.dtype(np.uint16 if n_nodes <= 1 << 16 else np.int32)
        self._blocks: list[_Block | None] = [None] * n_blocks

    def copy(self) -> Cells:
        """One that a further sweep of this one leaves alone; the embedding, which follows from it, is shared."""
        new = Cells(len(self._blocks), self._n_nodes, self.embedding, self.given)
        for block in self._blocks:
            if block is not None:
                block.shared = True
        new._blocks = list(self._blocks)
        return new

    def keep(self, i: int, R: sparse.csr_matrix) -> None:
        """Make `R` the assignment of block `i`."""
        block = self._blocks[i]
        if block is None or block.shared or len(block.weights) < R.nnz:
            self._blocks[i] = block = None  # what it held is free before more is asked for
            room = int(_SLACK * R.nnz)
            memory = _memory(room * (8 + self._number.itemsize))
            weights = memory[: 8 * room].view(np.float64)
            self._blocks[i] = block = _Block(R.indptr, memory[8 * room :].view(self._number), weights)
        block.indptr = R.indptr
        block.numbers[: R.nnz] = R.indices
        block.weights[: R.nnz] = R.data

    def assignment(self, i: int) -> sparse.csr_matrix | None:
        """R of block `i`, (rows, K); None before the first round."""
        block = self._blocks[i]
        if block is None:
            return None
        indptr, numbers, weights = block.entries()
        return sparse.csr_matrix((weights, numbers.astype(np.int32), indptr), shape=(len(indptr) - 1, self._n_nodes))

    def entries(self) -> Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """R by blocks, each as in CSR: where rows begin, numbers of nodes, weights."""
        return [block.entries() for block in self._blocks if block is not None]

    def forget(self) -> np.ndarray:
        """Give up the assignment; returns the number of entries of each row."""
        counts = [np.diff(indptr) for indptr, _, _ in self.entries()]
        self._blocks = [None] * len(self._blocks)
        return np.concatenate(counts)


@dataclass
class _Block:
    indptr: np.ndarray
    numbers: np.ndarray
    weights: np.ndarray
    shared: bool = False

    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        used = self.indptr[-1]
        return self.indptr, self.numbers[:used], self.weights[:used]


def _memory(n_bytes: int) -> np.ndarray:
    if n_bytes < _SMALL:
        return np.empty(n_bytes, dtype=np.uint8)
    return np.frombuffer(mmap.mmap(-1, n_bytes, access=mmap.ACCESS_COPY), dtype=np.uint8)
