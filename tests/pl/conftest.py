"""Fitted and ordered cells to draw."""

import numpy as np
import pytest

from samples import cells
from skeltraj import tl


@pytest.fixture(scope="session")
def _fitted():
    adata = cells(200)
    rng = np.random.default_rng(1)
    adata.obs["number"] = rng.permutation(200).astype(float)
    adata.layers["double"] = 2 * adata.X
    tl.ddrtree(adata, 3, n_nodes=30, denoise=False, max_iter=1000)
    tl.order(adata, {"stage": "stem"})
    return adata


@pytest.fixture
def adata(_fitted):
    """200 cells in three dimensions, 30 nodes; the number of each cell differs, and the root is a tip."""
    return _fitted.copy()
