"""Functions that are linear between some nodes of a tree."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components

import oracles
from skeltraj.core._solvers.tree_hats import hats
from skeltraj.core._solvers.tree_system import TreeSystem

N = 300
PARENTS = {
    "line": lambda i, rng: i - 1,
    "star": lambda i, rng: 0,
    "comb": lambda i, rng: i - 1 if i % 2 else max(0, i - 2),
    "grown at random": lambda i, rng: rng.integers(i),
    "long arms": lambda i, rng: rng.integers(max(0, i - 4), i),
    "two of each": lambda i, rng: (i - 1) // 2,
}


@pytest.mark.parametrize("step", [1, 2, 7, 30, 1000])
@pytest.mark.parametrize("shape", PARENTS)
def test_they_are_linear_between_peaks_and_constant_on_what_branches_off(shape, step):
    """Which are the functions with these values at the peaks for which the Laplacian vanishes elsewhere."""
    rng = np.random.default_rng(0)
    names = rng.permutation(N)
    edges = names[[(PARENTS[shape](i, rng), i) for i in range(1, N)]]
    tree = TreeSystem(edges, 1.0, np.ones(N))
    found = hats(tree.order, tree.parent, step)
    H = found.as_matrix().toarray()
    np.testing.assert_allclose(H.sum(axis=1), 1.0, rtol=1e-14)
    assert (H >= 0).all()
    assert ((H > 0).sum(axis=1) <= 2).all()
    peaks = np.flatnonzero(H.max(axis=1) == 1.0)
    peaks = peaks[[tree.parent[v] < 0 or (H[v] != H[tree.parent[v]]).any() for v in peaks]]
    np.testing.assert_array_equal(np.sort(H[peaks].argmax(axis=1)), np.arange(found.n))
    L = oracles.laplacian(edges, N)
    others = np.setdiff1d(np.arange(N), peaks)
    harmonic = -np.linalg.solve(L[np.ix_(others, others)], L[np.ix_(others, peaks)] @ H[peaks])
    np.testing.assert_allclose(H[others], harmonic, atol=1e-10)
    # parts without a peak are small, and lie between two of them at most
    links = sparse.csr_matrix(np.where(np.eye(N), 0, L))
    n_parts, part = connected_components(links[others][:, others])
    sizes = np.bincount(part, minlength=n_parts)
    assert sizes.max(initial=0) < max(step, 2)
    beside = [np.unique(links[others[part == p]][:, peaks].nonzero()[1]).size for p in range(n_parts)]
    assert max(beside, default=0) <= 2
    assert found.n <= 1 + 2 * N // step
