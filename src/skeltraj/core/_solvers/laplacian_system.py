"""``Q = L(s) + shift I``, L the Laplacian of a graph with weights s: its determinant, its inverse, resistances."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from . import cholesky, factor_pattern, threaded_square
from .factor_pattern import Pattern

# When the dense way is taken (benchmarks/cholesky.py):
_MAX_ROWS_ALWAYS_DENSE = 100  # for at most this many rows;
_MIN_SPARSE_SHARE = 1 / 8  # or where less than this share of the rows is outside the factor's last supernode,
_MAX_ROWS_DENSE = 20_000  # if there are at most this many rows: of more, the inverse would take over 3.2 GB


class Inverse(Protocol):
    """What is known of ``Q^-1`` for given weights."""

    logdet: float
    """``log det Q``."""
    resistance: np.ndarray
    """``r_ij = (Q^-1)_ii + (Q^-1)_jj - 2 (Q^-1)_ij`` of the pairs, (m,)."""
    trace: float
    """``tr Q^-1``."""

    def solve(self, b: np.ndarray) -> np.ndarray:
        """``Q^-1 b``, (n, k)."""

    @property
    def order(self) -> np.ndarray:
        """Numbers of the rows, (n,), in the order in which `resistances` takes them."""

    def resistances(self, start: int, stop: int) -> np.ndarray:
        """``r_ij`` of the rows ``order[start:stop]`` with ``order[start:]``, (stop - start, n - start)."""


class LaplacianSystem:
    """Systems with ``Q = L(s) + shift I``, for weights s on given pairs.

    The dense way inverts Q; the sparse one factorises it and computes only those entries of the inverse that the pairs
    need.

    Parameters
    ----------
    n
        Rows of Q.
    pairs
        (m, 2), each once, of two different rows.
    shift
        > 0.
    dense
        Which way to go. None: the faster one, sparse, but for few rows, or where nearly all of them are in the factor's
        last supernode.
    """

    def __init__(self, n: int, pairs: np.ndarray, shift: float, dense: bool | None = None) -> None:
        self.n, self.pairs, self.shift = n, pairs, shift
        self._dense = True if dense is None and n <= _MAX_ROWS_ALWAYS_DENSE else dense
        self._last: tuple[np.ndarray, Inverse] | None = None

    @cached_property
    def _sparse(self) -> tuple[Pattern, np.ndarray] | None:
        """The factor's pattern and where the pairs stand in it, which takes as long as some solutions; None: dense."""
        if self._dense:
            return None
        pattern = factor_pattern.pattern(self.n, self.pairs)
        full = self.n <= _MAX_ROWS_DENSE and pattern.n_before_last < int(_MIN_SPARSE_SHARE * self.n)
        return None if self._dense is None and full else (pattern, factor_pattern.find(pattern, self.pairs))

    def at(self, weights: np.ndarray) -> Inverse:
        """The inverse for weights, (m,), >= 0; the last one is kept, for who asks for it again."""
        if self._last is None or not np.array_equal(self._last[0], weights):
            self._last = None  # no longer needed, and as large as the new one
            self._last = weights.copy(), self._at(weights)
        return self._last[1]

    def _at(self, weights: np.ndarray) -> Inverse:
        a, b = self.pairs.T
        degree = np.bincount(a, weights, self.n) + np.bincount(b, weights, self.n)
        # Q is written at once where the factorisation takes it from, once for each step of a climb
        if self._sparse is None:
            Q = np.zeros((self.n, self.n))
            Q[a, b] = Q[b, a] = -weights
            Q[np.diag_indices(self.n)] = degree + self.shift
            return _Dense(Q, self.pairs)
        pattern, places = self._sparse
        entries = np.zeros(pattern.n_entries)
        entries[places] = -weights
        entries[pattern.diagonal[pattern.place]] = degree + self.shift
        return _Sparse(pattern, entries, self.pairs, places)


class _Dense:
    def __init__(self, Q: np.ndarray, pairs: np.ndarray) -> None:
        if not threaded_square.invert_factor(Q):
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        self.logdet = -2.0 * float(np.log(np.diagonal(Q)).sum())
        self._inverse = np.empty_like(Q)
        threaded_square.gram(Q, self._inverse)
        self._diagonal = np.diagonal(self._inverse)
        self.order = np.arange(len(Q))
        self.trace = float(self._diagonal.sum())
        a, b = pairs.T
        self.resistance = self._diagonal[a] + self._diagonal[b] - 2.0 * self._inverse[a, b]

    def solve(self, b: np.ndarray) -> np.ndarray:
        return self._inverse @ b

    def resistances(self, start: int, stop: int) -> np.ndarray:
        diagonal = self._diagonal[start:]
        return diagonal[: stop - start, None] + diagonal - 2.0 * self._inverse[start:stop, start:]


class _Sparse:
    def __init__(self, pattern: Pattern, entries: np.ndarray, pairs: np.ndarray, at: np.ndarray) -> None:
        self._pattern = pattern
        self._factor = cholesky.factor(pattern, entries)
        self.logdet = cholesky.log_determinant(pattern, self._factor)
        inverse = cholesky.inverse_entries(pattern, self._factor)
        self._diagonal = inverse[pattern.diagonal[pattern.place]]
        self.trace = float(self._diagonal.sum())
        a, b = pairs.T
        self.resistance = self._diagonal[a] + self._diagonal[b] - 2.0 * inverse[at]

    @cached_property
    def order(self) -> np.ndarray:
        return np.argsort(self._pattern.place)

    def solve(self, b: np.ndarray) -> np.ndarray:
        return cholesky.solve(self._pattern, self._factor, b)

    def resistances(self, start: int, stop: int) -> np.ndarray:
        # unit vectors in the order of the factor are zero before, and what comes before is asked for with other rows
        columns = cholesky.columns_of_inverse(self._pattern, self._factor, start, stop)
        diagonal = self._diagonal[self.order[start:]]
        return diagonal[: stop - start, None] + diagonal - 2.0 * columns.T
