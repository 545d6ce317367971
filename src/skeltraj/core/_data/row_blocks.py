"""Rows as every fit sees them, wherever they are: centred, one block at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from skeltraj.core._geometry.edges import renumbered
from skeltraj.core._runtime.threads import Sums

from .blocks import CENTRED_SHARE, DenseBlock, SparseBlock

Select = Callable[[np.ndarray, int], np.ndarray]
Points = Callable[[int, Any], np.ndarray]
Visit = Callable[[Sums, int, Any], None]


class RowBlocks(ABC):
    """Rows of a matrix in blocks, in an order of their own, and sums over them.

    Attributes
    ----------
    n_obs, n_features
        Shape of the matrix.
    slices
        The rows of each block.
    order
        The number under which the row at each place was given, (n_obs,).
    mean
        What is subtracted from each row, (n_features,): the column means, or zeros.
    """

    in_memory: ClassVar[bool]  # whether what belongs to single rows can be held here

    n_obs: int
    n_features: int
    slices: list[slice]
    order: np.ndarray
    mean: np.ndarray
    _sparse: bool  # whether blocks stay sparse, with their mean kept apart

    @abstractmethod
    def fold(self, start: Callable[[], Sums], visit: Visit) -> Sums:
        """Sums over all blocks, the same whatever the number of threads or workers.

        Parameters
        ----------
        start
            Makes the sums, all zero.
        visit
            Adds block number i to the sums: ``visit(sums, i, block)``.
        """

    @abstractmethod
    def project(self, V: np.ndarray) -> np.ndarray:
        """``X V``, (n_obs, m)."""

    @abstractmethod
    def sample(self, m: int, select: Select, points: Points) -> np.ndarray:
        """`select` applied to ``points(i, block)`` of all blocks."""

    @abstractmethod
    def nearest(self, probes: np.ndarray, k: int, points: Points) -> np.ndarray:
        """Squared distances from `probes` to the `k` nearest of ``points(i, block)``, (n_probes, k)."""

    @abstractmethod
    def assigned(self, nodes: np.ndarray, sigma: float) -> Any:
        """Assignment of the rows to nodes in their space, sparse, in the order in which the rows were given."""

    def centre(self) -> None:
        """Subtract the column means from here on.

        Sums of sparse blocks are centred afterwards. Where the mean is large against the spread that would cost too
        many digits, so blocks are filled in then, one at a time.
        """
        self.mean = self.column_sums() / self.n_obs
        if self._sparse:
            left = self.total()
            self._sparse = left > CENTRED_SHARE * (left + self.n_obs * float(self.mean @ self.mean))

    def column_sums(self) -> np.ndarray:
        """Sums of the columns, (n_features,), before they are centred."""
        n_features = self.n_features
        [total] = self.fold(lambda: [np.zeros(n_features)], lambda sums, _, block: add(sums[0], block.column_sums()))
        return total

    def total(self) -> float:
        """Sum of squares, ``||X||_F^2``."""
        [total] = self.fold(lambda: [np.zeros(1)], lambda sums, _, block: add(sums[0], block.total()))
        return float(total[0])

    def moment(self) -> np.ndarray:
        """``X'X``, (n_features, n_features)."""
        shape = (self.n_features, self.n_features)
        [total] = self.fold(lambda: [np.zeros(shape)], lambda sums, _, block: add(sums[0], block.moment()))
        return total

    def apply_moment(self, V: np.ndarray) -> np.ndarray:
        """``X'X V`` without forming ``X'X``."""
        shape = (self.n_features, V.shape[1])
        product = lambda block: block.transpose_times(block.project(V))
        [total] = self.fold(lambda: [np.zeros(shape)], lambda sums, _, block: add(sums[0], product(block)))
        return total

    def transpose_times(self, U: np.ndarray) -> np.ndarray:
        """``X'U``, (n_features, m); rows of `U` in the order of the blocks."""
        shape, slices = (self.n_features, U.shape[1]), self.slices
        product = lambda i, block: block.transpose_times(U[slices[i]])
        [total] = self.fold(lambda: [np.zeros(shape)], lambda sums, i, block: add(sums[0], product(i, block)))
        return total

    def gathered(self, total: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """``R'X`` from what the blocks' `gather` added up; `mass` is ``1'R``."""
        return total - np.outer(mass, self.mean) if self._sparse else total

    def edges_of(self, edges: np.ndarray) -> np.ndarray:
        """Edges between rows, by the numbers under which the rows were given."""
        return renumbered(edges, self.order)[0]

    def unsorted(self, values: np.ndarray) -> np.ndarray:
        """Values of the rows brought into the order in which the rows were given."""
        out = np.empty_like(values)
        out[self.order] = values
        return out


def add(total: np.ndarray, part: np.ndarray | float) -> None:
    """Add to an array in place, as an expression."""
    total += part


Block = DenseBlock | SparseBlock
