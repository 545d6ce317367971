"""The sample from which the nodes start."""

from __future__ import annotations

import numpy as np
import pytest

from comparing import same_fit
from samples import forked
from skeltraj import core


@pytest.mark.compiled("takes minutes")
def test_more_cells_than_the_start_looks_at():
    da = pytest.importorskip("dask.array")
    # the sample from which the nodes start is the same whether it is taken in one piece or block by block
    X = forked(25_000, 4)[0]
    options = dict(n_nodes=30, max_iter=5, tol=0)
    whole = core.ddrtree(X, **options)
    same_fit(core.ddrtree(da.from_array(X, chunks=(4000, 4)), **options), whole)
    shuffled = core.ddrtree(X[np.random.default_rng(0).permutation(len(X))], **options)
    np.testing.assert_array_equal(shuffled.nodes, whole.nodes)
    scaled = core.ddrtree(100 * X, **options)
    np.testing.assert_allclose(scaled.nodes, 100 * whole.nodes, rtol=1e-6, atol=1e-6)
