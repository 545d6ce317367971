"""Cells that many tests begin with; pictures are drawn without a display and closed after each test."""

import matplotlib
import pytest

from samples import cells
from skeltraj import tl

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.fixture
def adata():
    """150 cells on three arms, of which nothing has been learned."""
    return cells()


@pytest.fixture(scope="session")
def three_arms():
    """300 cells with a DDRTree in three dimensions, not ordered; to be copied before anything is changed."""
    adata = cells(300, seed=1)
    tl.ddrtree(adata, 3)
    return adata
