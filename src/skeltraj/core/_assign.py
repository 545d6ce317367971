"""Soft and hard assignment of points to nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

# Weights below exp(-40), 4e-18 of their row's largest, are left out: they change no sum of double precision numbers.
_CUT = 40.0


class Assignment(NamedTuple):
    """Assignment of points to nodes and what it costs."""

    weights: sparse.csr_matrix  # (n, K); rows sum to 1
    cost: float  # sum over points of  sum_k R_ik ||z_i - c_k||^2 + sigma * sum_k R_ik log R_ik


def assign(points: np.ndarray, nodes: np.ndarray, sigma: float) -> Assignment:
    """Assignment that minimises the quantisation error with entropy weight `sigma`.

    Soft: ``R_ik = exp(-||z_i - c_k||^2 / sigma)``, normalised by row (KDD 2015, eq. 12), shifted by the row's
    smallest distance so that no row underflows. ``sigma = 0`` is the limit: 1 at the nearest node (the first of
    equally near ones), 0 elsewhere. At this optimum the cost of a row is ``-sigma log sum_k exp(-||z_i - c_k||^2 /
    sigma)``.

    Parameters
    ----------
    points
        (n, d).
    nodes
        (K, d).
    sigma
        In squared units of the data, >= 0.
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    columns = np.ascontiguousarray(nodes.T, dtype=np.float64)  # one coordinate of all nodes in a row: vectorises
    indptr, indices, weights, cost = _assign(points, columns, float(sigma), _CUT * float(sigma))
    shape = (len(points), len(nodes))
    return Assignment(sparse.csr_matrix((weights, indices, indptr), shape=shape), cost)


@njit(cache=True, nogil=True)
def _assign(
    points: np.ndarray, columns: np.ndarray, sigma: float, reach: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    n, d = points.shape
    n_nodes = columns.shape[1]
    distance = np.empty(n_nodes)
    indptr = np.zeros(n + 1, dtype=np.int32)
    room = 4 * n if sigma > 0 else n
    indices = np.empty(room, dtype=np.int32)
    weights = np.empty(room)
    used = 0
    cost = 0.0
    for i in range(n):
        for k in range(n_nodes):
            distance[k] = 0.0
        for j in range(d):
            z = points[i, j]
            for k in range(n_nodes):
                difference = z - columns[j, k]
                distance[k] += difference * difference
        nearest = 0
        low = distance[0]
        for k in range(1, n_nodes):
            if distance[k] < low:
                low = distance[k]
                nearest = k
        if sigma == 0.0:
            indices[used] = nearest
            weights[used] = 1.0
            used += 1
            cost += low
        else:
            if used + n_nodes > room:  # grow: no cap on the entries of a row
                room = 2 * room + n_nodes
                more_indices = np.empty(room, dtype=np.int32)
                more_indices[:used] = indices[:used]
                indices = more_indices
                more_weights = np.empty(room)
                more_weights[:used] = weights[:used]
                weights = more_weights
            first = used
            total = 0.0
            for k in range(n_nodes):
                above = distance[k] - low
                if above <= reach:
                    weight = np.exp(-above / sigma)
                    indices[used] = k
                    weights[used] = weight
                    total += weight
                    used += 1
            for at in range(first, used):
                weights[at] /= total
            cost += low - sigma * np.log(total)
        indptr[i + 1] = used
    return indptr, indices[:used].copy(), weights[:used].copy(), cost
