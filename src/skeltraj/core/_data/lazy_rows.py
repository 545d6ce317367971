"""Rows of a dask array: every pass is a graph that dask's scheduler runs, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from skeltraj.core._geometry.assign import assign, node_index
from skeltraj.core._geometry.neighbors import k_nearest
from skeltraj.core._runtime.threads import Sums, computing

from .blocks import block_of
from .row_blocks import Block, Points, RowBlocks, Select, Visit


class LazyRows(RowBlocks):
    """Rows of a dask array.

    Each block is visited where dask puts it; only sums of the size of the nodes and the columns come back. Blocks are
    taken in the order in which they come, so the results equal those in memory up to rounding.

    Parameters
    ----------
    X
        Dask array, (n_obs, n_features), of dense or CSR blocks.
    center
        Whether to subtract the column means.
    """

    in_memory = False

    def __init__(self, X: Any, *, center: bool) -> None:
        self.n_obs, self.n_features = X.shape
        X = X.rechunk({1: -1})
        self._blocks = list(X.to_delayed().ravel())
        self._stored_sparse = self._sparse = sparse.issparse(X._meta)
        bounds = np.concatenate([[0], np.cumsum(X.chunks[0])]).astype(int)
        self.slices = [slice(a, b) for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]
        self.order = np.arange(self.n_obs)
        self.mean = np.zeros(self.n_features)
        if center:
            self.centre()

    def map(self, function: Callable[..., Any], *columns: list[Any]) -> list[Any]:
        """``function(i, block, ...)`` for each block, not yet run."""
        import dask

        run = dask.delayed(_run, pure=False)
        function, mean = dask.delayed(function), dask.delayed(self.mean)
        fill = self._stored_sparse and not self._sparse
        return [run(function, i, fill, *rest, mean) for i, rest in enumerate(zip(self._blocks, *columns, strict=True))]

    def reduce(self, parts: list[Any], merge: Callable[[Any, Any], Any]) -> Any:
        """Neighbours merged two by two, in an order that does not depend on who is done first; not yet run."""
        import dask

        join = dask.delayed(merge, pure=False)
        while len(parts) > 1:
            pairs = [join(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = pairs + parts[len(parts) - len(parts) % 2 :]
        return parts[0]

    def array(self, blocks: list[Any], n_nodes: int) -> Any:
        """CSR blocks of rows, not yet made, as a dask array."""
        import dask.array as da

        meta = sparse.csr_matrix((0, 0), dtype=np.float64)
        parts = zip(blocks, self.slices, strict=True)
        return da.concatenate([da.from_delayed(R, (at.stop - at.start, n_nodes), meta=meta) for R, at in parts])

    def fold(self, start: Callable[[], Sums], visit: Visit) -> Sums:
        def sums_of(i: int, block: Block) -> Sums:
            sums = start()
            visit(sums, i, block)
            return sums

        return self.reduce(self.map(sums_of), added).compute()

    def project(self, V: np.ndarray) -> np.ndarray:
        import dask

        return np.concatenate(dask.compute(*self.map(lambda i, block: block.project(V))))

    def sample(self, m: int, select: Select, points: Points) -> np.ndarray:
        parts = self.map(lambda i, block: select(points(i, block), m))
        return self.reduce(parts, lambda a, b: select(np.concatenate([a, b]), m)).compute()

    def nearest(self, probes: np.ndarray, k: int, points: Points) -> np.ndarray:
        parts = self.map(lambda i, block: k_nearest(probes, points(i, block), k).squared)
        return self.reduce(parts, lambda a, b: np.sort(np.concatenate([a, b], axis=1), axis=1)[:, :k]).compute()

    def assigned(self, nodes: np.ndarray, sigma: float) -> Any:
        # a dask array, made when asked for
        return self.array(self.map(partial(_weights, nodes, sigma, node_index(nodes))), len(nodes))


def _weights(nodes: np.ndarray, sigma: float, index: Any, i: int, block: Block) -> Any:
    # of this module, not a closure: so fits can be pickled
    return assign(block.filled(), nodes, sigma, index).weights


def _run(function: Callable[..., Any], i: int, fill: bool, values: Any, *rest_and_mean: Any) -> Any:
    *rest, mean = rest_and_mean
    if fill:
        values = values.toarray()
    with computing():
        return function(i, block_of(values, mean), *rest)


def added(a: Sums, b: Sums) -> Sums:
    """Sums of two parts, in new arrays."""
    return [x + y for x, y in zip(a, b, strict=True)]
