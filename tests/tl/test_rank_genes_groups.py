from __future__ import annotations

import anndata
import numpy as np
import pandas as pd
import pytest
import scanpy as sc
from anndata import AnnData

import skeltraj as st
from stored import refused
from two_forks import TWO_FORKS


@pytest.fixture(scope="module")
def tested():
    """Cells on a tree with two forks; gene "late" rises on one of the last arms, "trunk" along the trunk."""
    rng = np.random.default_rng(0)
    edge = rng.integers(0, 7, 700)
    ends = TWO_FORKS.nodes[TWO_FORKS.edges]
    points = ends[edge, 0] + rng.uniform(size=(700, 1)) * (ends[edge, 1] - ends[edge, 0])
    x, y = points.T
    late = np.where((x > 3) & (y > 0), 2 * (x - 3), 0.0)
    log_mean = np.column_stack([late, np.minimum(x, 2), *np.zeros((6, 700))])
    counts = rng.poisson(np.exp(log_mean)).astype(float)
    counts[:, 7] = 0
    names = ["late", "trunk", *(f"flat{i}" for i in range(5)), "zero"]
    adata = AnnData(counts, var=pd.DataFrame(index=names))
    adata.obsm["X_line"] = points
    st.tl.principal_tree(adata, use_rep="X_line", n_nodes=40, key_added="tree", prune=True)
    root = int(np.argmin(adata.uns["tree"]["nodes"][:, 0]))
    st.tl.order(adata, root=root, key="tree")
    return adata


@pytest.fixture
def adata(tested):
    adata = tested.copy()
    with pytest.warns(UserWarning, match="have the same value"):
        st.tl.association(adata, key="tree", size_factors=None)
    with pytest.warns(UserWarning, match="have the same value"):
        st.tl.branch_test(adata, key="tree", size_factors=None)
    return adata


def last_fork(adata):
    """The fork at (3, 0)."""
    forks = adata.uns["tree"]["order"]["forks"]["node"]
    nodes = adata.uns["tree"]["nodes"][forks]
    return forks.index[((nodes - [3.2, 0]) ** 2).sum(axis=1).argmin()]


def test_genes_that_no_branch_shows_do_not_lead_there(adata):
    st.tl.rank_genes_groups(adata, "association", key="tree")
    own = st.get.association(adata, key="tree").set_index("names")
    for group in adata.uns["rank_genes_groups"]["names"].dtype.names:
        table = sc.get.rank_genes_groups_df(adata, group=group).set_index("names")
        sign = own.loc[table.index, f"sign_{group}"]
        assert (sign == 0).any()
        assert (np.sign(table["scores"]) == sign).all()
        assert (table.loc[sign == 0, ["pvals", "pvals_adj"]] == 1).all(axis=None)
        known = own.loc[table.index[sign != 0]]
        np.testing.assert_array_equal(table.loc[known.index, "pvals"], known["pvals"])


def test_a_gene_that_comes_up_from_nothing_leads_its_branch(tested):
    adata = tested.copy()
    branch = adata.obs["tree_branch"].to_numpy()
    time = adata.obs["tree_pseudotime"].to_numpy()
    own = branch[np.argmax(np.where(adata.obsm["X_line"][:, 1] > 0, adata.obsm["X_line"][:, 0], 0))]
    on = branch == own
    share = np.where(on, (time - time[on].min()) / np.ptp(time[on]), 0.0)
    adata.X[:, 2] = np.random.default_rng(1).poisson(np.where(on, 0.001 * 2000**share, 0.0))
    assert not adata.X[~on, 2].any()
    with pytest.warns(UserWarning, match="have the same value"):
        st.tl.association(adata, key="tree", size_factors=None)
    st.tl.rank_genes_groups(adata, "association", key="tree")
    table = sc.get.rank_genes_groups_df(adata, group=own).set_index("names")
    assert table.loc["flat0", "scores"] > 0
    assert table.loc["flat0", "pvals"] < 1e-6


def test_only_earlier_results_are_replaced(adata):
    call = lambda name: lambda: st.tl.rank_genes_groups(adata, "association", key_added=name, key="tree")
    adata.uns["mine"] = 3
    for name in ("tree", "mine", "tree_branch_colors"):
        said = rf"key_added='{name}' would overwrite adata\.uns\['{name}'\], which is no result of rank_genes_groups"
        refused(adata, ValueError, said, call(name))
    call("tests")()
    st.tl.rank_genes_groups(adata, last_fork(adata), key_added="tests", key="tree")
    assert adata.uns["tests"]["params"]["method"] == "skeltraj.tl.branch_test"


def test_scanpy_reads_a_fork(adata):
    fork = last_fork(adata)
    st.tl.rank_genes_groups(adata, fork, key="tree")
    groups = adata.uns["rank_genes_groups"]["names"].dtype.names
    own = st.get.branch_test(adata, fork, key="tree").set_index("names")
    assert set(groups) == {name.removeprefix("change_") for name in own.columns if name.startswith("change_B")}
    up = own.loc["late", "up"]
    table = sc.get.rank_genes_groups_df(adata, group=up)
    assert table["names"][0] == "late"
    assert len(table) == 7  # without the gene that is zero everywhere
    table = table.set_index("names")
    assert table.loc["late", "pvals_adj"] == own.loc["late", "pvals_adj"]
    assert table.loc["late", "logfoldchanges"] == own.loc["late", f"change_{up}"] > 0.5
    (other,) = set(groups) - {up}
    assert sc.get.rank_genes_groups_df(adata, group=other)["names"].iloc[-1] == "late"
    sc.pl.rank_genes_groups_dotplot(adata, n_genes=2, show=False)


def test_the_association_by_branch(adata):
    st.tl.rank_genes_groups(adata, "association", key="tree", n_genes=3, key_added="along")
    own = adata.varm["tree_association"]
    trunk = adata.obs["tree_branch"].iloc[adata.obsm["X_line"][:, 0].argmin()]
    table = sc.get.rank_genes_groups_df(adata, group=trunk, key="along")
    assert len(table) == 3
    assert table["names"][0] == "trunk"
    assert table["scores"][0] == own.loc["trunk", "score"]
    assert adata.uns["along"]["params"]["groupby"] == "tree_branch"


def test_it_survives_a_file(adata, tmp_path):
    st.tl.rank_genes_groups(adata, "association", key="tree")
    adata.write_h5ad(tmp_path / "cells.h5ad")
    back = anndata.read_h5ad(tmp_path / "cells.h5ad")
    pd.testing.assert_frame_equal(
        sc.get.rank_genes_groups_df(adata, group=None), sc.get.rank_genes_groups_df(back, group=None)
    )


def test_a_copy_leaves_the_original(adata):
    copied = st.tl.rank_genes_groups(adata, "association", key="tree", copy=True)
    assert "rank_genes_groups" in copied.uns
    for key_added in (np.array(1), "a/b", "", None):
        with pytest.raises(ValueError, match="cannot name what is stored for scanpy; wanted a string"):
            st.tl.rank_genes_groups(adata, "F1", key="tree", key_added=key_added)
    assert "rank_genes_groups" not in adata.uns


def test_errors(adata, tested):
    with pytest.raises(KeyError, match="Neither a fork nor the association was tested"):
        st.tl.rank_genes_groups(tested.copy(), key="tree")
    with pytest.raises(
        KeyError, match=r"2 forks were tested; wanted the name of a test, as test='F1'\. Available: .*\]\.\"?$"
    ):
        st.tl.rank_genes_groups(adata, key="tree")
    with pytest.raises(KeyError, match="test='F9' has not been run. Available: .*'F1'"):
        st.tl.rank_genes_groups(adata, "F9", key="tree")
    with pytest.raises(ValueError, match="n_genes=0 is out of range"):
        st.tl.rank_genes_groups(adata, "F1", key="tree", n_genes=0)
    with pytest.warns(UserWarning, match="have the same value"):
        st.tl.branch_test(adata, between=("root", "T2"), key="tree", size_factors=None)
    with pytest.raises(ValueError, match="compares two places"):
        st.tl.rank_genes_groups(adata, "root-T2", key="tree")
    assert "rank_genes_groups" not in adata.uns


@pytest.mark.parametrize("step", ["order", "fit", "prune", "path", "ingest"])
def test_groups_of_another_tree_or_order_do_not_stay(adata, step):
    st.tl.rank_genes_groups(adata, "association", key="tree")
    st.tl.rank_genes_groups(adata, "association", key="tree", key_added="kept by name")
    sc.tl.rank_genes_groups(adata, "tree_branch", method="t-test", key_added="scanpy's", layer=None)
    others = AnnData(adata.X, obs=adata.obs, var=adata.var, obsm={"X_line": adata.obsm["X_line"]}, uns=dict(adata.uns))
    st.tl.principal_tree(others, use_rep="X_line", n_nodes=10, key_added="other", prune=False)
    for name in ("rank_genes_groups", "kept by name"):  # of another tree
        assert name in others.uns
    reference = adata.copy()
    if step == "order":
        st.tl.order(adata, root="T2", key="tree")
    elif step == "fit":
        st.tl.principal_tree(adata, use_rep="X_line", n_nodes=20, key_added="tree", prune=False)
    elif step == "prune":
        st.tl.prune(adata, key="tree", n_tips=2)
    elif step == "path":
        adata = st.tl.select_path(adata, "root", "T2", key="tree")
    else:
        st.tl.ingest(adata, reference, key="tree", use_rep="X_line")
    left = {name for name in adata.uns if name in ("rank_genes_groups", "kept by name", "scanpy's")}
    assert left == {"scanpy's"}
