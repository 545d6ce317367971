"""Tables as arrays: pandas' own types of numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from samples import cells
from skeltraj import get, tl
from skeltraj.get._reading.tables import without_names
from stored import equal


def test_numbers_of_pandas_own_types():
    table = pd.DataFrame({"a": pd.array([1.5, None], dtype="Float64"), "b": pd.array([1, 2], dtype="Int64"), "c": 0.0})
    np.testing.assert_array_equal(without_names(table), [[1.5, 1, 0], [np.nan, 2, 0]])
    assert without_names(table[["c"]].astype(np.float32)).dtype == np.float32
    assert without_names(table.assign(d=["x", "y"])).dtype == object
    array = np.ones((2, 2))
    assert without_names(array) is array


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_an_embedding_of_such_numbers_is_learned_from_and_drawn_on():
    adata = cells(60)
    adata.obsm["plain"] = pd.DataFrame(adata.X, index=adata.obs_names).add_prefix("x")
    adata.obsm["nullable"] = adata.obsm["plain"].astype("Float64")
    for name in ("plain", "nullable"):
        tl.ddrtree(adata, use_rep=name, n_nodes=10, max_iter=5, key_added=f"of_{name}")
    equal(adata.uns["of_nullable"]["nodes"], adata.uns["of_plain"]["nodes"])
    places = [get.nodes_on_basis(adata, name, "of_plain") for name in ("plain", "nullable")]
    equal(*places)
