"""The table of genes that differ between branches, with scanpy's names."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from skeltraj import get, tl
from tested_genes import cells_on_two_forks

FIRST = ["names", "scores", "logfoldchanges", "pvals", "pvals_adj"]
pytestmark = pytest.mark.filterwarnings("ignore:.* of 8 genes have the same value")


@pytest.fixture(scope="module")
def tested():
    adata = cells_on_two_forks(300, seed=1)
    tl.branch_test(adata, "F1", size_factors="factor")
    return adata


@pytest.fixture
def adata(tested):
    return tested.copy()


def test_one_test_need_not_be_named(adata):
    table = get.branch_test(adata)
    stored = adata.varm["ddrtree_branch_test"]
    assert list(table.columns[:5]) == FIRST
    assert set(table.columns[5:]) == {
        "up", "parting", "parting_low", "parting_high", "mean", "n_cells", "change_B2", "change_B3",
    }  # fmt: skip
    by_name = table.set_index("names").loc[adata.var_names]
    np.testing.assert_array_equal(by_name["pvals"], stored["F1_p_value"])
    np.testing.assert_array_equal(by_name["logfoldchanges"], stored["F1_change"])
    np.testing.assert_array_equal(by_name["change_B2"], stored["F1_change_B2"])
    assert table["names"].iloc[0] in ("arm", "rise")
    attrs = table.attrs
    assert (attrs["kind"], attrs["align"]) == ("fork", "pseudotime")
    assert set(attrs["arms"]) == {"B2", "B3"}
    assert attrs["arms"]["B2"]["stretch"] == 2
    assert get.branch_test(adata, "F1").equals(table)


def test_several_tests_are_told_apart(adata):
    tl.branch_test(adata, between=("root", "T2"))
    tl.branch_test(adata, between=("root", "T3"))
    whole = get.branch_test(adata, pval_cutoff=0.5)
    assert list(whole.columns[:6]) == ["test", *FIRST]
    assert list(whole.attrs) == ["F1", "root-T2", "root-T3"]
    for name, part in whole.groupby("test", sort=False):
        one = get.branch_test(adata, name, pval_cutoff=0.5)
        assert 0 < len(one) < 8
        assert whole.attrs[name] == one.attrs
        pd.testing.assert_frame_equal(part[one.columns].reset_index(drop=True), one, check_dtype=False)
        assert part[whole.columns.difference([*one.columns, "test"])].isna().all(axis=None)
    table = get.branch_test(adata, "root-T2", gene_symbols="symbol")
    assert set(table.columns) == {*FIRST, "change_error", "mean", "n_cells", "symbol"}
    assert table.attrs["between"] == [0, 4]
    assert len(get.branch_test(adata, "root-T2", pval_cutoff=0.05)) < 8
    assert (get.branch_test(adata, "F1", log2fc_min=0.5)["logfoldchanges"].abs() >= 0.5).all()
    with pytest.raises(KeyError, match="test='F2' has not been run. Available: "):
        get.branch_test(adata, "F2")


def test_what_is_not_there(adata):
    without = adata.copy()
    del without.varm["ddrtree_branch_test"]
    tl.order(adata, root=0)
    for lacking in (adata, without):
        with pytest.raises(
            KeyError, match=r"no 'ddrtree_branch_test'. Run skeltraj.tl.branch_test\(adata, key='ddrtree'\)"
        ):
            get.branch_test(lacking)
    with pytest.raises(KeyError, match="no skeleton is stored"):
        get.branch_test(adata, key="tree")
