"""Sparse Cholesky factors, and the entries of the inverse where the factor has entries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from ._compile import compiled


class Pattern(NamedTuple):
    """Where the factor of a symmetric matrix has entries.

    Parameters
    ----------
    place
        Where each row of the matrix stands in the factor, (n,): an order that keeps it sparse.
    indptr, indices
        Rows of the factor's entries below its diagonal, column by column.
    """

    place: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray

    @property
    def work(self) -> int:
        """Multiplications of one factorisation, about."""
        return int((np.diff(self.indptr).astype(np.float64) ** 2).sum())


def pattern(n: int, pairs: np.ndarray) -> Pattern:
    """The pattern for an (n, n) matrix with entries at `pairs`, (m, 2), and on the diagonal."""
    a, b = pairs.T
    links = sparse.coo_matrix((np.full(len(pairs), -1.0), (a, b)), shape=(n, n)).tocsc()
    links = links + links.T
    dominant = links - sparse.diags(np.asarray(links.sum(axis=0)).ravel() - 1.0, format="csc")
    # SuperLU's minimum-degree order; its factor is not used
    place = splu(
        dominant.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=dict(SymmetricMode=True)
    ).perm_c.astype(np.int64)
    first, last = np.sort(place[pairs], axis=1).T
    lower = sparse.coo_matrix((np.ones(len(pairs)), (last, first)), shape=(n, n)).tocsc()
    indptr, indices = _fill(lower.indptr.astype(np.int64), lower.indices.astype(np.int64))
    return Pattern(place, indptr, indices)


def find(at: Pattern, pairs: np.ndarray) -> np.ndarray:
    """Where the entries at `pairs`, (m, 2), all of them in the pattern, stand in `indices`, (m,)."""
    first, last = np.sort(at.place[pairs], axis=1).T
    return _find(at.indptr, at.indices, first, last)


def factor(at: Pattern, below: np.ndarray, diagonal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cholesky factor of the matrix with entries `below`, in the order of the pattern, and `diagonal`.

    Returns
    -------
    The factor's entries below its diagonal, and its diagonal.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite.
    """
    lower, pivots = below.copy(), diagonal.copy()
    if not _factor(at.indptr, at.indices, lower, pivots):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return lower, pivots


def inverse_entries(at: Pattern, lower: np.ndarray, pivots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Entries of the inverse where the factor has entries (Takahashi's equations): below the diagonal, and on it."""
    return _inverse(at.indptr, at.indices, lower, pivots)


def solve(at: Pattern, lower: np.ndarray, pivots: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solution for the right-hand sides `b`, (n, k)."""
    x = np.empty(b.shape)
    x[at.place] = b
    _solve(at.indptr, at.indices, lower, pivots, x)
    return x[at.place]


@compiled
def _fill(indptr: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the factor: a column's own entries and those that its children in the elimination tree hand on."""
    n = len(indptr) - 1
    child, sibling = np.full(n, -1), np.full(n, -1)
    mark = np.full(n, -1)
    starts = np.zeros(n + 1, dtype=np.int64)
    found = np.empty(4 * len(indices) + n, dtype=np.int64)
    used = 0
    for j in range(n):
        if used + n > len(found):
            more = np.empty(2 * len(found) + n, dtype=np.int64)
            more[:used] = found[:used]
            found = more
        mark[j] = j
        start = used
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[p]
            if mark[i] != j:
                mark[i] = j
                found[used] = i
                used += 1
        c = child[j]
        while c >= 0:
            for p in range(starts[c], starts[c + 1]):
                i = found[p]
                if mark[i] != j:
                    mark[i] = j
                    found[used] = i
                    used += 1
            c = sibling[c]
        found[start:used].sort()
        starts[j + 1] = used
        if used > start:
            parent = found[start]
            sibling[j] = child[parent]
            child[parent] = j
    return starts, found[:used].copy()


@compiled
def _find(indptr: np.ndarray, indices: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    at = np.empty(len(first), dtype=np.int64)
    for e in range(len(first)):
        start, stop = indptr[first[e]], indptr[first[e] + 1]
        at[e] = start + np.searchsorted(indices[start:stop], last[e])
    return at


@compiled
def _factor(indptr: np.ndarray, indices: np.ndarray, lower: np.ndarray, pivots: np.ndarray) -> bool:
    """Left-looking: each column less what the columns before it take, which wait in the list of their next row."""
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
def _inverse(
    indptr: np.ndarray, indices: np.ndarray, lower: np.ndarray, pivots: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    n = len(pivots)
    below, diagonal = np.empty(len(lower)), np.empty(n)
    at = np.full(n, -1)  # where a row stands among those of the column at hand
    most = 0
    for j in range(n):
        most = max(most, indptr[j + 1] - indptr[j])
    share, sums = np.empty(most), np.empty(most)
    for j in range(n - 1, -1, -1):
        start, stop = indptr[j], indptr[j + 1]
        for p in range(start, stop):
            at[indices[p]] = p - start
            share[p - start] = lower[p] / pivots[j]
            sums[p - start] = 0.0
        for p in range(start, stop):
            k = indices[p]
            own = p - start
            sums[own] += diagonal[k] * share[own]
            for q in range(indptr[k], indptr[k + 1]):
                other = at[indices[q]]
                if other >= 0:
                    sums[other] += below[q] * share[own]
                    sums[own] += below[q] * share[other]
        value = 1.0 / pivots[j] ** 2
        for p in range(start, stop):
            below[p] = -sums[p - start]
            value += sums[p - start] * share[p - start]
            at[indices[p]] = -1
        diagonal[j] = value
    return below, diagonal


@compiled
def _solve(indptr: np.ndarray, indices: np.ndarray, lower: np.ndarray, pivots: np.ndarray, x: np.ndarray) -> None:
    n, k = x.shape
    for j in range(n):
        for c in range(k):
            x[j, c] /= pivots[j]
        for p in range(indptr[j], indptr[j + 1]):
            for c in range(k):
                x[indices[p], c] -= lower[p] * x[j, c]
    for j in range(n - 1, -1, -1):
        for p in range(indptr[j], indptr[j + 1]):
            for c in range(k):
                x[j, c] -= lower[p] * x[indices[p], c]
        for c in range(k):
            x[j, c] /= pivots[j]
