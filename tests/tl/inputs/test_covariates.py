"""Columns of obs as columns of a model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData

from skeltraj.tl._inputs.covariates import covariates_of


def adata_of(obs):
    return AnnData(np.zeros((4, 1)), obs=obs)


def test_numbers_stay_and_groups_become_zero_and_one():
    obs = pd.DataFrame(
        {
            "age": [50.0, np.nan, 70, 40],
            "yes": pd.array([True, False, None, True], dtype="boolean"),
            "type": pd.Categorical(["b", "a", None, "c"], categories=["c", "b", "a", "none"]),
        },
        index=list("wxyz"),
    )
    adata = adata_of(obs)
    found = covariates_of(adata, ["age", "yes", "type"], np.ones(4, dtype=bool))
    assert found.columns == ["age", "yes", "type"]
    assert found.names == ["age", "yes", "type=b", "type=a"]
    nan = np.nan
    np.testing.assert_array_equal(found.values, [[50, 1, 1, 0], [nan, 0, 0, 1], [70, nan, nan, nan], [40, 1, 0, 0]])
    np.testing.assert_array_equal(found.missing, [[0, 0, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]])
    assert covariates_of(adata, ["type"], np.array([True, True, True, False])).names == ["type=a"]
    none = covariates_of(adata, None, np.ones(4, dtype=bool))
    assert (none.values.shape, none.missing.shape, none.names) == ((4, 0), (4, 0), [])


def test_words_of_arrow_are_groups():
    pyarrow = pytest.importorskip("pyarrow")
    words = pd.Series(["b", "a", None, "c"], index=list("wxyz"), dtype=pd.ArrowDtype(pyarrow.string()))
    found = covariates_of(adata_of(pd.DataFrame({"kind": words})), ["kind"], np.ones(4, dtype=bool))
    assert (found.names, found.missing[:, 0].tolist()) == (["kind=b", "kind=c"], [False, False, True, False])
    np.testing.assert_array_equal(found.values, [[1, 0], [0, 0], [np.nan, np.nan], [0, 1]])
