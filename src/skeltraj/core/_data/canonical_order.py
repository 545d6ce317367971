"""An order of rows that depends on their values alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.threads import ordered_map

from .blocks import BLOCK_ENTRIES


def canonical_order(X: Any) -> np.ndarray:
    """Order of the rows that depends on their values, not on where they stand.

    Rows are sorted by a fixed random weighting of their entries, rows with equal sums by the entries themselves. Rows
    that are still equal are the same, so their order does not matter. Nothing sparse is filled in.
    """
    if sparse.issparse(X):
        arrange = lambda run: np.array(sorted(range(len(run)), key=lambda i: _entries(X, run[i])))
        differ = lambda a, b: np.ones(len(a), dtype=bool)
    else:
        step = _rows_at_once(X)
        arrange = lambda run: np.lexsort(X[run].T[::-1])
        of_some = lambda a, b: (X[a] != X[b]).any(axis=1)
        differ = lambda a, b: np.concatenate(
            [of_some(a[i : i + step], b[i : i + step]) for i in range(0, len(a), step)]
        )
    return _order_by(row_keys(X), arrange, differ)


def row_keys(X: Any) -> np.ndarray:
    """A fixed random weighting of the entries of each row of X, dense or CSR, (n_obs,): the same wherever it stands."""
    weight = np.random.default_rng(20150810).standard_normal(X.shape[1])
    if sparse.issparse(X):
        return _sparse_keys(X.indptr, X.indices, X.data.astype(np.float64, copy=False), weight)
    step = _rows_at_once(X)
    keys = lambda i: _dense_keys(np.ascontiguousarray(X[i : i + step], dtype=np.float64), weight)
    return np.concatenate(ordered_map(keys, range(0, len(X), step)))


def _rows_at_once(X: np.ndarray) -> int:
    return max(1, BLOCK_ENTRIES // X.shape[1])


def _entries(X: sparse.csr_matrix, row: int) -> tuple[bytes, bytes]:
    """A sparse row as something that can be compared: where it is not zero, and what it is there."""
    at = slice(X.indptr[row], X.indptr[row + 1])
    there = X.data[at] != 0
    return X.indices[at][there].tobytes(), X.data[at][there].tobytes()


def canonical_kernel_order(kernel: np.ndarray) -> np.ndarray:
    """The same for a kernel matrix, where permuting the observations permutes rows and columns together."""
    weight = np.random.default_rng(20150810).standard_normal(len(kernel))
    rows = lambda at: np.sort(kernel[at], axis=1)
    step = max(1, BLOCK_ENTRIES // len(kernel))
    starts = range(0, len(kernel), step)
    key = np.concatenate([_dense_keys(rows(slice(i, i + step)).astype(np.float64), weight) for i in starts])
    every = lambda a, b: np.ones(len(a), dtype=bool)
    return _order_by(key, lambda run: np.lexsort(rows(run).T[::-1]), every)


def _order_by(
    key: np.ndarray,
    arrange: Callable[[np.ndarray], np.ndarray],
    differ: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Sort by `key`; and each run of equal keys as `arrange` says, if rows in it `differ` from the next."""
    order = np.argsort(key)
    same = np.flatnonzero(np.diff(key[order]) == 0)
    if len(same):
        order = np.argsort(key, kind="stable")  # slower, and the same where all keys differ
        breaks = np.flatnonzero(np.diff(same) > 1)
        firsts = np.r_[0, breaks + 1]
        lasts = same[np.r_[breaks, len(same) - 1]] + 1
        mixed = np.logical_or.reduceat(differ(order[same], order[same + 1]), firsts)
        for first, last in zip(same[firsts][mixed], lasts[mixed], strict=True):
            run = order[first : last + 1]
            order[first : last + 1] = run[arrange(run)]
    return order


# Summed term by term and not by BLAS, whose sums can depend on where in a block a row lies. Four rows at a time, as
# each sum waits for its last term.
@compiled
def _dense_keys(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    n, p = X.shape
    key = np.zeros(n)
    in_fours = n // 4 * 4
    for i in range(0, in_fours, 4):
        a = b = c = d = 0.0
        for j in range(p):
            w = weight[j]
            a += X[i, j] * w
            b += X[i + 1, j] * w
            c += X[i + 2, j] * w
            d += X[i + 3, j] * w
        key[i], key[i + 1], key[i + 2], key[i + 3] = a, b, c, d
    for i in range(in_fours, n):
        for j in range(p):
            key[i] += X[i, j] * weight[j]
    return key


@compiled
def _sparse_keys(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    key = np.zeros(len(indptr) - 1)
    for i in range(len(key)):
        for at in range(indptr[i], indptr[i + 1]):
            key[i] += data[at] * weight[indices[at]]
    return key


@compiled
def restore_order(values: np.ndarray, order: np.ndarray) -> None:
    """Bring row i to ``order[i]``, cycle by cycle, in place."""
    done = np.zeros(len(order), dtype=np.bool_)
    carried = np.empty(values.shape[1])
    for first in range(len(order)):
        at = first
        for j in range(len(carried)):
            carried[j] = values[at, j]
        while not done[at]:
            done[at] = True
            to = order[at]
            for j in range(len(carried)):
                carried[j], values[to, j] = values[to, j], carried[j]
            at = to
