"""A preconditioner of the nodes' system, for functions that are smooth along the tree and for rough ones.

The system is ``T = F - gamma R'R`` with ``F = (1 + gamma) A``, which a tree's solver inverts. Where the tree is stiff,
R'R hardly matters for rough functions along it, and ``F^-1`` is nearly ``T^-1`` for them. For smooth functions it is
not, but these are few. With H the functions that are linear between some nodes, their part of ``F^-1`` is replaced by
that of ``T^-1``: ``M = F^-1 + H ((H'TH)^-1 - (H'FH)^-1) H'``, as in two-grid methods. It is computed with
``H'FH = L L'`` and ``S = gamma L^-1 H'R'RH L^-T`` as ``F^-1 + H L^-T ((I - S)^-1 - I) L^-1 H'``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from skeltraj.core._geometry.assign import Entries
from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.threads import sums_of_groups
from skeltraj.core._solvers.tree_hats import Hats, hats
from skeltraj.core._solvers.tree_system import TreeSystem

# Nodes of a part between two peaks of H, at least, and about how many functions there are at most; more spare steps of
# conjugate gradients and take time themselves. By trial (benchmarks/systems.py).
_LEAST_STEP, _MOST_HATS = 10, 400
_GROUPS = 8  # of blocks that have sums of their own, a megabyte each; chosen by eye
_LEAST_CONCENTRATION = 1.8  # of R'R in what H spans, from which the second part spares steps; by trial


class Preconditioner:
    """Nearly ``T^-1``.

    As ``R'R <= Gamma <= A`` (as quadratic forms), the spectrum of ``F^-1 T`` lies in [1 / (1 + gamma), 1], whatever the
    number of points, of nodes, lam and sigma. The second part is not negative, and at most ``T^-1`` itself, so with it
    the spectrum lies in [1 / (1 + gamma), 2]. It is left out where R'R matters for what H spans not much more than for
    all functions, as with a tree that is hardly stiff and a small sigma: then it would spare no steps.

    Parameters
    ----------
    tree
        A.
    fixed
        F, (K, K).
    assignment
        R, (n_obs, K), as blocks of rows.
    gamma
        > 0.
    apply
        ``V -> T V``, (K, m).
    """

    def __init__(
        self,
        tree: TreeSystem,
        fixed: sparse.csr_matrix,
        assignment: Sequence[Entries],
        gamma: float,
        apply: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self._tree, self._gamma = tree, gamma
        found = hats(tree.order, tree.parent, max(_LEAST_STEP, len(tree.order) // _MOST_HATS))
        self._H = found.as_matrix()
        self._L = self._inner = np.empty((0, 0))  # until they are known, a call gives the tree's part alone
        L, wrong = lapack.dpotrf((self._H.T @ fixed @ self._H).toarray().T, lower=1, clean=1)
        if wrong:  # too stiff for double precision: F alone will do
            return
        half = lapack.dtrtrs(L, _overlap(assignment, found), lower=1)[0]
        S = gamma * lapack.dtrtrs(L, half.T, lower=1)[0]
        # gamma F^-1 R'R has the mean eigenvalue 1 - tr F^-1 T / K, and S those within H: the trace by random signs
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(tree.order), 2))
        mean = 1.0 - float((signs * self(apply(signs))).mean())
        if np.trace(S) < _LEAST_CONCENTRATION * found.n * mean:
            return
        inverse, wrong = _inverse(np.eye(found.n) - S)
        if not wrong:
            self._L, self._inner = L, inverse - np.eye(found.n)

    def __call__(self, b: np.ndarray) -> np.ndarray:
        """About ``T^-1 b``, (K, m)."""
        x = self._tree.solve(b) / (1 + self._gamma)
        if len(self._L):
            smooth = self._inner @ lapack.dtrtrs(self._L, self._H.T @ b, lower=1)[0]
            x += self._H @ lapack.dtrtrs(self._L, smooth, lower=1, trans=1)[0]
        return x


def _inverse(A: np.ndarray) -> tuple[np.ndarray, bool]:
    """Of a symmetric matrix; True where it is not positive definite."""
    factor, wrong = lapack.dpotrf(A, lower=1)
    lower = np.tril(lapack.dpotri(factor, lower=1)[0]) if not wrong else A
    return lower + np.tril(lower, -1).T, bool(wrong)


def _overlap(assignment: Sequence[Entries], found: Hats) -> np.ndarray:
    """``H'R'RH``, (n, n), in one pass over R; the same whatever the number of threads."""
    visit = lambda sums, i: _add_hat_pairs(*assignment[i], found.numbers, found.values, sums[0])
    [half] = sums_of_groups(len(assignment), lambda: [np.zeros((found.n, found.n))], visit, most=_GROUPS)
    return half + half.T


@compiled
def _add_hat_pairs(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    numbers: np.ndarray,
    values: np.ndarray,
    total: np.ndarray,
) -> None:
    """Add the products of each two entries of a row of RH once, to one of their two places, half of the squares."""
    sums, seen = np.zeros(len(total)), np.full(len(total), -1)
    own = np.empty(len(total), dtype=np.int64)
    for i in range(len(indptr) - 1):
        n_own = 0
        for at in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            node = np.uint64(indices[at])
            for side in range(2):
                h = np.uint64(numbers[node, side])
                if seen[h] != i:
                    seen[h], sums[h], own[n_own] = i, 0.0, h
                    n_own += 1
                sums[h] += weights[at] * values[node, side]
        for p in range(n_own):
            a = np.uint64(own[p])
            row, value = total[a], sums[a]
            for q in range(p):
                b = np.uint64(own[q])
                row[b] += value * sums[b]
            row[a] += 0.5 * value * value
