"""Pictures are drawn without a display and closed after each test."""

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")
