"""Where a sparse Cholesky factor has entries, and how these lie in memory: by supernodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spilu

from skeltraj.core._runtime.compile import compiled

from .laplacian import laplacian

# A supernode of at most this many columns may have this share of zeros among its entries: small panels cost more time
# than zeros. Chosen by eye (benchmarks/cholesky.py).
_JOINED = ((4, 1.0), (16, 0.8), (48, 0.1), (np.inf, 0.02))
# Into how many parts work is divided for threads, and multiplications that are worth a thread's start. Chosen by eye.
_MAX_PARTS, _MIN_WORK = 16, 1e6


class Pattern(NamedTuple):
    """Where the factor of a symmetric matrix has entries.

    Columns that follow one another are a supernode where all have the rows of the last of them, but for zeros that are
    stored, more of them in small ones. Its entries are a dense panel, (n_rows, n_columns): a square with its diagonal,
    and the rows below. The last columns to be eliminated are nearly full, and most of the work is theirs: they are the
    last supernode.

    Parameters
    ----------
    place
        Where each row of the matrix stands in the factor, (n,): an order that keeps it sparse.
    first
        The first column of each supernode, and n: (n_supernodes + 1,).
    starts, rows
        Supernode s has the rows ``rows[starts[s]:starts[s + 1]]``, ascending, its own columns first:
        (n_supernodes + 1,) and (sum of their numbers,).
    panels
        Where each panel begins among the entries, and how many entries there are: (n_supernodes + 1,).
    owner
        The supernode of each column, (n,).
    diagonal
        Where the entries on the diagonal stand, (n,).
    parts
        Supernodes from ``parts[i]`` to ``parts[i + 1]`` have rows of their own and of the last supernode alone, so that
        threads can do them at once; (n_parts + 1,), without the last.
    slabs
        Columns of the last supernode from ``slabs[i]`` to ``slabs[i + 1]``, which take about as much work as others do;
        (n_slabs + 1,).
    """

    place: np.ndarray
    first: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    panels: np.ndarray
    owner: np.ndarray
    diagonal: np.ndarray
    parts: np.ndarray
    slabs: np.ndarray

    @property
    def n_entries(self) -> int:
        """Room that a factor takes, with zeros above the diagonal."""
        return int(self.panels[-1])

    @property
    def n_before_last(self) -> int:
        """Columns before the last supernode."""
        return int(self.first[-2])


def pattern(n: int, pairs: np.ndarray) -> Pattern:
    """The pattern for an (n, n) matrix with entries at `pairs`, (m, 2), and on the diagonal."""
    # SuperLU's minimum-degree order, of any matrix with these entries. The factor is not used: an incomplete one, of
    # which all but the diagonal is dropped, takes a quarter of the time.
    order = spilu(
        (laplacian(pairs, n) + sparse.identity(n)).tocsc(),
        drop_tol=1.0,
        fill_factor=1,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options=dict(SymmetricMode=True),
    )
    place = order.perm_c.astype(np.int64)
    low, high = np.sort(place[pairs], axis=1).T
    lower = sparse.coo_matrix((np.ones(len(pairs)), (high, low)), shape=(n, n)).tocsc()
    indptr, indices = _fill(lower.indptr.astype(np.int64), lower.indices.astype(np.int64))
    # as many columns as can follow the one that hands its rows on to them; the fill is the same
    rank = _postorder(indptr, indices)
    place, (indptr, indices) = rank[place], _ranked(indptr, indices, rank)
    limits = np.array(_JOINED)
    first = np.r_[_join(indptr, indices, limits[:, 0], limits[:, 1]), n]
    n_columns = np.diff(first)
    starts, rows = _rows(indptr, indices, first)
    panels = np.r_[0, np.cumsum(np.diff(starts) * n_columns)]
    owner = np.repeat(np.arange(len(n_columns)), n_columns)
    diagonal = panels[owner] + (np.arange(n) - first[owner]) * (n_columns[owner] + 1)
    return Pattern(
        place,
        first,
        starts,
        rows,
        panels,
        owner,
        diagonal,
        _parts(first, starts, rows, owner),
        _slabs(first, starts, rows),
    )


def find(at: Pattern, pairs: np.ndarray) -> np.ndarray:
    """Where the entries at `pairs`, (m, 2), all of them in the pattern, stand, (m,)."""
    low, high = np.sort(at.place[pairs], axis=1).T
    return _find(at.first, at.starts, at.rows, at.panels, at.owner, low, high)


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
            for p in range(used):
                more[p] = rows[p]
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
def _postorder(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Rank of each column where those below it in the elimination tree come right before it, the largest part last."""
    n = len(indptr) - 1
    parents = np.full(n, n)
    size = np.zeros(n + 1)  # squared lengths of a column and of all below it
    for j in range(n):
        length = indptr[j + 1] - indptr[j]
        if length:
            parents[j] = indices[indptr[j]]
        size[j] += length**2
        size[parents[j]] += size[j]
    child, sibling, rank = np.full(n + 1, -1), np.full(n, -1), np.empty(n, dtype=np.int64)
    for j in np.argsort(-size[:n], kind="mergesort"):  # so that each list begins with the smallest
        sibling[j] = child[parents[j]]
        child[parents[j]] = j
    stack = np.empty(n + 1, dtype=np.int64)
    stack[0], depth, used = n, 1, 0
    while depth > 0:
        j = stack[depth - 1]
        c = child[j]
        if c >= 0:
            child[j] = sibling[c]
            stack[depth] = c
            depth += 1
            continue
        depth -= 1
        if j < n:
            rank[j] = used
            used += 1
    return rank


@compiled
def _ranked(indptr: np.ndarray, indices: np.ndarray, rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns in the order of their ranks, with rows by rank."""
    n = len(rank)
    starts, rows = np.zeros(n + 1, dtype=np.int64), np.empty_like(indices)
    for j in range(n):
        starts[rank[j] + 1] = indptr[j + 1] - indptr[j]
    starts = np.cumsum(starts)
    for j in range(n):
        start, stop = starts[rank[j]], starts[rank[j] + 1]
        for p in range(stop - start):
            rows[start + p] = rank[indices[indptr[j] + p]]
        rows[start:stop].sort()
    return starts, rows


@compiled
def _join(indptr: np.ndarray, indices: np.ndarray, sizes: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """First columns of the supernodes.

    The columns of a supernode follow one another, and each but the last has its first entry below the diagonal within
    the supernode, so that its rows beyond are among those of the last. A supernode of at most ``sizes[g]`` columns may
    have a share of zeros of ``shares[g]``.
    """
    first = np.empty(len(indptr) - 1, dtype=np.int64)
    entries = np.empty(len(indptr) - 1, dtype=np.int64)  # of each supernode, without zeros
    n = 0
    for j in range(len(indptr) - 1):
        first[n], entries[n] = j, indptr[j + 1] - indptr[j] + 1
        n += 1
        while n > 1 and indptr[first[n - 1]] > indptr[first[n - 1] - 1]:
            last = first[n - 1] - 1  # column before
            if indices[indptr[last]] >= j + 1 or indices[indptr[last]] < first[n - 1]:
                break
            columns = j + 1 - first[n - 2]
            room = columns * (columns + 1) // 2 + columns * (indptr[j + 1] - indptr[j])
            joined = entries[n - 2] + entries[n - 1]
            g = 0
            while columns > sizes[g]:
                g += 1
            if room - joined > shares[g] * room:
                break
            n -= 1
            entries[n - 1] = joined
    return first[:n].copy()


@compiled
def _rows(indptr: np.ndarray, indices: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of each supernode: its columns, and the rows of the last of them."""
    n = len(first) - 1
    starts = np.zeros(n + 1, dtype=np.int64)
    for s in range(n):
        last = first[s + 1] - 1
        starts[s + 1] = starts[s] + first[s + 1] - first[s] + indptr[last + 1] - indptr[last]
    rows = np.empty(starts[n], dtype=np.int64)
    for s in range(n):
        columns = first[s + 1] - first[s]
        last = first[s + 1] - 1
        for p in range(starts[s + 1] - starts[s]):
            rows[starts[s] + p] = first[s] + p if p < columns else indices[indptr[last] + p - columns]
    return starts, rows


def _parts(first: np.ndarray, starts: np.ndarray, rows: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Boundaries between whole subtrees of the supernodes before the last, small ones together."""
    last = len(first) - 2
    n_rows, n_columns = np.diff(starts)[:last], np.diff(first)[:last]
    # whose turn is next: the owner of the first row below; a subtree ends where that is the last supernode, or none is
    following = np.full(last, last)
    below = n_rows > n_columns
    following[below] = owner[rows[starts[:last][below] + n_columns[below]]]
    ends = np.flatnonzero(following == last) + 1
    work = np.r_[0.0, np.cumsum(1.0 * n_rows**2 * n_columns)]
    least = max(work[-1] / _MAX_PARTS, _MIN_WORK)
    parts = [0]
    for end in ends:
        if end == last or work[end] - work[parts[-1]] >= least:
            parts.append(int(end))
    return np.array(parts)


def _slabs(first: np.ndarray, starts: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Boundaries between columns of the last supernode."""
    last, n = first[-2:]
    n_columns = np.diff(first)[:-1]
    of = np.repeat(np.arange(len(n_columns)), np.diff(starts)[:-1])  # the supernode of each of these rows
    own = rows[: starts[-2]] >= last
    beyond = (starts[1:-1][of] - np.arange(len(of)))[own]  # rows from this one on, which its column gets a number from
    work = np.r_[0.0, np.cumsum(np.bincount(rows[: starts[-2]][own] - last, n_columns[of][own] * beyond, n - last))]
    n_slabs = int(np.clip(work[-1] // _MIN_WORK, 1, _MAX_PARTS))
    inner = np.searchsorted(work, np.linspace(0, work[-1], n_slabs + 1)[1:-1])
    return np.asarray(last + np.unique(np.r_[0, inner, n - last]))


@compiled
def _find(
    first: np.ndarray,
    starts: np.ndarray,
    rows: np.ndarray,
    panels: np.ndarray,
    owner: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> np.ndarray:
    at = np.empty(len(low), dtype=np.int64)
    for e in range(len(low)):
        s = owner[low[e]]
        row = np.searchsorted(rows[starts[s] : starts[s + 1]], high[e])
        at[e] = panels[s] + row * (first[s + 1] - first[s]) + low[e] - first[s]
    return at
