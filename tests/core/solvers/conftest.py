"""Systems with the Laplacian of a weighted graph."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from weighted_graphs import GRAPHS


@pytest.fixture(params=GRAPHS)
def problem(request):
    """A graph, weights of very different sizes, some zero, and the matrix as numpy has it."""
    n, pairs = GRAPHS[request.param]
    rng = np.random.default_rng(7)
    weights = 10.0 ** rng.uniform(-3, 2, len(pairs)) * (rng.random(len(pairs)) < 0.9)
    return n, pairs, weights, 0.3, oracles.similarity_laplacian(oracles.from_pairs(pairs, weights, n)) + 0.3 * np.eye(n)
