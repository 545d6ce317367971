"""Sparse Cholesky factors, and the entries of the inverse where the factor has entries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse.linalg import splu

from skeltraj.core._runtime.compile import compiled

from .laplacian import laplacian

# How many multiplications LAPACK makes in the time of one in the sparse loops, on one thread: measured by
# benchmarks/cholesky.py. It says where the dense block begins.
LAPACK_TIMES_FASTER = 48.0


class Pattern(NamedTuple):
    """Where the factor of a symmetric matrix has entries.

    The last rows to be eliminated are nearly full, and most of the work is theirs: from `n_sparse` on LAPACK handles
    them as one dense block.

    Parameters
    ----------
    place
        Where each row of the matrix stands in the factor, (n,): an order that keeps it sparse.
    indptr, indices
        Rows of the factor's entries below its diagonal, column by column.
    n_sparse
        Columns before the dense block.
    """

    place: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    n_sparse: int


class Factor(NamedTuple):
    """A Cholesky factor: entries below the diagonal and on it, column by column, and that of the dense block."""

    lower: np.ndarray
    pivots: np.ndarray
    block: np.ndarray


def pattern(n: int, pairs: np.ndarray) -> Pattern:
    """The pattern for an (n, n) matrix with entries at `pairs`, (m, 2), and on the diagonal."""
    # SuperLU's minimum-degree order, of any matrix with these entries that it can factorise; the factor is not used
    order = splu(
        (laplacian(pairs, n) + sparse.identity(n)).tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options=dict(SymmetricMode=True),
    )
    place = order.perm_c.astype(np.int64)
    first, last = np.sort(place[pairs], axis=1).T
    lower = sparse.coo_matrix((np.ones(len(pairs)), (last, first)), shape=(n, n)).tocsc()
    indptr, indices = _fill(lower.indptr.astype(np.int64), lower.indices.astype(np.int64))
    work = LAPACK_TIMES_FASTER * _squares(indptr) + np.arange(n, -1, -1).astype(np.float64) ** 3
    return Pattern(place, indptr, indices, int(np.argmin(work)))


def _squares(indptr: np.ndarray) -> np.ndarray:
    """Sum of the squared lengths of the columns before each."""
    return np.r_[0.0, np.cumsum(np.diff(indptr).astype(np.float64) ** 2)]


def find(at: Pattern, pairs: np.ndarray) -> np.ndarray:
    """Where the entries at `pairs`, (m, 2), all of them in the pattern, stand in `indices`, (m,)."""
    first, last = np.sort(at.place[pairs], axis=1).T
    return _find(at.indptr, at.indices, first, last)


def factor(at: Pattern, below: np.ndarray, diagonal: np.ndarray) -> Factor:
    """Cholesky factor of the matrix with entries `below`, in the order of the pattern, and `diagonal`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite.
    """
    lower, pivots, m = below.copy(), diagonal.copy(), at.n_sparse
    block = np.zeros((len(pivots) - m, len(pivots) - m), order="F")
    if not _factor(at.indptr, at.indices, lower, pivots, m, block):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    if block.size:
        block, wrong = lapack.dpotrf(block, lower=1, overwrite_a=1)
        if wrong:
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        pivots[m:] = np.diagonal(block)
    return Factor(lower, pivots, block)


def inverse_entries(at: Pattern, factored: Factor) -> tuple[np.ndarray, np.ndarray]:
    """Entries of the inverse where the factor has entries (Takahashi's equations): below the diagonal, and on it."""
    block = lapack.dpotri(factored.block, lower=1)[0] if factored.block.size else factored.block
    return _inverse(at.indptr, at.indices, factored.lower, factored.pivots, at.n_sparse, block)


def solve(at: Pattern, factored: Factor, b: np.ndarray) -> np.ndarray:
    """Solution for the right-hand sides `b`, (n, k)."""
    x, m = np.empty(b.shape), at.n_sparse
    x[at.place] = b
    _forward(at.indptr, at.indices, factored.lower, factored.pivots, m, x)
    if factored.block.size:
        x[m:] = lapack.dpotrs(factored.block, x[m:], lower=1)[0]
    _backward(at.indptr, at.indices, factored.lower, factored.pivots, m, x)
    return x[at.place]


@compiled
def _fill(indptr: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the factor: a column's own entries and those that its children in the elimination tree hand on."""
    n = len(indptr) - 1
    child, sibling = np.full(n, -1), np.full(n, -1)
    mark = np.full(n, -1)
    starts = np.zeros(n + 1, dtype=np.int64)
    rows = np.empty(4 * len(indices) + n, dtype=np.int64)
    used = 0
    for j in range(n):
        if used + n > len(rows):
            more = np.empty(2 * len(rows) + n, dtype=np.int64)
            more[:used] = rows[:used]
            rows = more
        mark[j] = j
        start = used
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[p]
            if mark[i] != j:
                mark[i] = j
                rows[used] = i
                used += 1
        c = child[j]
        while c >= 0:
            for p in range(starts[c], starts[c + 1]):
                i = rows[p]
                if mark[i] != j:
                    mark[i] = j
                    rows[used] = i
                    used += 1
            c = sibling[c]
        rows[start:used].sort()
        starts[j + 1] = used
        if used > start:
            parent = rows[start]
            sibling[j] = child[parent]
            child[parent] = j
    return starts, rows[:used].copy()


@compiled
def _find(indptr: np.ndarray, indices: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    at = np.empty(len(first), dtype=np.int64)
    for e in range(len(first)):
        start, stop = indptr[first[e]], indptr[first[e] + 1]
        at[e] = start + np.searchsorted(indices[start:stop], last[e])
    return at


@compiled
def _factor(
    indptr: np.ndarray, indices: np.ndarray, lower: np.ndarray, pivots: np.ndarray, m: int, block: np.ndarray
) -> bool:
    """Left-looking: each column less what the first `m` take, which wait in the list of their next row.

    The columns from `m` on are left in `block`, to be factorised there.
    """
    n = len(pivots)
    waiting, following = np.full(n, -1), np.full(n, -1)
    at = indptr[:-1].copy()  # the entry of each column whose turn comes next
    column = np.zeros(n)
    for j in range(n):
        start, stop = indptr[j], indptr[j + 1]
        for p in range(start, stop):
            column[indices[p]] = lower[p]
        pivot = pivots[j]
        k = waiting[j]
        while k >= 0:
            later = following[k]
            p = at[k]
            share = lower[p]
            pivot -= share * share
            for q in range(p + 1, indptr[k + 1]):
                column[indices[q]] -= share * lower[q]
            if p + 1 < indptr[k + 1]:
                at[k] = p + 1
                row = indices[p + 1]
                following[k] = waiting[row]
                waiting[row] = k
            k = later
        if j >= m:
            block[j - m, j - m] = pivot
            for p in range(start, stop):
                block[indices[p] - m, j - m] = column[indices[p]]
            continue
        if not pivot > 0:
            return False
        pivot = np.sqrt(pivot)
        pivots[j] = pivot
        for p in range(start, stop):
            lower[p] = column[indices[p]] / pivot
        if start < stop:
            row = indices[start]
            following[j] = waiting[row]
            waiting[row] = j
    return True


@compiled
def _gather(
    indptr: np.ndarray,
    indices: np.ndarray,
    below: np.ndarray,
    diagonal: np.ndarray,
    j: int,
    m: int,
    block: np.ndarray,
    at: np.ndarray,
    front: np.ndarray,
) -> None:
    """Entries of the inverse in which the rows of column j meet, the last row first; `at` is -1 before and after."""
    start, stop = indptr[j], indptr[j + 1]
    last = stop - 1
    for p in range(start, stop):
        at[indices[p]] = last - p
    for p in range(start, stop):
        k, own = indices[p], last - p
        front[own, own] = diagonal[k]
        if k >= m:
            for other in range(own):
                front[own, other] = front[other, own] = block[indices[last - other] - m, k - m]
            continue
        for q in range(indptr[k], indptr[k + 1]):
            other = at[indices[q]]
            if other >= 0:
                front[own, other] = front[other, own] = below[q]
    for p in range(start, stop):
        at[indices[p]] = -1


@compiled
def _add_times(front: np.ndarray, share: np.ndarray, size: int, sums: np.ndarray) -> None:
    """Add the front times the shares; four rows at a time, so that sums are read and written a quarter as often."""
    for first in range(0, size - 3, 4):
        a, b, c, d = share[first], share[first + 1], share[first + 2], share[first + 3]
        for own in range(size):
            sums[own] += (front[first, own] * a + front[first + 1, own] * b) + (
                front[first + 2, own] * c + front[first + 3, own] * d
            )
    for one in range(size - size % 4, size):
        for own in range(size):
            sums[own] += front[one, own] * share[one]


@compiled
def _inverse(
    indptr: np.ndarray, indices: np.ndarray, lower: np.ndarray, pivots: np.ndarray, m: int, block: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """From the last column to the first: each by the entries of the inverse in which its rows meet, `front`.

    Where a column has the rows of the next one, and that itself, its front is that of the next one with a row and a
    column more; most of the work is in such columns. As the last row comes first in a front, what is there stays.
    """
    n = len(pivots)
    below, diagonal = np.empty(len(lower)), np.empty(n)
    for j in range(m, n):
        diagonal[j] = block[j - m, j - m]
        for p in range(indptr[j], indptr[j + 1]):
            below[p] = block[indices[p] - m, j - m]
    at = np.full(n, -1)  # where a row stands in the front
    most = 0
    for j in range(m):
        most = max(most, indptr[j + 1] - indptr[j])
    front = np.empty((most, most))
    share, sums = np.empty(most), np.empty(most)
    for j in range(m - 1, -1, -1):
        start, stop = indptr[j], indptr[j + 1]
        size, last = stop - start, stop - 1
        if j + 1 < m and size == indptr[j + 2] - stop + 1 and indices[start] == j + 1:
            front[size - 1, size - 1] = diagonal[j + 1]
            for own in range(size - 1):
                front[size - 1, own] = front[own, size - 1] = below[indptr[j + 2] - 1 - own]
        else:
            _gather(indptr, indices, below, diagonal, j, m, block, at, front)
        for own in range(size):
            share[own] = lower[last - own] / pivots[j]
            sums[own] = 0.0
        _add_times(front, share, size, sums)
        value = 1.0 / pivots[j] ** 2
        for own in range(size):
            below[last - own] = -sums[own]
            value += sums[own] * share[own]
        diagonal[j] = value
    return below, diagonal


@compiled
def _forward(
    indptr: np.ndarray, indices: np.ndarray, lower: np.ndarray, pivots: np.ndarray, m: int, x: np.ndarray
) -> None:
    k = x.shape[1]
    for j in range(m):
        for c in range(k):
            x[j, c] /= pivots[j]
        for p in range(indptr[j], indptr[j + 1]):
            for c in range(k):
                x[indices[p], c] -= lower[p] * x[j, c]


@compiled
def _backward(
    indptr: np.ndarray, indices: np.ndarray, lower: np.ndarray, pivots: np.ndarray, m: int, x: np.ndarray
) -> None:
    k = x.shape[1]
    for j in range(m - 1, -1, -1):
        for p in range(indptr[j], indptr[j + 1]):
            for c in range(k):
                x[j, c] -= lower[p] * x[indices[p], c]
        for c in range(k):
            x[j, c] /= pivots[j]
