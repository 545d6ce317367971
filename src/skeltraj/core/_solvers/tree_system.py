"""Linear systems whose matrix is a tree's Laplacian plus a diagonal: exact in O(K), no fill-in."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order

from skeltraj.core._runtime.compile import compiled


class TreeSystem:
    """Solve ``(stiffness * L + diag(mass)) x = b``, L the Laplacian of a tree.

    Parameters
    ----------
    edges
        The tree, (K - 1, 2); none of it with `stiffness` 0.
    stiffness
        Weight of the Laplacian, >= 0.
    mass
        Diagonal, (K,), >= 0. Where `stiffness` is 0, a node without mass gets the solution 0.

    Attributes
    ----------
    order, parent
        The nodes from a root on, and the parent of each, (K,).
    """

    def __init__(self, edges: np.ndarray, stiffness: float, mass: np.ndarray) -> None:
        n = len(mass)
        a, b = edges[:, 0], edges[:, 1]
        ones = np.ones(2 * len(edges))
        links = sparse.csr_matrix((ones, (np.r_[a, b], np.r_[b, a])), shape=(n, n))
        if len(edges):
            order, parent = breadth_first_order(links, 0, directed=False)
        else:
            order, parent = np.arange(n), np.full(n, -1)
        self.order = order.astype(np.int64)
        self.parent = parent.astype(np.int64)
        self._stiffness = float(stiffness)
        # What a node's subtree weighs as seen from above; written without the subtraction of nearly equal numbers
        # that elimination on the diagonal itself would do when the stiffness is large.
        self._load = _loads(self.order, self.parent, self._stiffness, np.asarray(mass, dtype=np.float64))

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Solution for the right-hand sides `b`, (K, m)."""
        return _solve(self.order, self.parent, self._stiffness, self._load, np.array(b, dtype=np.float64, order="C"))


@compiled
def _loads(order: np.ndarray, parent: np.ndarray, stiffness: float, mass: np.ndarray) -> np.ndarray:
    load = mass.copy()
    if stiffness > 0:
        for i in range(len(order) - 1, 0, -1):
            v = order[i]
            load[parent[v]] += stiffness * load[v] / (load[v] + stiffness)
    return load


@compiled
def _solve(order: np.ndarray, parent: np.ndarray, stiffness: float, load: np.ndarray, b: np.ndarray) -> np.ndarray:
    m = b.shape[1]
    for i in range(len(order) - 1, 0, -1):  # leaves to root
        v = order[i]
        if stiffness > 0:
            share = stiffness / (load[v] + stiffness)
            for j in range(m):
                b[parent[v], j] += share * b[v, j]
    for i in range(len(order)):  # root to leaves
        v = order[i]
        pivot = load[v] if i == 0 else load[v] + stiffness
        scale = 1.0 / pivot if pivot > 0 else 0.0
        for j in range(m):
            above = 0.0 if i == 0 else stiffness * b[parent[v], j]
            b[v, j] = (b[v, j] + above) * scale
    return b
