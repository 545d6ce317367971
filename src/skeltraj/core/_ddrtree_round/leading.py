"""The best loadings and nodes of a round where the nodes' system is solved by products alone."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from skeltraj.core._data.space import Moment

from .node_system import PRECISION, NodeSystem

_COUNTS = 1e-3  # of the largest singular value: smaller ones are directions that rounding may have made; chosen by eye


def leading(
    moment: Moment, system: NodeSystem, loadings: np.ndarray, nodes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Top eigenvectors W of ``S = X'X + gamma P' T^-1 P``, with ``P = R'X``, and the nodes ``C = T^-1 P W``.

    ``T^-1 P``, a solution for every column of the data, is never formed: only solutions along trial directions V are.
    As ``A <= T`` (as quadratic forms), ``X'X + gamma P' A^-1 P`` is an upper bound of S that costs no more than solves
    with a tree; corrected to equal S along V it still is one. So once the top eigenvectors of the bound lie in the span
    of V, they are those of S; until then, what sticks out of V is the next direction to try. The bound is tight where
    it matters, for directions in which the nodes vary smoothly: two or three sets of solutions are the rule.

    Parameters
    ----------
    moment
        X'X.
    system
        T and P, (K, D).
    loadings, nodes
        W and C of the round before, (D, d) and (K, d), to start from.

    Returns
    -------
    W, (D, d), and C, (K, d).
    """
    P, gamma = system.gathered, system.gamma
    rough = system.tree.solve(P)
    bound = moment.plus(gamma * P.T, rough.T)
    W = outside = loadings
    guess: np.ndarray | None = nodes
    values = np.zeros(1)
    precision = PRECISION
    V, U, F = np.empty((len(W), 0)), np.empty((len(P), 0)), np.empty((len(W), 0))
    while True:
        new = _orthonormal(outside, V)
        solved = system.solve(P @ new, guess, precision)
        excess = gamma * (P.T @ (rough @ new - solved))  # by how much the bound is too high along the new directions
        beyond = excess - V @ (V.T @ excess)
        left = np.linalg.norm(beyond @ (new.T @ W))
        excess = beyond + V @ (F.T @ new)  # along V it is known, and more precisely
        V, U, F = np.hstack([V, new]), np.hstack([U, solved]), np.hstack([F, excess])
        # The bound equals S along W, so W are its eigenvectors. This test often ends one step before that of the angle
        # below, and with equal eigenvalues it is the only one that ends.
        if V.shape[1] > W.shape[1] and left <= PRECISION * values[0]:
            return W, U @ (V.T @ W)
        values, W = bound.plus(V @ (V.T @ F) - 2 * F, V).top(W.shape[1])
        outside = W - V @ (V.T @ W)
        angle = float(np.linalg.norm(outside))
        if angle <= 10 * PRECISION or V.shape[1] == len(V):
            return W, U @ (V.T @ W)
        guess, precision = None, min(1e-2, PRECISION / angle)


def _orthonormal(A: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Basis of the directions of `A` that count, orthogonal to `V` to the last digit.

    Without any V, A are loadings, which are orthonormal.
    """
    if not V.shape[1]:
        return A
    left, sizes, _ = linalg.svd(A, full_matrices=False)
    Q = left[:, sizes > _COUNTS * sizes[0]][:, : V.shape[0] - V.shape[1]]
    for _ in range(2):
        Q = linalg.qr(Q - V @ (V.T @ Q), mode="economic")[0]
    return Q
