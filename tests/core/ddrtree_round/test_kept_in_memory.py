"""What is kept of the assignment between sweeps."""

from __future__ import annotations

import numpy as np
import pytest

from samples import as_entries, forked
from skeltraj import core
from skeltraj.core._data.rows import Rows
from skeltraj.core._ddrtree_round.kept_in_memory import KeptInMemory
from skeltraj.core._ddrtree_round.sweep import Sweep
from skeltraj.core._geometry.assign import assign


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize(
    "how", [{}, {"extrapolate": True}, {"least_weight": 1e-12}], ids=["plain", "extrapolated", "few weights"]
)
@pytest.mark.parametrize(
    ("n_nodes", "lam", "asked"),
    [(40, 100.0, 0), (40, 1e18, 1), ("all", 1500.0, 1), (500, 1500.0, 1)],
    ids=["factorised", "not to be factorised", "conjugate gradients", "now those, now these"],
)
def test_what_is_kept_of_the_assignment_does_not_matter_to_the_last_bit(n_nodes, lam, asked, how, monkeypatch):
    monkeypatch.setattr("skeltraj.core._data.rows.BLOCK_ENTRIES", 1 << 10)  # many blocks, and some of them kept
    X = forked(1500, 6)[0]
    fits, without, whole = [], [], []
    keep, entries = KeptInMemory.keep, KeptInMemory.entries

    def watched(cells, i, R):
        keep(cells, i, R)
        without.append(not cells._blocks[i].kept)

    monkeypatch.setattr(KeptInMemory, "keep", watched)
    monkeypatch.setattr(KeptInMemory, "entries", lambda cells: whole.append(1) or entries(cells))
    for most in (1 << 27, 1 << 17, 0):
        monkeypatch.setattr("skeltraj.core._ddrtree_round.kept_in_memory._ALWAYS_KEPT_BYTES", most)
        without.clear(), whole.clear()
        fits.append(core.ddrtree(X, n_nodes=n_nodes, lam=lam, max_iter=6, tol=0, **how))
        assert any(without) == (most < 1 << 27 and n_nodes != "all")
        assert bool(whole) == bool(asked)
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.embedding, fits[0].embedding)
        np.testing.assert_array_equal(fit.objective, fits[0].objective)
        assert (fit.assignment != fits[0].assignment).nnz == 0


def test_as_much_of_the_assignment_is_kept_as_may_be(monkeypatch):
    monkeypatch.setattr("skeltraj.core._data.rows.BLOCK_ENTRIES", 1)  # blocks of 64 rows
    X = np.random.default_rng(0).normal(size=(640, 2))
    nodes = X[:30].copy()
    sweep = Sweep(np.eye(2), nodes, 0.1, 1.0, True)
    R = assign(X, nodes, 0.1).weights
    rows = Rows(X, center=False, order=np.arange(640))
    assert len(rows.slices) == 10
    kept = KeptInMemory(rows, 30, 2, X.copy(), most=int(5 * R.nnz))  # of 10 bytes for each entry, and slack
    for all_of_it in (True, False):
        kept.begin(all_of_it)
        for i, at in enumerate(rows.slices):
            kept.keep(i, *as_entries(R[at]))
        kept.swept(sweep)
        assert all(block.kept for block in kept._blocks) == all_of_it
    assert 2 <= sum(block.kept for block in kept._blocks) <= 5
    assert sum(block.weights.nbytes + block.numbers.nbytes for block in kept._blocks) <= 5 * R.nnz
    for i, at in enumerate(rows.slices):
        assert (kept.assignment(i).as_matrix(30) != R[at]).nnz == 0
    assert sum(len(weights) for _, _, weights in kept.entries()) == R.nnz
    hard = assign(X, nodes, 0.0).weights  # one entry each: once the rest is given up, there is room for all
    for _ in range(2):
        kept.begin(all_of_it=False)
        for i, at in enumerate(rows.slices):
            kept.keep(i, *as_entries(hard[at]))
    assert all(block.kept for block in kept._blocks)
