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
    pyarrow = pytest.importorskip("pyarrow", exc_type=ImportError)  # it is of no use with numpy 1.26, and says so
    words = pd.Series(["b", "a", None, "c"], index=list("wxyz"), dtype=pd.ArrowDtype(pyarrow.string()))
    found = covariates_of(adata_of(pd.DataFrame({"kind": words})), ["kind"], np.ones(4, dtype=bool))
    assert (found.names, found.missing[:, 0].tolist()) == (["kind=b", "kind=c"], [False, False, True, False])
    np.testing.assert_array_equal(found.values, [[1, 0], [0, 0], [np.nan, np.nan], [0, 1]])


def test_numbers_as_objects_are_no_groups():
    ages = pd.Series([50, 60, None, 70], index=list("wxyz"), dtype=object)
    adata, every = adata_of(pd.DataFrame({"age": ages})), np.ones(4, dtype=bool)
    message = r"covariates: adata.obs\['age'\] is of type object and holds int; wanted numbers \(adata.*float\)\) or"
    with pytest.raises(TypeError, match=message):
        covariates_of(adata, "age", every)
    adata.obs["age"] = ages.astype(float)
    assert covariates_of(adata, "age", every).names == ["age"]
    adata.obs["age"] = ages.astype("category")
    assert covariates_of(adata, "age", every).names == ["age=60", "age=70"]


def test_two_values_as_objects_are_groups():
    values = {"yes": [True, False, None, True], "one": [1, 0, None, 1]}
    adata = adata_of(
        pd.DataFrame({name: pd.Series(of, index=list("wxyz"), dtype=object) for name, of in values.items()})
    )
    found = covariates_of(adata, ["yes", "one"], np.ones(4, dtype=bool))
    assert found.names == ["yes=True", "one=1"]
    np.testing.assert_array_equal(found.values, [[1, 1], [0, 0], [np.nan, np.nan], [1, 1]])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([60.0, 60, np.nan, 70], "60"),
        ([True, True, True, False], "1"),
        (pd.Categorical(["x", "x", None, "y"]), "'x'"),
    ],
    ids=["number", "yes", "group"],
)
def test_one_value_in_the_cells_used(values, said):
    adata = adata_of(pd.DataFrame({"of": values}, index=list("wxyz")))
    covariates_of(adata, "of", np.ones(4, dtype=bool))
    with pytest.raises(ValueError, match=f"covariates: 'of' is {said} for all [23] cells used; wanted one that varies"):
        covariates_of(adata, "of", np.array([True, True, True, False]))


def test_known_and_filled():
    adata = adata_of(pd.DataFrame({"age": [50.0, np.nan, 70, 40]}, index=list("wxyz")))
    found = covariates_of(adata, "age", np.ones(4, dtype=bool))
    assert found.known.tolist() == [True, False, True, True]
    np.testing.assert_array_equal(found.filled, [[50], [0], [70], [40]])
    assert found.or_explained
    none = covariates_of(adata, None, np.ones(4, dtype=bool))
    assert none.known.all()
    assert none.filled is None
    assert not none.or_explained
