"""Comparing arrays and fits up to a tolerance."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def close(a, b, tolerance=1e-8):
    """Assert that no entry differs by more than a share of the largest entry of `b`."""
    a, b = (x.toarray() if sparse.issparse(x) else np.asarray(x) for x in (a, b))
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1e-300, np.abs(b).max(initial=0)))


def same_up_to_sign(a, b, tolerance=1e-8):
    """The same for two arrays whose columns may have other signs."""
    close(a * np.sign((a * b).sum(axis=0)), b, tolerance)


def same_fit(a, b, tolerance=1e-8):
    """Assert that two fits of the same data agree, one of which may hold dask arrays."""
    computed = lambda x: x.compute() if hasattr(x, "compute") else x
    for name in ("embedding", "nodes", "loadings", "objective"):
        close(computed(getattr(a, name)), computed(getattr(b, name)), tolerance)
    assert abs(computed(a.assignment) - computed(b.assignment)).max() <= tolerance
    np.testing.assert_array_equal(a.edges, b.edges)
    assert a.n_iter == b.n_iter
