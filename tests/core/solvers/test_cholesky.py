"""Sparse Cholesky by supernodes, against numpy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import oracles
from comparing import close
from skeltraj.core._solvers import cholesky, factor_pattern
from weighted_graphs import random_graph, turned


def entries_of(at, pairs, weights, Q):
    entries = np.zeros(at.n_entries)
    entries[factor_pattern.find(at, pairs)] = -weights
    entries[at.diagonal[at.place]] = np.diag(Q)
    return entries


def in_full(at, entries):
    """A lower triangle from its panels."""
    F = np.zeros((len(at.place), len(at.place)))
    for s, (first, stop) in enumerate(zip(at.first[:-1], at.first[1:], strict=True)):
        rows = at.rows[at.starts[s] : at.starts[s + 1]]
        F[rows, first:stop] = entries[at.panels[s] : at.panels[s + 1]].reshape(len(rows), -1)
    return np.tril(F)


def check(n, pairs, weights, Q, tol=1e-10):
    at = factor_pattern.pattern(n, pairs)
    given = entries_of(at, pairs, weights, Q)
    factor = cholesky.factor(at, given)
    assert factor is given  # in the same memory
    placed = np.empty_like(Q)
    placed[np.ix_(at.place, at.place)] = Q
    L = in_full(at, factor)
    for first, stop in zip(at.first[:-1], at.first[1:], strict=True):
        square = slice(first, stop)
        L[square, square] = np.linalg.inv(L[square, square])
    close(L @ L.T, placed, tol)
    close(L, np.linalg.cholesky(placed), tol)
    assert cholesky.log_determinant(at, factor) == pytest.approx(np.linalg.slogdet(Q)[1], rel=1e-10, abs=1e-10 * n)
    inverse = np.linalg.inv(placed)
    within = in_full(at, np.ones(at.n_entries)) > 0
    close(in_full(at, cholesky.inverse_entries(at, factor))[within], inverse[within], tol)
    b = np.random.default_rng(0).standard_normal((n, 3))
    close(cholesky.solve(at, factor, b), np.linalg.solve(Q, b), tol)
    for start, stop in ((0, n), (0, 1), (n // 3, n // 2 + 1), (n - 1, n)):
        close(cholesky.columns_of_inverse(at, factor, start, stop), inverse[start:, start:stop], tol)
    return at


@pytest.mark.parametrize("share", [None, 0.0, 1.0])
def test_the_factor_multiplied_out_is_the_matrix(problem, share, monkeypatch):
    n, pairs, weights, _, Q = problem
    if share is not None:
        monkeypatch.setattr(factor_pattern, "_JOINED", ((np.inf, share),))
        monkeypatch.setattr(factor_pattern, "_MIN_WORK", 1.0)  # as if it were worth threads
    check(n, pairs, weights, Q)


@pytest.mark.parametrize(("n", "share"), [(500, 0.015), (300, 0.2)])
def test_large_supernodes(n, share):
    """Panels of more columns than are handled at once, products that BLAS makes, fronts of many tiles."""
    pairs = turned(random_graph(n, share, 5), n)
    weights = 10.0 ** np.random.default_rng(3).uniform(-3, 2, len(pairs))
    Q = oracles.similarity_laplacian(oracles.from_pairs(pairs, weights, n)) + 0.01 * np.eye(n)
    at = check(n, pairs, weights, Q, tol=1e-9)
    assert np.diff(at.first).max() > cholesky._WIDE


def cliques_that_share_nodes(sizes, n_shared):
    ends = n_shared + np.cumsum(sizes)
    n, parts = int(ends[-1]), [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    nodes = [np.r_[np.arange(n_shared), part] for part in parts]
    pairs = np.unique(
        np.concatenate([some[np.argwhere(np.triu(np.ones((len(some),) * 2), 1))] for some in nodes]), axis=0
    )
    weights = 10.0 ** np.random.default_rng(3).uniform(-3, 2, len(pairs))
    return n, pairs, weights, oracles.similarity_laplacian(oracles.from_pairs(pairs, weights, n)) + 0.01 * np.eye(n)


def test_wide_supernodes_before_the_last():
    """Panels of more columns than are handled at once, with rows below them."""
    n_shared = 70
    at = check(*cliques_that_share_nodes((150, 160, 170), n_shared), tol=1e-9)
    below = np.diff(at.starts) - np.diff(at.first)
    assert ((np.diff(at.first) > cholesky._WIDE) & (below >= n_shared)).sum() >= 2


def test_any_number_of_threads_gives_the_same_to_the_last_bit(monkeypatch):
    n, pairs, weights, Q = cliques_that_share_nodes((90, 100, 30, 60, 200), 70)
    monkeypatch.setattr(factor_pattern, "_MIN_WORK", 1e3)
    at = factor_pattern.pattern(n, pairs)
    assert len(at.parts) > 2
    assert len(at.slabs) > 2
    found = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        monkeypatch.setattr("os.sched_getaffinity", lambda _: range(8), raising=False)
        factor = cholesky.factor(at, entries_of(at, pairs, weights, Q))
        found.append((factor, cholesky.inverse_entries(at, factor)))
    for factor, inverse in found[1:]:
        np.testing.assert_array_equal(factor, found[0][0])
        np.testing.assert_array_equal(inverse, found[0][1])


@pytest.mark.parametrize("n", [2, 100])
def test_a_matrix_that_is_not_positive_definite_is_refused(n):
    pairs = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    at = factor_pattern.pattern(n, pairs)
    entries = np.zeros(at.n_entries)
    entries[factor_pattern.find(at, pairs)] = -2.0
    entries[at.diagonal] = 1.0
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        cholesky.factor(at, entries)


def test_a_large_square_that_is_not_positive_definite_is_refused():
    """Of the last supernode, and of one before it: two cliques of 90 that share 10 nodes."""
    n = 170
    cliques = np.arange(n)[:, None] // 80 == np.arange(n) // 80
    cliques[160:] = cliques[:, 160:] = True
    at = factor_pattern.pattern(n, np.argwhere(np.triu(cliques, 1)))
    assert at.first[1] > cholesky._AT_ONCE
    for place, value in product((3, at.first[1] - 1, n - 1), (-1.0, np.nan)):
        entries = np.zeros(at.n_entries)
        entries[at.diagonal] = 1.0
        entries[at.diagonal[place]] = value
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            cholesky.factor(at, entries)
