"""The sparse weighted graph in which every point is made of its neighbours: a linear programme."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

# With this many times more coordinates than pairs the dual programme, with a row for each pair, is ten times as quick
# and more. Chosen by eye.
_WIDE = 20
_LARGE = 100.0  # a constant this many times larger than all coordinates has a unit of its own: chosen by eye
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
        # coordinates of about 1, so that the solver's tolerances mean the same in all units; a large constant apart
        extent = float(np.abs(points).max()) or 1.0
        units = np.full(A.shape[1], max(extent, constant))
        if constant > _LARGE * extent:
            units[: points.shape[1]] = extent
        self._extent = float(units[0])
        self._unit = np.tile(units, len(A))
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
        apart = squares[squares > _COLLAPSED * self._extent**2]  # nodes that have collapsed say nothing of the scale
        price = float(np.median(apart)) if len(apart) else self._extent**2  # costs of about 1
        costs, penalties = 2 * squares / price, self.eta * self._unit / price
        made, target = self._made.copy(), self._target / self._unit
        made.data /= np.repeat(self._unit, np.diff(made.indptr))
        wide = len(target) > _WIDE * len(costs)
        for solve in (_by_dual, _by_errors) if wide else (_by_errors, _by_dual):
            for method in (
                "highs-ds",
                "highs-ipm",
            ):  # the interior points where the simplex method fails, which is rare
                weights, message = solve(made, target, costs, penalties, method)
                if weights is not None:
                    return np.maximum(weights, 0.0)
        raise RuntimeError(f"HiGHS found no weights for {len(nodes)} nodes, {len(self.pairs)} pairs: {message}")

    def cost(self, nodes: np.ndarray, weights: np.ndarray) -> float:
        """What is minimised, for nodes, (K, D), and weights, (n_pairs,)."""
        error = np.abs(self._target - self._made @ weights).sum()
        return float(2 * weights @ self._squares(nodes) + self.eta * error)

    def _squares(self, nodes: np.ndarray) -> np.ndarray:
        return ((nodes[self.pairs[:, 0]] - nodes[self.pairs[:, 1]]) ** 2).sum(axis=1)


def _by_errors(
    made: sparse.csr_matrix, target: np.ndarray, costs: np.ndarray, penalties: np.ndarray, method: str
) -> tuple[np.ndarray | None, str]:
    """Weights g that minimise ``costs'g + penalties'|target - made g|``, or None and what the solver says.

    The l1 norm as linear costs: reconstruction + positive part - negative part of the error = the point itself.
    """
    error = sparse.identity(len(target), format="csc")
    parts = sparse.hstack([made, error, -error], format="csc")
    result = linprog(np.r_[costs, penalties, penalties], A_eq=parts, b_eq=target, method=method)
    return (result.x[: len(costs)] if result.success else None), result.message


def _by_dual(
    made: sparse.csr_matrix, target: np.ndarray, costs: np.ndarray, penalties: np.ndarray, method: str
) -> tuple[np.ndarray | None, str]:
    """The same from the dual: ``target'y`` at most, with ``made'y <= costs`` and ``|y| <= penalties``.

    The weights are the multipliers of its rows.
    """
    bounds = np.column_stack([-penalties, penalties])
    result = linprog(-target, A_ub=made.T.tocsr(), b_ub=costs, bounds=bounds, method=method)
    return (-result.ineqlin.marginals if result.success else None), result.message
