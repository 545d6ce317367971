"""What one round asks of the rows, block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skeltraj.core._data.blocks import DenseBlock, SparseBlock
from skeltraj.core._data.row_blocks import RowBlocks
from skeltraj.core._geometry.assign import NodeIndex, assign

from .node_system import add_overlap


@dataclass(frozen=True)
class SweepSums:
    """The rows' part of a round: all that the next update of W, C and Z needs to know of them."""

    mass: np.ndarray  # 1'R
    gathered: np.ndarray  # R'X
    overlap: np.ndarray | None  # R'R
    kept: float  # ||X W||^2
    moved: float  # ||X W - Z||^2
    quantisation: float  # the bracket of the objective, eq. 9
    n_weights: int  # entries of R


@dataclass(frozen=True)
class Sweep:
    """One pass: bring the embedding up to date, assign it to the nodes, add up what follows from that.

    Parameters
    ----------
    loadings
        W, (n_features, d).
    nodes
        C, (K, d).
    sigma, gamma
        Of the objective.
    direct
        Whether to add up ``R'R``.
    index
        ``node_index(nodes)``.
    """

    loadings: np.ndarray
    nodes: np.ndarray
    sigma: float
    gamma: float
    direct: bool
    index: NodeIndex | None = None

    def start(self) -> list[np.ndarray]:
        """Sums, all zero."""
        n_nodes, n_features = len(self.nodes), len(self.loadings)
        overlap = np.zeros((n_nodes, n_nodes) if self.direct else 0)
        return [np.zeros(n_nodes), np.zeros((n_nodes, n_features)), overlap, np.zeros(4)]

    def visit(
        self,
        sums: list[np.ndarray],
        block: DenseBlock | SparseBlock,
        R: sparse.csr_matrix | None,
        Z: np.ndarray | None,
    ) -> tuple[sparse.csr_matrix, np.ndarray]:
        """Add a block of rows to `sums`; return its new assignment and embedding.

        Parameters
        ----------
        sums
            As `start` made them.
        block
            Rows of X.
        R
            Their assignment in the round before, from which their embedding follows; None at the start.
        Z
            At the start, their embedding; None: the loadings' scores.
        """
        mass, gathered, overlap, scalars = sums
        scores = block.project(self.loadings)
        if R is not None:  # KDD 2015, Proposition 3: the embedding for the assignment at hand
            Z = (scores + self.gamma * (R @ self.nodes)) / (1 + self.gamma)
        elif Z is None:
            Z = scores
        # KDD 2015, eq. 12: the assignment for that
        new, cost = assign(Z, self.nodes, self.sigma, self.index)
        mass += np.bincount(new.indices, new.data, minlength=len(mass))
        block.gather(new, gathered)
        if len(overlap):
            add_overlap(new, overlap)
        scalars += (np.sum(scores**2), np.sum((scores - Z) ** 2), cost, new.nnz)
        return new, Z

    def finish(self, sums: list[np.ndarray], rows: RowBlocks) -> SweepSums:
        """The sums over all rows, named."""
        mass, gathered, overlap, (kept, moved, quantisation, n_weights) = sums
        whole = overlap + np.triu(overlap, 1).T if len(overlap) else None
        return SweepSums(
            mass, rows.gathered(gathered, mass), whole, float(kept), float(moved), float(quantisation), int(n_weights)
        )
