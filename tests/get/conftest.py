"""Cells with fits that are handed over."""

import pytest

from samples import cells
from skeltraj import tl


@pytest.fixture(scope="package")
def two_trees():
    """150 cells with a DDRTree in three dimensions and a DRTree, not ordered; to be copied before it is changed."""
    adata = cells(150, seed=3)
    tl.ddrtree(adata, 3)
    tl.drtree(adata, 2)
    return adata
