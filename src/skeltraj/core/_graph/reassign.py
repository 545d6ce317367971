"""The assignment of points when only some of the nodes are left."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse


def reassigned(weights: sparse.csr_matrix, nearest_end: Callable[[np.ndarray], np.ndarray]) -> sparse.csr_matrix:
    """Weights scaled so that rows sum to 1; a point without any goes to the nearer end of its edge.

    Parameters
    ----------
    weights
        Of the points on the nodes that are left, (n, n_nodes); overwritten.
    nearest_end
        For the numbers of some points, (m,): the nearer end of the edge of each, (m,).
    """
    weights.eliminate_zeros()
    total = np.asarray(weights.sum(axis=1)).ravel()
    weights.data /= np.repeat(total, np.diff(weights.indptr))
    lost = np.flatnonzero(total <= 0)
    if len(lost):
        to_nearest = sparse.csr_matrix((np.ones(len(lost)), (lost, nearest_end(lost))), shape=weights.shape)
        weights = sparse.csr_matrix(weights + to_nearest)
    weights.sort_indices()
    return weights
