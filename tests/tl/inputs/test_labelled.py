"""Series and DataFrames that are given with names of cells or genes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from samples import cells
from skeltraj import tl
from skeltraj.tl._inputs.labelled import in_order_of
from stored import equal, refused
from tested_genes import GENES, cells_on_two_forks

NAMES = pd.Index(["a", "b", "c"])


def test_values_come_in_the_order_of_the_names():
    column = pd.Series([1, 2, 3], index=["c", "a", "b"])
    assert in_order_of(NAMES, column, "groups", "adata.obs_names").tolist() == [2, 3, 1]
    assert in_order_of(NAMES, column.to_frame(), "groups", "adata.obs_names")[0].tolist() == [2, 3, 1]


def test_values_without_names_or_in_order_stay_as_they_are():
    twice = pd.Series([1, 2], index=["a", "a"])
    assert in_order_of(twice.index, twice, "groups", "adata.obs_names") is twice
    # pandas' own numbers of rows are no names
    counted = pd.Series([1, 2, 3])
    for values in (None, "stage", [1, 2, 3], np.arange(3), pd.Series([1, 2, 3], index=NAMES), counted):
        assert in_order_of(NAMES, values, "groups", "adata.obs_names") is values


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (["a", "b", "d"], "3 entries, as 'd', which is none of them"),
        (["a", "b"], "2 entries"),
        (["a", "b", "b"], "3 entries"),
        ([0, 1, 2], "3 entries, as 0, which is none of them"),
    ],
)
def test_other_names_are_refused(index, said):
    values = pd.Series(1, index=index)
    with pytest.raises(
        ValueError, match=rf"groups is a Series whose index has {said}; wanted the 3 names in adata\.obs_names, each"
    ):
        in_order_of(NAMES, values, "groups", "adata.obs_names")


@pytest.fixture
def adata():
    return cells_on_two_forks()


@pytest.mark.parametrize("dtype", [bool, "boolean"])
@pytest.mark.filterwarnings("ignore:1 of . genes have the same value")
def test_a_mask_of_genes_is_taken_by_name(adata, dtype):
    mask = pd.Series([True, False, True] + [False] * 5, index=GENES).astype(dtype).sort_index()
    tl.association(adata, genes=mask)
    tested = adata.varm["ddrtree_association"]["p_value"].notna()
    assert tested.index[tested].tolist() == ["rise", "late"]
    tl.branch_test(adata, "F1", genes=mask)
    assert adata.varm["ddrtree_branch_test"]["F1_p_value"].notna().tolist() == tested.tolist()
    tl.trends(adata, genes=mask)
    assert np.isfinite(adata.varm["ddrtree_trends"]).any(axis=1).tolist() == tested.tolist()


def test_masks_that_are_refused(adata):
    call = lambda mask: lambda: tl.association(adata, genes=mask)
    numbers = pd.Series([True] * 8, index=list(range(8)))
    refused(adata, ValueError, "genes is a Series whose index has 8 entries, as 0, which is none", call(numbers))
    lacking = pd.Series([True, None] * 4, index=GENES, dtype="boolean")
    refused(adata, ValueError, "genes: the Series has no value for 4 of 8 genes, such as 'arm'", call(lacking))
    adata.var["lacking"] = lacking.array
    said = r"genes: adata\.var\['lacking'\] has no value for 4 of 8 genes, such as 'arm'; wanted True or False"
    refused(adata, ValueError, said, call("lacking"))


@pytest.mark.parametrize("method", ["ddrtree", "drtree"])
@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_a_start_is_taken_by_name(method):
    adata = cells(60)
    start = pd.DataFrame(adata.X[:, :2], index=adata.obs_names)
    kw = dict(n_nodes=10) if method == "ddrtree" else {}
    fit = lambda key, init: getattr(tl, method)(adata, 2, init=init, key_added=key, max_iter=5, **kw)
    fit("a", start)
    fit("b", start[::-1])
    equal(adata.obsm["X_a"], adata.obsm["X_b"])
    refused(adata, ValueError, "init is a DataFrame whose index has 59 entries", lambda: fit("c", start[1:]))
    if method == "ddrtree":
        fit("c", (start[::-1], adata.uns["a"]["nodes"]))
        fit("d", (start, adata.uns["a"]["nodes"]))
        equal(adata.obsm["X_c"], adata.obsm["X_d"])


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_candidates_are_taken_by_name():
    adata = cells(40)
    near = np.argsort(((adata.X[:, None] - adata.X) ** 2).sum(axis=2), axis=1)[:, 1:6]
    joined = np.zeros((40, 40))
    np.put_along_axis(joined, near, 1.0, axis=1)
    table = pd.DataFrame(np.maximum(joined, joined.T), index=adata.obs_names, columns=adata.obs_names)
    fit = lambda key, candidates: tl.principal_graph(
        adata, n_nodes="all", candidates=candidates, max_iter=3, key_added=key
    )
    fit("a", table.to_numpy())
    fit("b", table.iloc[::-1, 10:].join(table.iloc[:, :10]))
    equal(adata.uns["b"]["edges"], adata.uns["a"]["edges"])
    other = table.rename(columns={"cell0": "cell99"})
    said = "candidates, turned, is a DataFrame whose index has 40 entries, as 'cell99', which is none of them"
    refused(adata, ValueError, said, lambda: fit("c", other))


def test_groups_are_taken_by_name():
    adata = cells(60)
    groups = pd.Series(adata.obs["stage"].astype(str), index=adata.obs_names)
    for key, labels in (("a", groups), ("b", groups[::-1]), ("c", "stage")):
        tl.principal_graph(adata, n_nodes=10, groups=labels, key_added=key)
    equal(adata.uns["a"]["edges"], adata.uns["c"]["edges"])
    equal(adata.uns["b"]["edges"], adata.uns["c"]["edges"])
    tl.principal_graph(adata, n_nodes=10, groups=groups.reset_index(drop=True), key_added="d")
    equal(adata.uns["d"]["edges"], adata.uns["c"]["edges"])
    call = lambda: tl.principal_graph(adata, n_nodes=10, groups=groups.set_axis(range(1, 61)))
    refused(adata, ValueError, "groups is a Series whose index has 60 entries, as 1, which is none", call)
