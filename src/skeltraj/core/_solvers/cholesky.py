"""Sparse Cholesky factors by supernodes, and the entries of the inverse where the factor has entries.

Products of panels are left to BLAS where they are large. Threads share the parts that meet in the last panel alone, and
its square, which most of the work is for.
For a symmetric matrix with no entry above zero but on its diagonal, as a Laplacian is, the factor has none either, and
the inverse of a square on its diagonal none below zero. So to keep that inverse in the place of the square, which lets
everything be products, costs no digits.
"""

from __future__ import annotations

import numpy as np

from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.threads import ordered_map

from . import threaded_square
from .factor_pattern import Pattern

_AT_ONCE = 64  # columns of a panel that are taken away from another, or factorised, at once; chosen by eye
_WIDE = 128  # columns of a large square that are handled at once in products; chosen by eye
_TILE = 32  # rows and columns that are mirrored at once; chosen by eye
_BY_BLAS = 2000  # multiplications from which on a product is left to BLAS; chosen by eye


def factor(at: Pattern, entries: np.ndarray) -> np.ndarray:
    """Cholesky factor of the matrix with these entries, (n_entries,), which stand as `find` and `diagonal` say.

    Returns
    -------
    Panels as `Pattern` has them, in each the inverse of the square on the diagonal in its place: they take the place of
    the entries, in the same memory.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite.
    """
    definite = ordered_map(lambda i: _factor(at, entries, at.parts[i], at.parts[i + 1]), range(len(at.parts) - 1))
    if not all(definite):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    ordered_map(lambda i: _take_from_last(at, entries, at.slabs[i], at.slabs[i + 1]), range(len(at.slabs) - 1))
    if not threaded_square.invert_factor(_last_square(at, entries)):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return entries


def log_determinant(at: Pattern, factored: np.ndarray) -> float:
    """Of the matrix with this factor."""
    return -2.0 * float(np.log(factored[at.diagonal]).sum())


def inverse_entries(at: Pattern, factored: np.ndarray) -> np.ndarray:
    """Entries of the inverse where the factor has entries (Takahashi's equations), (n_entries,)."""
    inverse = np.empty(at.n_entries)
    threaded_square.gram(_last_square(at, factored), _last_square(at, inverse))
    ordered_map(lambda i: _inverse(at, factored, inverse, at.parts[i], at.parts[i + 1]), range(len(at.parts) - 1))
    return inverse


def solve(at: Pattern, factored: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solution for the right-hand sides `b`, (n, k)."""
    x = np.empty(b.shape)
    x[at.place] = b
    _solve(at, factored, 0, x)
    return x[at.place]


def columns_of_inverse(at: Pattern, factored: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Some columns of the inverse in the order of the factor, without the rows before, (n - start, stop - start)."""
    supernode = int(at.owner[start])
    before = start - int(at.first[supernode])
    x = np.zeros((len(at.place) - start + before, stop - start))
    x[before + np.arange(stop - start), np.arange(stop - start)] = 1.0
    _solve(at, factored, supernode, x)
    return x[before:]


def _last_square(at: Pattern, entries: np.ndarray) -> np.ndarray:
    n = len(at.place) - at.n_before_last
    return entries[at.panels[-2] :].reshape(n, n)


@compiled
def _product(A: np.ndarray, B: np.ndarray, out: np.ndarray) -> None:
    """``A B``."""
    if A.shape[0] * A.shape[1] * B.shape[1] >= _BY_BLAS:
        np.dot(A, B, out)
        return
    for i in range(A.shape[0]):
        out[i] = 0.0
        for k in range(A.shape[1]):
            for j in range(B.shape[1]):
                out[i, j] += A[i, k] * B[k, j]


@compiled
def _copy(A: np.ndarray, out: np.ndarray) -> None:
    """``out[:] = A``, which takes seconds to compile (for the message where shapes differ)."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[i, j] = A[i, j]


@compiled
def _factor(of: Pattern, entries: np.ndarray, begin: int, end: int) -> bool:
    """The panels of a part, from `begin` to `end`: each less what those before take.

    Left-looking: these wait in the list of the supernode that their next row belongs to.

    Returns whether the matrix is positive definite, as far as these panels tell.
    """
    most_rows = most_room = 0
    for s in range(begin, end):
        most_rows = max(most_rows, of.starts[s + 1] - of.starts[s])
        most_room = max(
            most_room,
            (of.starts[s + 1] - of.starts[s] - of.first[s + 1] + of.first[s]) * (of.first[s + 1] - of.first[s]),
        )
    room = np.empty(max(most_room, most_rows * _AT_ONCE))
    waiting, following = np.full(end - begin, -1), np.full(end - begin, -1)
    at = np.zeros(end - begin, dtype=np.int64)  # the row of each supernode whose turn comes next
    local = np.empty(len(of.owner), dtype=np.int64)  # where a row stands in the panel
    for s in range(begin, end):
        n_rows, columns = of.starts[s + 1] - of.starts[s], of.first[s + 1] - of.first[s]
        panel = entries[of.panels[s] : of.panels[s + 1]].reshape(n_rows, columns)
        for p in range(n_rows):
            local[of.rows[of.starts[s] + p]] = p
        k = waiting[s - begin]
        while k >= 0:
            later = following[k]
            others = of.rows[of.starts[begin + k] : of.starts[begin + k + 1]]
            stop = at[k]
            while stop < len(others) and of.owner[others[stop]] == s:
                stop += 1
            other = entries[of.panels[begin + k] : of.panels[begin + k + 1]].reshape(len(others), -1)
            _take(other, others, at[k], stop, local, of.first[s], room, panel)
            at[k] = stop
            if stop < len(others) and of.owner[others[stop]] < end:
                to = of.owner[others[stop]] - begin
                following[k] = waiting[to]
                waiting[to] = k
            k = later
        square, below = panel[:columns], panel[columns:]
        if not _invert_factor(square):
            return False
        if len(below):
            product = room[: below.size].reshape(below.shape)
            _product(below, square.T, product)
            _copy(product, below)
            at[s - begin] = columns
            to = of.owner[of.rows[of.starts[s] + columns]] - begin
            if to < end - begin:
                following[s - begin] = waiting[to]
                waiting[to] = s - begin
    return True


@compiled
def _take_from_last(of: Pattern, entries: np.ndarray, begin: int, end: int) -> None:
    """Take from the last panel's columns, from `begin` to `end`, what all panels before take."""
    last = len(of.first) - 2
    n = of.first[last + 1] - of.first[last]
    panel = entries[of.panels[last] : of.panels[last + 1]].reshape(n, n)
    local = np.arange(-of.first[last], n)  # of the rows before, those below zero, none is in the panel
    room = np.empty(n * _AT_ONCE)
    for k in range(last):
        others = of.rows[of.starts[k] : of.starts[k + 1]]
        start, stop = np.searchsorted(others, begin), np.searchsorted(others, end)
        if start < stop:
            other = entries[of.panels[k] : of.panels[k + 1]].reshape(len(others), -1)
            _take(other, others, start, stop, local, of.first[last], room, panel)


@compiled
def _take(
    other: np.ndarray,
    others: np.ndarray,
    start: int,
    stop: int,
    local: np.ndarray,
    first: int,
    room: np.ndarray,
    panel: np.ndarray,
) -> None:
    """Take from a panel what its columns from `start` to `stop` among the rows of another get from that."""
    if (len(others) - start) * (stop - start) * other.shape[1] < _BY_BLAS:
        for q in range(start, stop):
            column = others[q] - first
            for k in range(other.shape[1]):
                share = other[q, k]
                for p in range(q, len(others)):
                    panel[local[others[p]], column] -= share * other[p, k]
        return
    for p in range(start, stop, _AT_ONCE):
        own = min(_AT_ONCE, stop - p)
        taken = room[: (len(others) - p) * own].reshape(len(others) - p, own)
        _product(other[p:], other[p : p + own].T, taken)
        for i in range(len(others) - p):
            row = local[others[p + i]]
            for j in range(min(own, i + 1)):
                panel[row, others[p + j] - first] -= taken[i, j]


@compiled
def _invert_factor(square: np.ndarray) -> bool:
    """Replace a symmetric matrix, of which the lower triangle is read, by the inverse of its Cholesky factor.

    For squares that one thread handles; `threaded_square` does the same for the last and largest.
    """
    n = len(square)
    if n <= _AT_ONCE:
        return _invert_small_factor(square)
    for start in range(0, n, _AT_ONCE):
        stop = min(start + _AT_ONCE, n)
        diagonal = square[start:stop, start:stop].copy()
        if not _invert_small_factor(diagonal):
            return False
        _copy(diagonal, square[start:stop, start:stop])
        below = np.dot(square[stop:, start:stop].copy(), diagonal.T)
        _copy(below, square[stop:, start:stop])
        for p in range(0, n - stop, _WIDE):
            some = below[p : p + _WIDE]
            taken = np.dot(below[p:], some.T)
            rest = square[stop + p :, stop + p : stop + p + len(some)]
            for i in range(taken.shape[0]):
                for j in range(taken.shape[1]):
                    rest[i, j] -= taken[i, j]
    for start in range(_AT_ONCE, n, _AT_ONCE):
        stop = min(start + _AT_ONCE, n)
        own = square[start:stop, start:stop].copy()
        before = square[start:stop, :start].copy()
        for p in range(0, start, _WIDE):
            to = min(p + _WIDE, start)
            product = np.dot(before[:, p:].copy(), square[p:start, p:to].copy())
            _copy(-np.dot(own, product), square[start:stop, p:to])
        square[:start, start:stop] = 0.0
    return True


@compiled
def _gram(square: np.ndarray, out: np.ndarray) -> None:
    """``D'D`` for a lower triangle D."""
    n = len(square)
    if n <= _WIDE:
        _product(square.T, square, out)
        return
    for start in range(0, n, _WIDE):
        stop = min(start + _WIDE, n)
        part = np.dot(square[start:, start:stop].copy().T, square[start:, :stop].copy())
        _copy(part, out[start:stop, :stop])
        _copy(part[:, :start].T, out[:start, start:stop])


@compiled
def _invert_small_factor(square: np.ndarray) -> bool:
    n = len(square)
    for j in range(n):
        for k in range(j):
            share = square[j, k]
            for i in range(j, n):
                square[i, j] -= share * square[i, k]
        if not square[j, j] > 0:
            return False
        pivot = np.sqrt(square[j, j])
        for i in range(j, n):
            square[i, j] /= pivot
    for i in range(n):
        for j in range(i):
            total = 0.0
            for k in range(j, i):
                total += square[i, k] * square[k, j]
            square[i, j] = total
        square[i, i] = 1.0 / square[i, i]
        for j in range(i):
            square[i, j] *= -square[i, i]
            square[j, i] = 0.0
    return True


@compiled
def _place_of(rows: np.ndarray, row: int, start: int) -> int:
    """Where a row stands among ascending ones, from `start` on."""
    step, low = 1, start  # rows before `low` are smaller
    while low + step < len(rows) and rows[low + step - 1] < row:
        low += step
        step *= 2
    high = min(low + step, len(rows))
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _gather(of: Pattern, inverse: np.ndarray, some: np.ndarray, front: np.ndarray) -> None:
    """Entries of the inverse at some rows in the pattern of the first of them, ascending, and the same columns."""
    at = np.empty(len(some), dtype=np.uint64)  # unsigned, so that numba does not ask whether they count from the end
    start = 0
    while start < len(some):
        s = of.owner[some[start]]
        columns = of.first[s + 1] - of.first[s]
        others = of.rows[of.starts[s] : of.starts[s + 1]]
        panel = inverse[of.panels[s] : of.panels[s + 1]].reshape(len(others), columns)
        stop = start
        while stop < len(some) and of.owner[some[stop]] == s:
            at[stop] = some[stop] - of.first[s]
            stop += 1
        own, row = at[start:stop], np.int64(0)
        for p in range(start, len(some)):
            row = some[p] - of.first[s] if p < stop else _place_of(others, some[p], row)
            line, out = panel[row], front[p, start:]
            for q in range(np.uint64(min(stop, p + 1) - start)):
                out[q] = line[own[q]]
        start = stop
    _mirror(front)


@compiled
def _mirror(square: np.ndarray) -> None:
    """Make a lower triangle symmetric, in tiles, which stay in the cache."""
    n = len(square)
    for i in range(0, n, _TILE):
        for j in range(0, i + 1, _TILE):
            for p in range(i, min(i + _TILE, n)):
                for q in range(j, min(j + _TILE, p)):
                    square[q, p] = square[p, q]


@compiled
def _inverse(of: Pattern, entries: np.ndarray, inverse: np.ndarray, begin: int, end: int) -> None:
    """The panels of a part, from the last to the first; for the rows of the last supernode the inverse is known.

    With D the inverse of a panel's square, ``Y = L D`` for the rows L below it, and Z the entries of the inverse in
    which these rows meet, the inverse has ``-Z Y`` below, and ``D'D + Y'Z Y`` on the diagonal.
    """
    most_below = most_room = 0
    for s in range(begin, end):
        n_below = of.starts[s + 1] - of.starts[s] - of.first[s + 1] + of.first[s]
        most_below = max(most_below, n_below)
        most_room = max(most_room, n_below * (of.first[s + 1] - of.first[s]))
    room, fronts = np.empty(most_room), np.empty(most_below**2)
    for s in range(end - 1, begin - 1, -1):
        n_rows, columns = of.starts[s + 1] - of.starts[s], of.first[s + 1] - of.first[s]
        n_below = n_rows - columns
        panel = entries[of.panels[s] : of.panels[s + 1]].reshape(n_rows, columns)
        wanted = inverse[of.panels[s] : of.panels[s + 1]].reshape(n_rows, columns)
        square = panel[:columns]
        Z = fronts[: n_below**2].reshape(n_below, n_below)
        _gather(of, inverse, of.rows[of.starts[s] + columns : of.starts[s + 1]], Z)
        if n_rows**2 * columns < _BY_BLAS:
            _invert_small(panel, Z, room, wanted)
            continue
        _gram(square, wanted[:columns])
        if not n_below:
            continue
        Y = room[: n_below * columns].reshape(n_below, columns)
        _product(panel[columns:], square, Y)
        below = wanted[columns:]
        _product(Z, Y, below)
        more = np.empty((columns, columns))
        _product(Y.T, below, more)
        for i in range(columns):
            for j in range(columns):
                wanted[i, j] += more[i, j]
        for i in range(n_below):
            for j in range(columns):
                below[i, j] = -below[i, j]


@compiled
def _invert_small(panel: np.ndarray, Z: np.ndarray, room: np.ndarray, wanted: np.ndarray) -> None:
    """The same for a small panel, without products."""
    n_below, columns = len(Z), panel.shape[1]
    for j in range(columns):
        for q in range(n_below):  # -Y
            total = 0.0
            for k in range(j, columns):
                total -= panel[columns + q, k] * panel[k, j]
            room[q * columns + j] = total
    for p in range(n_below):
        for j in range(columns):
            wanted[columns + p, j] = 0.0
    for q in range(n_below):
        for p in range(n_below):
            for j in range(columns):
                wanted[columns + p, j] += Z[q, p] * room[q * columns + j]
    for i in range(columns):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, columns):
                total += panel[k, i] * panel[k, j]
            for q in range(n_below):
                total += wanted[columns + q, i] * room[q * columns + j]
            wanted[i, j] = wanted[j, i] = total


@compiled
def _solve(of: Pattern, entries: np.ndarray, supernode: int, x: np.ndarray) -> None:
    """In place of `x` the solution; `x` begins at the first column of `supernode`, before which it is zero."""
    n_panels, k, offset = len(of.first) - 1, x.shape[1], of.first[supernode]
    most = 0
    for s in range(supernode, n_panels):
        most = max(most, of.starts[s + 1] - of.starts[s])
    room, more = np.empty((most, k)), np.empty((most, k))
    for s in range(supernode, n_panels):
        n_rows, columns = of.starts[s + 1] - of.starts[s], of.first[s + 1] - of.first[s]
        panel = entries[of.panels[s] : of.panels[s + 1]].reshape(n_rows, columns)
        own, taken = x[of.first[s] - offset : of.first[s + 1] - offset], room[: n_rows - columns]
        if not own.any():
            continue
        _product(panel[:columns], own, more[:columns])
        _copy(more[:columns], own)
        _product(panel[columns:], own, taken)
        for p in range(n_rows - columns):
            row = of.rows[of.starts[s] + columns + p] - offset
            for c in range(k):
                x[row, c] -= taken[p, c]
    for s in range(n_panels - 1, supernode - 1, -1):
        n_rows, columns = of.starts[s + 1] - of.starts[s], of.first[s + 1] - of.first[s]
        panel = entries[of.panels[s] : of.panels[s + 1]].reshape(n_rows, columns)
        own, below = x[of.first[s] - offset : of.first[s + 1] - offset], room[: n_rows - columns]
        for p in range(n_rows - columns):
            row = of.rows[of.starts[s] + columns + p] - offset
            for c in range(k):
                below[p, c] = x[row, c]
        _product(panel[columns:].T, below, more[:columns])
        for p in range(columns):
            for c in range(k):
                own[p, c] -= more[p, c]
        _product(panel[:columns].T, own, more[:columns])
        _copy(more[:columns], own)
