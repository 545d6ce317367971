"""The sparse weighted graph in which every point is made of its neighbours: a linear programme."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

_COLLAPSED = 1e-12  # squared distances of nodes below this share of the squared extent are none: chosen by eye


class L1Graph:
    """Symmetric weights ``g >= 0`` on given pairs of nodes that minimise, over ordered pairs kl and nodes k::

        sum_kl g_kl ||f_k - f_l||^2 + eta sum_k ( ||a_k - sum_l g_kl a_l||_1 + constant |1 - sum_l g_kl| )

    (TPAMI 2017, eq. 13, with a constant beside the coordinates of every point).

    Parameters
    ----------
    points
        a, (K, D), one for each node.
    pairs
        Nodes that may be joined, (n_pairs, 2).
    eta
        Weight of the error, in units of the points.
    constant
        In units of the points, >= 0.
    """

    def __init__(self, points: np.ndarray, pairs: np.ndarray, eta: float, constant: float) -> None:
        self.pairs, self.eta = pairs, eta
        A = np.hstack([points, np.full((len(points), 1 if constant > 0 else 0), constant)])
        self._target = A.ravel()
        # the matrix that maps weights to the points that they reconstruct, ``sum_l g_kl a_l``, coordinate by coordinate
        (K, D), m, (a, b) = A.shape, len(pairs), pairs.T
        coordinate = (np.r_[a, b][:, None] * D + np.arange(D)).ravel()
        pair = np.repeat(np.r_[np.arange(m), np.arange(m)], D)
        self._made = sparse.csr_matrix((A[np.r_[b, a]].ravel(), (coordinate, pair)), shape=(K * D, m))

    def solve(self, nodes: np.ndarray) -> np.ndarray:
        """The weights of eq. 13, (n_pairs,), for nodes f, (K, D).

        Raises
        ------
        RuntimeError
            If HiGHS does not find the optimum.
        """
        squares = self._squares(nodes)
        # coordinates and costs of about 1, so that the solver's tolerances mean the same in all units
        extent = float(np.abs(self._target).max()) or 1.0
        apart = squares[squares > _COLLAPSED * extent**2]  # nodes that have collapsed say nothing of the scale
        price = float(np.median(apart)) if len(apart) else extent**2
        # the l1 norm as linear costs: reconstruction + positive part - negative part of the error = the point itself
        error = sparse.identity(len(self._target), format="csc")
        parts = sparse.hstack([self._made / extent, error, -error], format="csc")
        costs = np.r_[2 * squares, np.full(2 * len(self._target), self.eta * extent)] / price
        for method in ("highs-ds", "highs-ipm"):  # the interior points where the simplex method fails, which is rare
            result = linprog(costs, A_eq=parts, b_eq=self._target / extent, method=method)
            if result.success:
                return np.maximum(result.x[: len(self.pairs)], 0.0)
        raise RuntimeError(f"HiGHS found no weights for {len(nodes)} nodes, {len(self.pairs)} pairs: {result.message}")

    def cost(self, nodes: np.ndarray, weights: np.ndarray) -> float:
        """What is minimised, for nodes, (K, D), and weights, (n_pairs,)."""
        error = np.abs(self._target - self._made @ weights).sum()
        return float(2 * weights @ self._squares(nodes) + self.eta * error)

    def _squares(self, nodes: np.ndarray) -> np.ndarray:
        return ((nodes[self.pairs[:, 0]] - nodes[self.pairs[:, 1]]) ** 2).sum(axis=1)
