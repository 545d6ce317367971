"""What is kept of every row between rounds, in memory."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from threading import Lock

import numpy as np
from scipy import sparse

from skeltraj.core._data.canonical_order import restore_order
from skeltraj.core._data.row_blocks import Block
from skeltraj.core._data.rows import Rows
from skeltraj.core._geometry.assign import Entries
from skeltraj.core._runtime.threads import ordered_map

from .node_system import Blocks
from .sweep import Sweep, SweepSums

# Bytes of the assignment that may be kept in any case; in all, half of what the data take. Chosen by eye; the peak of
# memory that follows is measured by benchmarks/ddrtree_speed.py.
_ALWAYS_KEPT_BYTES = 1 << 27
# Blocks of at least this size have memory pages of their own, which the system gets back when they are freed.
_OWN_PAGES_BYTES = 1 << 16
# A block has this many times the room that it first needs, so that a somewhat larger one can be written in its place.
# Pages that are not written take no memory. Chosen by eye.
_ROOM_FACTOR = 1.2


class KeptInMemory:
    """Embedding and assignment of the rows, in the order of the blocks.

    The assignment is by far the larger, and it follows from the embedding and the nodes. So no more of it is kept than
    `most` allows. Blocks of rows for which there is no room are assigned again, bit for bit, when they are asked for
    (all is kept where all of it is needed at once, see `entries`). The number of entries changes every round, and
    memory that the allocator holds back for sizes that do not come again adds up to as much as the assignment itself.
    So every block has room of its own, which is written again as long as its size fits, and node numbers take two bytes
    where they can.

    Parameters
    ----------
    rows
        The rows.
    n_nodes
        K.
    d
        Dimensions of the embedding.
    embedding
        To start from, (n_obs, d), in the order of the blocks; None: the scores.
    most
        Bytes of the assignment that are kept; None: 128 MiB or half of what the rows take.
    """

    always_direct = False

    def __init__(self, rows: Rows, n_nodes: int, d: int, embedding: np.ndarray | None, most: int | None = None) -> None:
        self._rows, self._slices, self._n_nodes = rows, rows.slices, n_nodes
        self.embedding = np.empty((rows.n_obs, d)) if embedding is None else embedding
        self._given = embedding is not None  # whether the embedding is one to start from
        self._most = max(_ALWAYS_KEPT_BYTES, rows.n_bytes // 2) if most is None else most
        self._limit: float = self._most  # in this sweep
        self._number = np.dtype(np.uint16 if n_nodes <= 1 << 16 else np.int32)
        self._blocks: list[_Block | None] = [None] * len(self._slices)
        self._last: Sweep | None = None  # to whose nodes the rows were assigned
        self._taken, self._lock = 0, Lock()

    def sweep(self, sweep: Sweep) -> SweepSums:
        """One pass over all rows, which brings what is kept up to date."""

        def visit(sums: list[np.ndarray], i: int, block: Block) -> None:
            rows = self._slices[i]
            given = self.embedding[rows] if self._given else None
            R, self.embedding[rows] = sweep.visit(sums, block, self.assignment(i), given)
            self.keep(i, R)

        self.begin(all_of_it=not sweep.direct)
        sums = self._rows.fold(sweep.start, visit)
        self._given = False
        self.swept(sweep)
        return sweep.finish(sums, self._rows)

    def copy(self) -> KeptInMemory:
        """One that a further sweep of this one leaves alone."""
        # where the assignment is not kept it is made again from the embedding, which a sweep overwrites
        whole = all(block is None or block.kept for block in self._blocks)
        embedding = self.embedding if whole else self.embedding.copy()
        new = KeptInMemory(self._rows, self._n_nodes, embedding.shape[1], embedding, self._most)
        new._given = self._given
        for block in self._blocks:
            if block is not None:
                block.shared = True
        new._blocks, new._last = list(self._blocks), self._last
        return new

    def begin(self, all_of_it: bool) -> None:
        """A sweep begins, after which `all_of_it`, or no more than `most`, is to be kept."""
        self._limit = np.inf if all_of_it else self._most
        self._taken = sum(block.n_bytes for block in self._blocks if block is not None)

    def keep(self, i: int, R: Entries) -> None:
        """Make `R` the assignment of block `i`, in this sweep."""
        block = self._blocks[i]
        n = len(R.data)
        fits = block is not None and block.kept and n <= len(block.weights) <= 2 * _ROOM_FACTOR * n
        if block is None or block.shared or not fits or self._taken > self._limit:
            free = 0 if block is None or block.shared else block.n_bytes
            self._blocks[i] = block = None  # its memory is freed before more is taken
            room = int(_ROOM_FACTOR * n)
            n_bytes = room * (8 + self._number.itemsize)
            with self._lock:
                kept = self._taken - free + n_bytes <= self._limit
                self._taken += (n_bytes if kept else 0) - free
            room, n_bytes = (room, n_bytes) if kept else (0, 0)
            memory = _memory(n_bytes)
            weights = memory[: 8 * room].view(np.float64)
            self._blocks[i] = block = _Block(R.indptr, memory[8 * room :].view(self._number), weights, n_bytes, kept)
        block.indptr = R.indptr
        if block.kept:
            block.numbers[:n] = R.indices
            block.weights[:n] = R.data

    def swept(self, sweep: Sweep) -> None:
        """All blocks have been assigned to the nodes of `sweep`."""
        self._last = sweep

    def assignment(self, i: int) -> Entries | None:
        """R of block `i`, of the last sweep; None before the first."""
        block = self._blocks[i]
        if block is None or self._last is None:
            return None
        return block.entries() if block.kept else self._again(i)

    def _again(self, i: int) -> Entries:
        assert self._last is not None
        return self._last.assign(self.embedding[self._slices[i]])

    def entries(self) -> Blocks:
        """R by blocks; kept until the next sweep."""
        self._limit = np.inf
        without = [i for i, block in enumerate(self._blocks) if block is not None and not block.kept]
        ordered_map(lambda i: self.keep(i, self._again(i)), without)
        return [block.entries() for block in self._blocks if block is not None]

    def assignment_as_given(self) -> sparse.csr_matrix:
        """The assignment to the nodes of the last sweep, (n_obs, K), in the order in which the rows were given.

        If much is kept it is given up and made again, bit for bit, so that it is never held twice.
        """
        counts = np.concatenate([np.diff(block.indptr) for block in self._blocks if block is not None])
        blocks, self._blocks = self._blocks, [None] * len(self._blocks)
        if sum(block.n_bytes for block in blocks if block is not None) > _ALWAYS_KEPT_BYTES:
            blocks = self._blocks

        def make(i: int) -> Entries:
            block = blocks[i]
            return block.entries() if block is not None and block.kept else self._again(i)

        return self._rows.placed(make, counts, self._n_nodes)

    def embedding_as_given(self) -> np.ndarray:
        """The embedding in the order in which the rows were given, in the same memory: no sweep can follow."""
        restore_order(self.embedding, self._rows.order)
        return self.embedding


@dataclass
class _Block:
    indptr: np.ndarray
    numbers: np.ndarray
    weights: np.ndarray
    n_bytes: int  # counted as taken
    kept: bool
    shared: bool = False

    def entries(self) -> Entries:
        used = self.indptr[-1]
        return Entries(self.indptr, self.numbers[:used], self.weights[:used])


def _memory(n_bytes: int) -> np.ndarray:
    if n_bytes < _OWN_PAGES_BYTES:
        return np.empty(n_bytes, dtype=np.uint8)
    return np.frombuffer(mmap.mmap(-1, n_bytes, access=mmap.ACCESS_COPY), dtype=np.uint8)
