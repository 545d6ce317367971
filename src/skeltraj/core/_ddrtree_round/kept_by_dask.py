"""What is kept of every row between rounds, block by block, where dask keeps it or in a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from skeltraj.core._data.lazy_rows import LazyRows, added
from skeltraj.core._data.row_blocks import Block
from skeltraj.core._data.temporary_files import TemporaryFile, keeps_on_disk, loaded

from .node_system import Blocks
from .sweep import Sweep, SweepSums


@dataclass
class KeptByDask:
    """The embedding of the rows of a dask array.

    The assignment follows from that and the nodes and is made again when it is needed, so that what is kept is small
    beside the data.

    Parameters
    ----------
    rows
        The rows.
    embedding
        Of each block, as dask holds it; None before the first sweep.
    last
        The last sweep, to whose nodes the rows were assigned; None before the first.
    d
        Dimensions of the embedding.
    """

    rows: LazyRows
    embedding: list[Any]
    last: Sweep | None
    d: int
    always_direct = True

    def copy(self) -> KeptByDask:
        return replace(self)

    def sweep(self, sweep: Sweep) -> SweepSums:
        import dask

        before = self.last
        file = TemporaryFile() if keeps_on_disk(8 * self.rows.n_obs * self.d) else None

        def visit(i: int, block: Block, kept: Any) -> tuple[Any, ...]:
            sums = sweep.start()
            R = None if before is None else before.assign(loaded(kept))
            _, Z = sweep.visit(sums, block, R, None)
            return sums, Z if file is None else file.keep(Z)

        visits = self.rows.map(visit, self.embedding)
        take = dask.delayed(lambda pair, i: pair[i], pure=False)
        # stays with the workers; the scheduler makes a lost part again from the rounds before
        self.embedding, total = dask.persist(
            [take(pair, 1) for pair in visits], self.rows.reduce([take(pair, 0) for pair in visits], added)
        )
        self.last = replace(sweep, near=None)  # lists that `assign` does not use are not sent to the workers again
        return sweep.finish(total.compute(), self.rows)

    def entries(self) -> Blocks:
        raise TypeError("the assignment of a dask array is not here to be multiplied with")

    def assignment_as_given(self) -> Any:
        """The assignment as a dask array of CSR blocks, (n_obs, K), made from the embedding when asked for."""
        import dask

        assert self.last is not None
        weights = dask.delayed(partial(_weights, self.last), pure=False)
        return self.rows.array([weights(Z) for Z in self.embedding], len(self.last.nodes))

    def embedding_as_given(self) -> Any:
        """The embedding as a dask array, (n_obs, d)."""
        import dask
        import dask.array as da

        load = dask.delayed(loaded, pure=False)
        parts = zip(self.embedding, self.rows.slices, strict=True)
        return da.concatenate([da.from_delayed(load(Z), (at.stop - at.start, self.d), np.float64) for Z, at in parts])


def _weights(sweep: Sweep, Z: Any) -> Any:
    # of this module, not a closure: so fits can be pickled
    return sweep.assign(loaded(Z)).as_matrix(len(sweep.nodes))
