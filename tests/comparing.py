"""Comparing numbers and fits up to a tolerance."""

from __future__ import annotations

import numpy as np


def agree(a, b, tolerance=1e-8):
    """Two fits of the same data."""
    computed = lambda x: x.compute() if hasattr(x, "compute") else x
    for name in ("embedding", "nodes", "loadings", "objective"):
        one, other = computed(getattr(a, name)), computed(getattr(b, name))
        assert np.abs(one - other).max() <= tolerance * np.abs(other).max(), name
    assert abs(computed(a.assignment) - computed(b.assignment)).max() <= tolerance
    np.testing.assert_array_equal(a.edges, b.edges)
    assert a.n_iter == b.n_iter
