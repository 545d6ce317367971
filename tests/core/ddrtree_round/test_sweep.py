"""One pass over a block of rows, against its formulas written down one after another."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from comparing import close
from samples import as_entries, forked
from skeltraj.core._data.blocks import DenseBlock, SparseBlock
from skeltraj.core._ddrtree_round.sweep import Sweep
from skeltraj.core._geometry.assign import assign, node_index
from skeltraj.core._geometry.near_nodes import near_nodes

SIGMA, GAMMA = 2e-4, 2.0


def problem(d, n=700, K=60, D=6):
    rng = np.random.default_rng(d)
    X = forked(n, D)[0]
    W = np.linalg.qr(rng.standard_normal((D, d)))[0]
    before = X[rng.choice(n, K, replace=False)] @ W
    return X, W, before, before + 0.02 * rng.standard_normal((K, d))


def literal(X, W, C, R, Z):
    """Embedding, assignment, and the sums: 1'R, R'X, the upper triangle of R'R, and three numbers."""
    scores = X @ W
    if R is not None:
        Z = (scores + GAMMA * (R @ C)) / (1 + GAMMA)
    elif Z is None:
        Z = scores
    new = assign(Z, C, SIGMA)
    R = new.weights.toarray()
    sums = [R.sum(axis=0), R.T @ X, np.triu(R.T @ R)]
    return Z, R, sums, [np.sum(scores**2), np.sum((scores - Z) ** 2), new.cost, np.count_nonzero(R)]


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("start", ["scores", "embedding", "assignment"])
@pytest.mark.parametrize("at_once", [1 << 9, 1 << 15], ids=["in parts", "at once"])
def test_a_pass_is_its_formulas(d, start, at_once, monkeypatch):
    monkeypatch.setattr("skeltraj.core._ddrtree_round.sweep._ENTRIES_AT_ONCE", at_once)
    X, W, before, C = problem(d)
    R = assign(X @ W, before, SIGMA).weights if start == "assignment" else None
    given = X @ W + 0.01 if start == "embedding" else None
    Z, new, wanted, numbers = literal(X, W, C, R, given)
    dense, filled = DenseBlock(X), SparseBlock(sparse.csr_matrix(X), np.zeros(X.shape[1]))
    for near in (None, near_nodes(C, SIGMA, len(X))):
        for block in (dense, filled):
            sweep = Sweep(W, C, SIGMA, GAMMA, True, node_index(C), near)
            sums = sweep.start()
            entries, embedding = sweep.visit(sums, block, None if R is None else as_entries(R)[0], given)
            close(embedding, Z, 1e-12)
            close(entries.as_matrix(len(C)).toarray(), new, 1e-9)
            for mine, theirs in zip(sums[:3], wanted, strict=True):
                close(mine, theirs, 1e-9)
            np.testing.assert_allclose(sums[3], numbers, rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2])
def test_lists_change_no_bit(d):
    X, W, before, C = problem(d)
    [R] = as_entries(assign(X @ W, before, SIGMA).weights)
    made = []
    lists = near_nodes(C, SIGMA, len(X))
    assert lists is not None
    for near in (None, lists):
        for number in (np.uint16, np.int32):
            sweep = Sweep(W, C, SIGMA, GAMMA, True, None, near)
            sums = sweep.start()
            made.append((*sweep.visit(sums, DenseBlock(X), R._replace(indices=R.indices.astype(number)), None), sums))
    for entries, Z, sums in made[1:]:
        np.testing.assert_array_equal(Z, made[0][1])
        for mine, theirs in zip((*entries, *sums), (*made[0][0], *made[0][2]), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_rows_that_are_the_same_come_to_lie_at_one_place():
    X, W, before, C = problem(2)
    X[[3, 77, 350, 699]] = X[10]
    [R] = as_entries(assign(X @ W, before, SIGMA).weights)
    sweep = Sweep(W, C, SIGMA, GAMMA, False, None, near_nodes(C, SIGMA, len(X)))
    entries, Z = sweep.visit(sweep.start(), DenseBlock(X), R, None)
    weights = entries.as_matrix(len(C)).toarray()
    for i in (3, 77, 350, 699):
        np.testing.assert_array_equal(Z[i], Z[10])
        np.testing.assert_array_equal(weights[i], weights[10])


def test_a_block_without_rows():
    _, W, _, C = problem(2)
    sweep = Sweep(W, C, SIGMA, GAMMA, True)
    sums = sweep.start()
    entries, Z = sweep.visit(sums, DenseBlock(np.empty((0, 6))), None, None)
    assert Z.shape == (0, 2)
    assert len(entries.data) == 0
    assert not any(part.any() for part in sums)
