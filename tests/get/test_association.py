"""The table of genes that change along a tree, with scanpy's names."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from skeltraj import get, tl
from tested_genes import GENES, cells_on_two_forks

FIRST = ["names", "scores", "logfoldchanges", "pvals", "pvals_adj"]


@pytest.fixture(scope="module")
def tested():
    adata = cells_on_two_forks(300, seed=1)
    with pytest.warns(UserWarning, match="1 of 8 genes"):
        tl.association(adata, size_factors="factor", covariates="batch")
    tl.association(adata, columns=["grade", "score"])
    return adata


@pytest.fixture
def adata(tested):
    return tested.copy()


def test_what_is_stored_under_the_names_of_scanpy(adata):
    before = adata.copy()
    table = get.association(adata)
    stored = adata.varm["ddrtree_association"]
    assert list(table.columns[:5]) == FIRST
    assert list(table.columns[5:]) == [c for c in stored.columns if c not in ("score", "change", "p_value", "q_value")]
    assert list(table.index) == list(range(8))
    assert set(table["names"]) == set(GENES)
    assert table["names"].iloc[-1] == "zero"  # no p-value
    assert np.isnan(table["pvals"].iloc[-1])
    assert table["pvals"].iloc[:-1].is_monotonic_increasing
    by_name = table.set_index("names").loc[GENES]
    for name, own in zip(FIRST[1:], ("score", "change", "p_value", "q_value"), strict=True):
        np.testing.assert_array_equal(by_name[name], stored[own])
    for name in table.columns[5:]:
        assert list(by_name[name].astype(str)) == list(stored[name].astype(str))
    table.iloc[:, 1] = 0.0  # a copy
    pd.testing.assert_frame_equal(adata.varm["ddrtree_association"], before.varm["ddrtree_association"])


def test_equal_p_values_are_sorted_by_score(adata):
    adata.varm["ddrtree_association"]["p_value"] = 0.5
    assert get.association(adata)["scores"].dropna().is_monotonic_decreasing


def test_how_it_was_tested(adata):
    attrs = get.association(adata).attrs
    assert attrs["family"] == "negative_binomial"
    assert attrs["covariates"] == ["batch=b", "batch=c"]
    assert attrs["n_cells"] == 300
    assert attrs["size_factors"] == "factor"
    assert "knots" not in attrs
    pd.concat([get.association(adata)] * 2)  # which compares them


def test_rows_by_p_value_and_change(adata):
    whole = get.association(adata)
    some = get.association(adata, pval_cutoff=0.05, log2fc_min=2.5)
    wanted = whole[(whole["pvals_adj"] <= 0.05) & (whole["logfoldchanges"].abs() >= 2.5)]
    assert 0 < len(some) < 8
    assert list(some["names"]) == list(wanted["names"])
    assert list(some.index) == list(range(len(some)))


def test_symbols(adata):
    table = get.association(adata, gene_symbols="symbol")
    assert list(table["symbol"]) == [name.upper() for name in table["names"]]
    with pytest.raises(KeyError, match=r"gene_symbols='gene' is not in adata.var. Available: \['chosen', 'symbol'\]"):
        get.association(adata, gene_symbols="gene")
    other = adata.copy()
    other.var["pvals"] = 0.0
    with pytest.raises(ValueError, match="gene_symbols='pvals' is a column of the table itself"):
        get.association(other, gene_symbols="pvals")


def test_columns_of_obs(adata):
    table = get.association(adata, columns=True)
    assert list(table["names"]) == ["score", "grade"]
    assert list(table.columns[:5]) == FIRST
    assert set(table["family"]) == {"gaussian"}
    with pytest.raises(ValueError, match="gene_symbols='symbol' was given with columns=True"):
        get.association(adata, columns=True, gene_symbols="symbol")


def test_what_is_not_there(adata):
    tl.order(adata, root=0)
    with pytest.raises(
        KeyError, match=r"no 'ddrtree_association'. Run skeltraj.tl.association\(adata, key='ddrtree'\)"
    ):
        get.association(adata)
    with pytest.raises(KeyError, match=r"Run skeltraj.tl.association\(adata, columns=\[...\], key='ddrtree'\) first"):
        get.association(adata, columns=True)
    with pytest.raises(KeyError, match="no skeleton is stored"):
        get.association(adata, "tree")
