"""What one round asks of the rows, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skeltraj.core._data.blocks import DenseBlock, SparseBlock, gather_rows
from skeltraj.core._data.row_blocks import RowBlocks
from skeltraj.core._geometry.assign import Entries, NodeIndex, Places, assign, assigned, places_of
from skeltraj.core._geometry.near_nodes import NO_LISTS, NearNodes
from skeltraj.core._runtime.compile import compiled

from .node_system import add_overlap

# Entries of the rows that are projected, assigned and added up before the next are: few enough to stay in the cache
# next to the processor. Chosen by trial. The rows at a time are a multiple of eight (see `DenseBlock`).
_ENTRIES_AT_ONCE = 1 << 15
_FEWEST_AT_ONCE, _MOST_AT_ONCE = 64, 1024
_AT_SCORES, _GIVEN, _FROM_ASSIGNMENT = 0, 1, 2  # where the embedding comes from
_NO_ENTRIES = Entries(np.zeros(1, np.int64), np.empty(0, np.uint16), np.empty(0))


@dataclass(frozen=True)
class SweepSums:
    """The rows' part of a round: all that the next update of W, C and Z needs to know of them."""

    mass: np.ndarray  # 1'R
    gathered: np.ndarray  # R'X
    overlap: np.ndarray | None  # R'R, its upper triangle
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
    near
        Nodes near each of them, where lists of these pay.
    least_weight
        See `assign`.
    """

    loadings: np.ndarray
    nodes: np.ndarray
    sigma: float
    gamma: float
    direct: bool
    index: NodeIndex | None = None
    near: NearNodes | None = None
    least_weight: float = 0.0

    @cached_property
    def _places(self) -> Places:
        return places_of(self.nodes, self.sigma, self.least_weight)

    def assign(self, Z: np.ndarray) -> Entries:
        """Assignment of an embedding, (n, d), to the nodes."""
        return assign(Z, self.nodes, self.sigma, self.index, self.least_weight).entries

    def start(self) -> list[np.ndarray]:
        """Sums, all zero."""
        n_nodes, n_features = len(self.nodes), len(self.loadings)
        overlap = np.zeros((n_nodes, n_nodes) if self.direct else 0)
        return [np.zeros(n_nodes), np.zeros((n_nodes, n_features)), overlap, np.zeros(4)]

    def visit(
        self, sums: list[np.ndarray], block: DenseBlock | SparseBlock, R: Entries | None, Z: np.ndarray | None
    ) -> tuple[Entries, np.ndarray]:
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
        d = self.nodes.shape[1]
        if isinstance(block, DenseBlock):
            rows, scores = block.even, np.empty((0, d))
        else:
            rows, scores = np.empty((0, 0)), block.project(self.loadings)
        known = _FROM_ASSIGNMENT if R is not None else _AT_SCORES if Z is None else _GIVEN
        Z = np.empty((len(block), d)) if Z is None or R is not None else np.array(Z)
        *entries, kept, moved, cost = _sweep(
            rows,
            scores,
            np.ascontiguousarray(self.loadings),
            np.ascontiguousarray(self.nodes),
            self.gamma,
            _NO_ENTRIES if R is None else R,
            known,
            Z,
            self._places,
            self.index,
            self.near or NO_LISTS,
            min(max(_ENTRIES_AT_ONCE // len(self.loadings) // 8 * 8, _FEWEST_AT_ONCE), _MOST_AT_ONCE),
            mass,
            gathered,
        )
        new = Entries(*entries)
        if isinstance(block, SparseBlock):
            block.gather(new, gathered)
        if len(overlap):
            add_overlap(new, overlap)
        scalars += (kept, moved, cost, len(new.data))
        return new, Z

    def finish(self, sums: list[np.ndarray], rows: RowBlocks) -> SweepSums:
        """The sums over all rows, named."""
        mass, gathered, overlap, (kept, moved, quantisation, n_weights) = sums
        upper = overlap if len(overlap) else None
        return SweepSums(
            mass, rows.gathered(gathered, mass), upper, float(kept), float(moved), float(quantisation), int(n_weights)
        )


@compiled
def _sweep(
    X: np.ndarray,
    scores: np.ndarray,
    W: np.ndarray,
    nodes: np.ndarray,
    gamma: float,
    before: Entries,
    known: int,
    Z: np.ndarray,
    places: Places,
    tree: NodeIndex | None,
    near: NearNodes,
    at_once: int,
    mass: np.ndarray,
    gathered: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float, float]:
    """Some rows at a time: their scores, embedding and assignment, and the sums but for ``R'R``.

    Parameters
    ----------
    X
        Rows, with more behind them so that their number is even; none: their scores are given, and ``R'X`` is left.
    before
        Their assignment, if the embedding is from that; else without rows.
    Z
        Where the embedding comes to stand, or stands, (n, d).

    Returns
    -------
    The new assignment, as in `Entries`; ``||X W||^2``, ``||X W - Z||^2``, and the cost of the assignment.
    """
    n, d = Z.shape
    is_dense = len(X) > 0
    part = np.empty((at_once, d))
    hints = np.zeros(at_once, dtype=np.int64)
    indptr = np.empty(n + 1, dtype=np.int64)
    indptr[0] = 0
    room = int(1.2 * len(before.data)) + 4 * n
    indices, weights = np.empty(room, dtype=np.int32), np.empty(room)
    kept = moved = cost = 0.0
    for first in range(0, n, at_once):
        last = min(first + at_once, n)
        if is_dense:
            some = X[first : first + at_once]
            S = part[: len(some)]
            np.dot(some, W, S)
        else:
            S = scores[first:last]
        at_start = moved_here = 0.0
        for i in range(last - first):
            z = Z[first + i]
            if known == _FROM_ASSIGNMENT:  # KDD 2015, Proposition 3: the embedding for the assignment at hand
                if d == 2:
                    hints[i] = mean_in_plane(before, first + i, nodes, z)
                else:
                    hints[i] = mean_of_nodes(before, first + i, nodes, z)
                for a in range(d):
                    z[a] = (S[i, a] + gamma * z[a]) / (1 + gamma)
            elif known == _AT_SCORES:
                for a in range(d):
                    z[a] = S[i, a]
            for a in range(d):
                at_start += S[i, a] * S[i, a]
                moved_here += (S[i, a] - z[a]) * (S[i, a] - z[a])
        # eq. 12: the assignment for that
        starts, columns, values, cost_here = assigned(Z[first:last], places, tree, near, hints)
        kept, moved, cost = kept + at_start, moved + moved_here, cost + cost_here
        used, more = indptr[first], len(values)
        if used + more > room:
            room = int(1.1 * n / last * (used + more)) + more
            more_indices, more_weights = np.empty(room, dtype=np.int32), np.empty(room)
            for at in range(used):
                more_indices[at], more_weights[at] = indices[at], weights[at]
            indices, weights = more_indices, more_weights
        for at in range(more):
            indices[used + at], weights[used + at] = columns[at], values[at]
            mass[columns[at]] += values[at]
        for i in range(last - first):
            indptr[first + i + 1] = used + starts[i + 1]
        if is_dense:
            gather_rows(starts, columns, values, X[first:last], gathered)
    used = indptr[n]
    return indptr, indices[:used], weights[:used], kept, moved, cost


# Two functions, each so short that it becomes part of what calls it: a call for each row takes as long as the mean.
@compiled
def mean_of_nodes(R: Entries, i: int, nodes: np.ndarray, mean: np.ndarray) -> int:
    """Row i of ``R C``, (d,); returns the node of the largest weight."""
    most, nearest = 0.0, 0
    mean[:] = 0.0
    for at in range(np.uint64(R.indptr[i]), np.uint64(R.indptr[i + 1])):
        weight, node = R.data[at], nodes[np.uint64(R.indices[at])]
        nearest = R.indices[at] if weight > most else nearest
        most = max(weight, most)
        for a in range(len(mean)):
            mean[a] += weight * node[a]
    return nearest


@compiled
def mean_in_plane(R: Entries, i: int, nodes: np.ndarray, mean: np.ndarray) -> int:
    """The same in two dimensions, in registers."""
    most, nearest = 0.0, 0
    x = y = 0.0
    for at in range(np.uint64(R.indptr[i]), np.uint64(R.indptr[i + 1])):
        k, weight = np.uint64(R.indices[at]), R.data[at]
        nearest = R.indices[at] if weight > most else nearest
        most = max(weight, most)
        x += weight * nodes[k, 0]
        y += weight * nodes[k, 1]
    mean[0], mean[1] = x, y
    return nearest
