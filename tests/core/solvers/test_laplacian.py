"""The Laplacian against its definition."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from skeltraj.core._solvers.laplacian import laplacian
from weighted_graphs import GRAPHS


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_it_is_the_degrees_less_the_weights(graph, format):
    n, edges = GRAPHS[graph]
    weights = np.random.default_rng(0).random(len(edges)) * (np.arange(len(edges)) % 5 > 0)  # some are zero
    L = laplacian(edges, n, weights, format=format)
    assert L.format == format
    np.testing.assert_allclose(
        L.toarray(), oracles.similarity_laplacian(oracles.from_pairs(edges, weights, n)), rtol=0, atol=1e-14
    )


def test_edges_without_weights_have_weight_one():
    L = laplacian(np.array([[0, 2], [2, 1]]), 4).toarray()
    np.testing.assert_array_equal(L, [[1, 0, -1, 0], [0, 1, -1, 0], [-1, -1, 2, 0], [0, 0, 0, 0]])
