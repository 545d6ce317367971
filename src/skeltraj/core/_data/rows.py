"""The data as a fit sees them: rows in an order of their own, centred, one block at a time."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse

from skeltraj.core._geometry.assign import assign, node_index
from skeltraj.core._geometry.neighbors import nearest_squares
from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.threads import ordered_map

from .blocks import _BLOCK, SPREAD, DenseBlock, SparseBlock, block_of, rows_of
from .canonical_order import canonical_order
from .kept_assignment import Cells
from .sweep import Sums, Sweep

Select = Callable[[np.ndarray, int], np.ndarray]
Points = Callable[[int, Any], np.ndarray]

_GROUPS = 32  # groups of blocks with sums of their own: the most threads that find work
_SUMS = 1 << 28  # bytes that these sums may take
_KEPT = 1 << 27  # bytes of the assignment that may be kept in any case; in all, half of what the data take


class Rows:
    """Rows of a matrix that can be sliced, in canonical order.

    The order is a function of the rows' values alone, so every sum over the rows, and every choice made along them,
    is the same to the last bit however the rows were given. Blocks are widened to float64 (dense) or kept sparse as
    they pass; `X` itself is neither copied nor widened, and all sums are float64. A float32 input therefore loses
    nothing but the digits that it never had. A matrix on disk is read block by block, in the order in which it is
    stored.

    Parameters
    ----------
    X
        Dense or CSR matrix, (n_obs, n_features), or one on disk that gives either when sliced.
    center
        Whether to subtract the column means (implicitly, block by block).
    order
        Canonical order of the rows, where it is known already.
    """

    always_direct = False  # conjugate gradients can have the assignment again and again

    def __init__(self, X: Any, *, center: bool, order: np.ndarray | None = None) -> None:
        self._X = X
        self.n_obs, self.n_features = X.shape
        self._on_disk = not (isinstance(X, np.ndarray) or sparse.issparse(X))
        self._reading = Lock()
        step = int(np.clip(_BLOCK // self.n_features, 64, 8192))
        self.slices = [slice(i, min(i + step, self.n_obs)) for i in range(0, self.n_obs, step)]
        if order is None:
            order = np.arange(self.n_obs) if self._on_disk else canonical_order(X)
        self.order = order
        self._sparse = sparse.issparse(X[:1])
        self.mean = np.zeros(self.n_features)
        if center:
            [total] = self.fold(
                lambda: [np.zeros(self.n_features)], lambda sums, _, block: _add(sums[0], block.column_sums())
            )
            self.mean = total / self.n_obs
        if self._sparse and center:
            # Sums of a sparse matrix are centred afterwards. Where the mean is large against the spread that would
            # cost too many digits, so blocks are filled in then, one at a time.
            left = self.total()
            self._sparse = left > SPREAD * (left + self.n_obs * float(self.mean @ self.mean))

    def block(self, i: int) -> DenseBlock | SparseBlock:
        """Block `i` of rows, centred."""
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

    def fold(
        self, start: Callable[[], list[np.ndarray]], visit: Callable[[list[np.ndarray], int, Any], None]
    ) -> list[np.ndarray]:
        """Sums over all blocks.

        The blocks go in fixed groups, each with sums of its own that are added up in order at the end; groups run in
        threads. Neither the groups nor the order depend on the number of threads, so neither do the sums.

        Parameters
        ----------
        start
            Makes the sums, all zero.
        visit
            Adds block number i to the sums: ``visit(sums, i, block)``.
        """
        size = 8 * sum(part.size for part in start())
        groups = int(np.clip(_SUMS // max(size, 1), 1, _GROUPS))

        def run(numbers: np.ndarray) -> list[np.ndarray]:
            sums = start()
            for i in numbers.tolist():
                visit(sums, i, self.block(i))
            return sums

        parts = ordered_map(run, np.array_split(np.arange(len(self.slices)), min(groups, len(self.slices))))
        total = parts[0]
        for part in parts[1:]:
            for whole, more in zip(total, part, strict=True):
                whole += more
        return total

    def total(self) -> float:
        """Sum of squares, ``||X||_F^2``."""
        [total] = self.fold(lambda: [np.zeros(1)], lambda sums, _, block: _add(sums[0], block.total()))
        return float(total[0])

    def moment(self) -> np.ndarray:
        """``X'X``, (n_features, n_features)."""
        shape = (self.n_features, self.n_features)
        [total] = self.fold(lambda: [np.zeros(shape)], lambda sums, _, block: _add(sums[0], block.moment()))
        return total

    def apply_moment(self, V: np.ndarray) -> np.ndarray:
        """``X'X V`` without forming ``X'X``."""
        shape = (self.n_features, V.shape[1])
        [total] = self.fold(
            lambda: [np.zeros(shape)], lambda sums, _, block: _add(sums[0], block.pull(block.project(V)))
        )
        return total

    def project(self, V: np.ndarray) -> np.ndarray:
        """``X V``, (n_obs, m), in canonical order."""
        out = np.empty((self.n_obs, V.shape[1]))

        def visit(i: int) -> None:
            out[self.slices[i]] = self.block(i).project(V)

        ordered_map(visit, range(len(self.slices)))
        return out

    def pull(self, U: np.ndarray) -> np.ndarray:
        """``X'U``, (n_features, m), `U` in canonical order."""
        shape = (self.n_features, U.shape[1])
        [total] = self.fold(
            lambda: [np.zeros(shape)], lambda sums, i, block: _add(sums[0], block.pull(U[self.slices[i]]))
        )
        return total

    def gathered(self, total: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """``R'X`` from what the blocks' `gather` added up; `mass` is ``1'R``."""
        return total - np.outer(mass, self.mean) if self._sparse else total

    def sweep(self, sweep: Sweep, cells: Cells) -> Sums:
        """One pass of a round over all rows; `cells` are brought up to date in place."""

        def visit(sums: list[np.ndarray], i: int, block: DenseBlock | SparseBlock) -> None:
            at = self.slices[i]
            given = cells.embedding[at] if cells.given else None
            R, cells.embedding[at] = sweep.visit(sums, block, cells.assignment(i), given)
            cells.keep(i, R)

        cells.begin(all_of_it=not sweep.direct)
        sums = self.fold(sweep.start, visit)
        cells.given = False
        cells.swept(sweep)
        return sweep.finish(sums, self)

    def cells(self, embedding: np.ndarray | None, d: int, n_nodes: int) -> Cells:
        """What is kept of every row between rounds; `embedding` in canonical order, None: the start's scores."""
        start = np.empty((self.n_obs, d)) if embedding is None else embedding
        held = 0 if self._on_disk else self._X.data.nbytes  # of sparse rows, the entries
        return Cells(self.slices, n_nodes, start, embedding is not None, max(_KEPT, held // 2))

    def embedding_of(self, cells: Cells) -> np.ndarray:
        """The embedding in the order in which the rows were given; what the cells hold becomes that, for want of room."""
        _unsort(cells.embedding, self.order)
        return cells.embedding

    def assignment_of(self, cells: Cells, nodes: np.ndarray, sigma: float) -> sparse.csr_matrix:
        """The assignment in the order in which the rows were given.

        The blocks are given up and made again, bit for bit, so that it is never held twice.
        """
        counts, index = cells.forget(), node_index(nodes)
        make = lambda i: assign(cells.embedding[self.slices[i]], nodes, sigma, index).weights
        return self._placed(make, counts, len(nodes))

    def assigned(self, nodes: np.ndarray, sigma: float) -> sparse.csr_matrix:
        """Assignment of the rows themselves to nodes in their space, in the order in which the rows were given."""
        index = node_index(nodes)
        blocks: list[Any] = ordered_map(
            lambda i: assign(self.block(i).filled(), nodes, sigma, index).weights, range(len(self.slices))
        )
        counts = np.concatenate([np.diff(block.indptr) for block in blocks])

        def take(i: int) -> sparse.csr_matrix:
            block, blocks[i] = blocks[i], None  # free as soon as it stands in its place
            return block

        return self._placed(take, counts, len(nodes))

    def _placed(self, block: Callable[[int], sparse.csr_matrix], counts: np.ndarray, n_nodes: int) -> sparse.csr_matrix:
        """Blocks of sparse rows in the order in which the rows were given; `counts`: entries of each row."""
        indptr = np.zeros(self.n_obs + 1, dtype=np.int64)
        indptr[1 + self.order] = counts
        np.cumsum(indptr, out=indptr)
        indices, weights = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])

        def place(i: int) -> None:
            R = block(i)
            _place(R.indptr, R.indices, R.data, indptr[self.order[self.slices[i]]], indices, weights)

        ordered_map(place, range(len(self.slices)))
        return sparse.csr_matrix((weights, indices, indptr), shape=(self.n_obs, n_nodes))

    def edges_of(self, edges: np.ndarray) -> np.ndarray:
        """Edges between rows, by the numbers under which the rows were given."""
        edges = np.sort(self.order[edges], axis=1)
        return edges[np.lexsort((edges[:, 1], edges[:, 0]))]

    def unsorted(self, values: np.ndarray) -> np.ndarray:
        """Rows in canonical order brought into the order in which they were given."""
        out = np.empty_like(values)
        out[self.order] = values
        return out

    def sample(self, m: int, select: Select, points: Points) -> np.ndarray:
        """`select` applied to ``points(i, block)`` of all blocks, some at a time."""
        found: list[np.ndarray] = []
        for first in range(0, len(self.slices), _GROUPS):
            numbers = range(first, min(first + _GROUPS, len(self.slices)))
            found = [select(np.concatenate([*found, *ordered_map(lambda i: points(i, self.block(i)), numbers)]), m)]
        return found[0]

    def nearest(self, probes: np.ndarray, k: int, points: Points) -> np.ndarray:
        """Squared distances from `probes` to the `k` nearest of ``points(i, block)``, (n_probes, k)."""
        parts = ordered_map(lambda i: nearest_squares(probes, points(i, self.block(i)), k), range(len(self.slices)))
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


@compiled
def _unsort(values: np.ndarray, order: np.ndarray) -> None:
    """Bring row i to ``order[i]``, cycle by cycle, in place."""
    done = np.zeros(len(order), dtype=np.bool_)
    carried, next_one = np.empty(values.shape[1]), np.empty(values.shape[1])
    for first in range(len(order)):
        at = first
        carried[:] = values[at]
        while not done[at]:
            done[at] = True
            to = order[at]
            next_one[:] = values[to]
            values[to] = carried
            carried[:] = next_one
            at = to


def _add(total: np.ndarray, part: np.ndarray | float) -> None:
    total += part
