"""New rows on a tree: known ones, and a start that decides."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from skeltraj import core
from skeltraj.core._data.stream import Stream
from skeltraj.core._learning.ingest import Reference, ingest


def test_a_start_decides_between_two_places_of_rest():
    nodes = np.array([[-1.0], [1.0]])
    common = dict(edges=np.array([[0, 1]]), objective=np.ones(1), converged=True, n_iter=0)
    fit = core.DDRTreeFit(
        nodes=nodes,
        **common,
        params=dict(gamma=9.0, sigma=0.1),
        embedding=nodes,
        assignment=sparse.identity(2, format="csr"),
        loadings=np.ones((1, 1)),
        mean=np.zeros(1),
    )
    X = np.array([[0.2]])
    np.testing.assert_allclose(fit.transform(X), [[(0.2 + 9) / 10]], atol=1e-6)
    np.testing.assert_allclose(fit.transform(X, start=np.array([[-0.5]])), [[(0.2 - 9) / 10]], atol=1e-6)
    with pytest.raises(ValueError, match=r"start has shape \(2, 1\); wanted \(1, 1\)"):
        fit.transform(X, start=nodes)
    # the row of the reference that is most alike lies on the left, though its data are on the right
    reference = Reference(fit, np.array([[-0.8], [0.9]]), nodes)
    placed = ingest(reference, Stream(np.array([[0.25], [3.0]])), Stream(np.array([[0.2], [3.0], [2.0]])))
    np.testing.assert_allclose(placed.embedding, [[-0.88], [0.9], [1.1]], atol=1e-6)
    np.testing.assert_array_equal(placed.same, [-1, 1, -1])
    np.testing.assert_allclose(placed.distance, [1.08, 2.1, 1.0], atol=1e-6)  # to -0.88, 0.9 and the end at 1
    np.testing.assert_array_equal(placed.likeness, 1)  # two rows are too few to be compared with
    assert not placed.far.any()
    with pytest.raises(ValueError, match="X has 2 columns; the reference has 1"):
        ingest(reference, Stream(np.ones((2, 1))), Stream(np.ones((2, 2))))
