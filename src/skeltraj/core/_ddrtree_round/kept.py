"""What is kept of every row between rounds, wherever the rows are."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np

from skeltraj.core._data.lazy_rows import LazyRows
from skeltraj.core._data.row_blocks import RowBlocks
from skeltraj.core._data.rows import Rows

from .kept_by_dask import KeptByDask
from .kept_in_memory import KeptInMemory
from .node_system import Blocks
from .sweep import Sweep, SweepSums


class Kept(Protocol):
    """Embedding of the rows, and as much of their assignment as there is room for."""

    always_direct: bool  # the nodes' system is factorised: conjugate gradients would read the assignment many times

    def sweep(self, sweep: Sweep) -> SweepSums:
        """One pass over all rows, which brings what is kept up to date."""

    def copy(self) -> Self:
        """One that a further sweep of this one leaves alone."""

    def entries(self) -> Blocks:
        """The assignment by blocks."""

    def assignment_as_given(self) -> Any:
        """The assignment to the nodes of the last sweep, (n_obs, K), in the order in which the rows were given."""

    def embedding_as_given(self) -> Any:
        """The embedding in the order in which the rows were given; no sweep can follow."""


def kept_of(rows: RowBlocks, embedding: np.ndarray | None, d: int, n_nodes: int) -> Kept:
    """What is kept from the start on; `embedding`, (n_obs, d), in the order of the blocks, None: the start's scores."""
    if isinstance(rows, LazyRows):
        return KeptByDask(rows, [None] * len(rows.slices), None, d)
    assert isinstance(rows, Rows)
    return KeptInMemory(rows, n_nodes, d, embedding)
