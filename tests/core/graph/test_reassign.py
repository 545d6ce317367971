"""The assignment to the nodes that are left, worked by hand."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from skeltraj.core._graph.reassign import reassigned


def test_weights_are_scaled_and_points_without_any_go_to_the_nearer_end():
    # the second point has no entries, the third only one that is zero
    weights = sparse.csr_matrix((np.array([0.1, 0.3, 0.0]), np.array([0, 2, 1]), np.array([0, 2, 2, 3])), shape=(3, 3))
    nearer_end = np.array([0, 1, 2])
    R = reassigned(weights, lambda lost: nearer_end[lost])
    np.testing.assert_allclose(R.toarray(), [[0.25, 0, 0.75], [0, 1, 0], [0, 0, 1]], rtol=1e-15)
    assert R.nnz == 4
