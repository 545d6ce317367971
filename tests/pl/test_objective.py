"""The objective over the rounds."""

from __future__ import annotations

import numpy as np
from matplotlib import pyplot as plt

from skeltraj import pl


def test_the_objective_as_stored(adata):
    stored = adata.uns["ddrtree"]["objective"]
    ax = pl.objective(adata)
    [line] = ax.lines
    np.testing.assert_array_equal(line.get_xydata(), np.column_stack([np.arange(len(stored)), stored]))
    assert ax.get_yscale() == "linear"
    assert ax.get_title() == "converged"
    adata.uns["ddrtree"]["converged"] = np.bool_(False)
    _, given = plt.subplots()
    ax = pl.objective(adata, log=True, ax=given)
    assert ax is given
    [line] = ax.lines
    np.testing.assert_array_equal(line.get_ydata(), stored[:-1] - stored[-1])
    assert ax.get_yscale() == "log"
    assert ax.get_title() == "not converged"
    assert ax.get_ylabel() == "objective above its last value"
