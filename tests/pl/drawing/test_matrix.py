"""The order of the nodes in a matrix."""

from __future__ import annotations

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import get, tl
from skeltraj.pl._drawing.matrix import node_places
from skeltraj.pl._drawing.values import values_of


def test_nodes_without_cells_stand_with_the_nearest_that_have_some():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 20)), rng.normal(size=(60, 20)) + 8])
    adata = AnnData(X, obs=pd.DataFrame({"g": pd.Categorical(["a"] * 60 + ["b"] * 60)}, index=map(str, range(120))))
    tl.ddrtree(adata, 10, preset="kdd2015")
    weights = get.assignment(adata)
    assert (np.asarray(weights.sum(axis=0)).ravel() == 0).any()
    values = values_of(adata, "g", argument="groupby")
    _, bounds, _ = node_places(get.graph(adata), weights, values)
    assert abs(bounds[1] - 60) <= 5  # with them all in the first group it would be 90
