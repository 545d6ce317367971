"""Rows of a dask array: every pass is a graph that dask's scheduler runs, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from skeltraj.core._geometry.assign import assign, node_index
from skeltraj.core._geometry.neighbors import nearest_squares
from skeltraj.core._runtime.threads import computing

from .blocks import SPREAD, DenseBlock, SparseBlock, block_of
from .sweep import Sums, Sweep
from .temporary_files import OnDisk, keeps_on_disk, loaded

Select = Callable[[np.ndarray, int], np.ndarray]
Points = Callable[[int, Any], np.ndarray]


class LazyRows:
    """What `Rows` is, for a dask array.

    Each block is visited where dask puts it; only sums of the size of the nodes and the columns come back. What is
    kept of every row between rounds, its place in the embedding, stays with the blocks or goes to files. Blocks are
    taken in the order in which they come, so the results equal those in memory up to rounding.

    Parameters
    ----------
    X
        Dask array, (n_obs, n_features), of dense or CSR blocks.
    center
        Whether to subtract the column means.
    """

    always_direct = True  # the assignment is not here to be multiplied with

    def __init__(self, X: Any, *, center: bool) -> None:
        self.n_obs, self.n_features = X.shape
        X = X.rechunk({1: -1})
        self._blocks = list(X.to_delayed().ravel())
        self._sparse = sparse.issparse(X._meta)
        self._fill = False
        bounds = np.concatenate([[0], np.cumsum(X.chunks[0])]).astype(int)
        self.slices = [slice(a, b) for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]
        self.order = np.arange(self.n_obs)
        self.mean = np.zeros(self.n_features)
        if center:
            [total] = self.fold(
                lambda: [np.zeros(self.n_features)], lambda sums, i, block: _add(sums[0], block.column_sums())
            )
            self.mean = total / self.n_obs
        if self._sparse and center:  # see Rows
            left = self.total()
            self._fill = left <= SPREAD * (left + self.n_obs * float(self.mean @ self.mean))
            self._sparse = not self._fill

    def _map(self, function: Callable[..., Any], *columns: list[Any]) -> list[Any]:
        """``function(i, block, ...)`` for each block, not yet run."""
        import dask

        run = dask.delayed(_run, pure=False)
        function, mean = dask.delayed(function), dask.delayed(self.mean)
        return [
            run(function, i, self._fill, *rest, mean) for i, rest in enumerate(zip(self._blocks, *columns, strict=True))
        ]

    def _reduce(self, parts: list[Any], merge: Callable[[Any, Any], Any]) -> Any:
        """Neighbours merged two by two, in an order that does not depend on who is done first."""
        import dask

        join = dask.delayed(merge, pure=False)
        while len(parts) > 1:
            pairs = [join(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = pairs + parts[len(parts) - len(parts) % 2 :]
        return parts[0]

    def fold(
        self, start: Callable[[], list[np.ndarray]], visit: Callable[[list[np.ndarray], int, Any], None]
    ) -> list[np.ndarray]:
        """Sums over all blocks; see `Rows.fold`."""

        def sums_of(i: int, block: DenseBlock | SparseBlock) -> list[np.ndarray]:
            sums = start()
            visit(sums, i, block)
            return sums

        return self._reduce(self._map(sums_of), _added).compute()

    def total(self) -> float:
        """Sum of squares, ``||X||_F^2``."""
        [total] = self.fold(lambda: [np.zeros(1)], lambda sums, i, block: _add(sums[0], block.total()))
        return float(total[0])

    def moment(self) -> np.ndarray:
        """``X'X``, (n_features, n_features)."""
        shape = (self.n_features, self.n_features)
        [total] = self.fold(lambda: [np.zeros(shape)], lambda sums, i, block: _add(sums[0], block.moment()))
        return total

    def apply_moment(self, V: np.ndarray) -> np.ndarray:
        """``X'X V`` without forming ``X'X``."""
        [total] = self.fold(
            lambda: [np.zeros_like(V)], lambda sums, i, block: _add(sums[0], block.pull(block.project(V)))
        )
        return total

    def gathered(self, total: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """``R'X`` from what the blocks' `gather` added up; `mass` is ``1'R``."""
        return total - np.outer(mass, self.mean) if self._sparse else total

    def sample(self, m: int, select: Select, points: Points) -> np.ndarray:
        """`select` applied to ``points(i, block)`` of all blocks."""
        parts = self._map(lambda i, block: select(points(i, block), m))
        return self._reduce(parts, lambda a, b: select(np.concatenate([a, b]), m)).compute()

    def nearest(self, probes: np.ndarray, k: int, points: Points) -> np.ndarray:
        """Squared distances from `probes` to the `k` nearest of ``points(i, block)``, (n_probes, k)."""
        parts = self._map(lambda i, block: nearest_squares(probes, points(i, block), k))
        return self._reduce(parts, lambda a, b: np.sort(np.concatenate([a, b], axis=1), axis=1)[:, :k]).compute()

    def assigned(self, nodes: np.ndarray, sigma: float) -> Any:
        """Assignment of the rows themselves to nodes in their space: a dask array, made when asked for."""
        index = node_index(nodes)
        return self._array(self._map(lambda i, block: assign(block.filled(), nodes, sigma, index).weights), len(nodes))

    def cells(self, embedding: None, d: int, n_nodes: int) -> LazyCells:
        """What is kept of every row between rounds."""
        return LazyCells([None] * len(self._blocks), None, d)

    def sweep(self, sweep: Sweep, cells: LazyCells) -> Sums:
        """One pass of a round over all rows; `cells` are brought up to date."""
        import dask

        before, index = cells.nodes, None if cells.nodes is None else node_index(cells.nodes)
        on_disk = keeps_on_disk(8 * self.n_obs * cells.d)

        def visit(i: int, block: DenseBlock | SparseBlock, kept: Any) -> tuple[Any, ...]:
            sums = sweep.start()
            R = None if before is None else assign(loaded(kept), before, sweep.sigma, index).weights
            _, Z = sweep.visit(sums, block, R, None)
            return sums, OnDisk(Z) if on_disk else Z

        done = self._map(visit, cells.embedding)
        take = dask.delayed(lambda pair, i: pair[i], pure=False)
        # kept where they were made; if one is lost, the scheduler makes it again from the rounds before
        cells.embedding, total = dask.persist(
            [take(pair, 1) for pair in done], self._reduce([take(pair, 0) for pair in done], _added)
        )
        cells.nodes = sweep.nodes
        return sweep.finish(total.compute(), self)

    def embedding_of(self, cells: LazyCells) -> Any:
        """The embedding as a dask array, (n_obs, d)."""
        import dask
        import dask.array as da

        load = dask.delayed(loaded, pure=False)
        parts = zip(cells.embedding, self.slices, strict=True)
        return da.concatenate([da.from_delayed(load(Z), (at.stop - at.start, cells.d), np.float64) for Z, at in parts])

    def assignment_of(self, cells: LazyCells, nodes: np.ndarray, sigma: float) -> Any:
        """The assignment as a dask array of CSR blocks, (n_obs, K), made from the embedding when asked for."""
        import dask

        index = node_index(nodes)
        weights = dask.delayed(lambda Z: assign(loaded(Z), nodes, sigma, index).weights, pure=False)
        return self._array([weights(Z) for Z in cells.embedding], len(nodes))

    def _array(self, blocks: list[Any], n_nodes: int) -> Any:
        """CSR blocks of rows as a dask array."""
        import dask.array as da

        meta = sparse.csr_matrix((0, 0), dtype=np.float64)
        parts = zip(blocks, self.slices, strict=True)
        return da.concatenate([da.from_delayed(R, (at.stop - at.start, n_nodes), meta=meta) for R, at in parts])


@dataclass
class LazyCells:
    """What is kept of every row between rounds: its embedding, block by block, where dask keeps it or in files.

    The assignment follows from that and the nodes and is made again when it is needed, so that what is kept is small
    beside the data.
    """

    embedding: list[Any]
    nodes: np.ndarray | None  # to which it was assigned
    d: int

    def copy(self) -> LazyCells:
        """One that a further sweep of this one leaves alone."""
        return replace(self)


def _run(function: Callable[..., Any], i: int, fill: bool, values: Any, *rest_and_mean: Any) -> Any:
    *rest, mean = rest_and_mean
    if fill:
        values = values.toarray()
    with computing():
        return function(i, block_of(values, mean), *rest)


def _add(total: np.ndarray, part: np.ndarray | float) -> None:
    total += part


def _added(a: list[np.ndarray], b: list[np.ndarray]) -> list[np.ndarray]:
    return [x + y for x, y in zip(a, b, strict=True)]
