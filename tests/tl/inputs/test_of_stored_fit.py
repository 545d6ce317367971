"""What reads the input of a stored fit again: genes in any order, nothing silently from other values."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import skeltraj as st
from samples import cells
from stored import equal, same, snapshot


def learned_and_ordered(method="ddrtree", kind="dense", n=200):
    adata = cells(n + 60, n_features=12)[:n].copy()
    if kind == "sparse":
        adata.X = sparse.csr_matrix(adata.X)
    elif kind == "layer":
        adata.layers["scaled"] = 2 * adata.X
    getattr(st.tl, method)(adata, **({"layer": "scaled"} if kind == "layer" else {}))
    st.tl.order(adata, root=0, key=method)
    return adata


@pytest.mark.parametrize("kind", ["dense", "sparse", "layer"])
@pytest.mark.parametrize("method", ["ddrtree", "principal_tree"])
def test_genes_may_come_in_another_order(method, kind):
    adata = learned_and_ordered(method, kind)
    turned = adata[:, np.random.default_rng(0).permutation(12)].copy()
    new = cells(260, n_features=12)[200:].copy()
    if kind == "layer":
        new.layers["scaled"] = 2 * new.X
    placed, other = (st.tl.ingest(new, ref, key=method, copy=True) for ref in (adata, turned))
    np.testing.assert_allclose(other.obs[f"{method}_pseudotime"], placed.obs[f"{method}_pseudotime"], atol=1e-8)
    np.testing.assert_allclose(other.obs[f"{method}_distance"], placed.obs[f"{method}_distance"], atol=1e-8)
    np.testing.assert_allclose(other.obsm[f"X_{method}"], placed.obsm[f"X_{method}"], atol=1e-8)
    pruned, also = (st.tl.prune(version, key=method, min_gain=0.03, copy=True) for version in (adata, turned))
    np.testing.assert_allclose(also.uns[method]["nodes"], pruned.uns[method]["nodes"])
    gains = [version.uns[method]["pruned"]["report"]["gain"] for version in (pruned, also)]
    np.testing.assert_allclose(gains[1], gains[0], atol=1e-9)
    back = st.tl.prune(also, key=method, undo=True, copy=True)
    whole = st.tl.prune(pruned, key=method, undo=True, copy=True)
    difference = back.obsm[f"{method}_assignment"] - whole.obsm[f"{method}_assignment"]
    assert abs(difference).max() < 1e-9


def test_genes_that_are_gone_are_named():
    adata = learned_and_ordered()
    few = adata[:, 3:].copy()
    message = (
        "3 of the 12 genes that the skeleton 'ddrtree' needs are not in adata.var_names: "
        "'gene0', 'gene1', 'gene2'; wanted"
    )
    before = snapshot(few)
    for function in (st.tl.prune, st.tl.stability):
        with pytest.raises(ValueError, match=message):
            function(few)
    with pytest.raises(ValueError, match=message.replace("adata.var", "adata_ref.var")):
        st.tl.ingest(cells(20, n_features=12), few)
    same(few, before)
    # other names for the same genes are the user's affair
    named = adata.copy()
    named.var_names = [f"ENSG{i}" for i in range(12)]
    st.tl.prune(named)
    st.tl.prune(adata)
    equal(named.uns["ddrtree"]["pruned"], adata.uns["ddrtree"]["pruned"])


@pytest.mark.parametrize("change", ["scaled", "noise", "half", "columns"])
def test_other_values_are_refused(change):
    adata = cells(200, n_features=12)
    adata.obsm["X_pca"] = adata.X[:, :8].copy()
    st.tl.ddrtree(adata)
    st.tl.order(adata, root=0)
    Z = adata.obsm["X_pca"]
    adata.obsm["X_pca"] = {
        "scaled": 3 * Z,
        "noise": np.random.default_rng(0).standard_normal(Z.shape),
        "half": np.vstack([Z[:100], 3 * Z[100:]]),
        "columns": Z[:, :5],
    }[change].copy()
    message = (
        r"X_pca'\] has 5 columns, and the skeleton 'ddrtree' was fitted on 8; wanted"
        if change == "columns"
        else r"X_pca'\] is not what the skeleton 'ddrtree' was fitted on: \d+ of 200 cells .* "
        r"Wanted what it was fitted on, or"
    )
    before = snapshot(adata)
    with pytest.raises(ValueError, match=message):
        st.tl.prune(adata)
    with pytest.raises(ValueError, match=message):
        st.tl.stability(adata, n_replicates=2)
    new = adata[:10].copy()
    with pytest.raises(ValueError, match=message):
        st.tl.ingest(new, adata, use_rep="X_pca")
    same(adata, before)
    adata.obsm["X_pca"] = Z.astype(np.float32)  # less precision is no other value
    st.tl.prune(adata)
    assert "order" not in adata.uns["ddrtree"]  # it belonged to the tree before pruning
    st.tl.prune(adata, undo=True)
    assert "pruned" not in adata.uns["ddrtree"]


def test_other_names_are_no_other_values():
    adata = learned_and_ordered()
    adata.obs_names = [str(i) for i in range(200)]
    st.tl.ddrtree(adata)
    # numbered anew after some were left out, or in another order; genes by other names
    part = adata[adata.obs["stage"] != "left"].copy()
    part.obs_names = [str(i) for i in range(part.n_obs)]
    st.tl.prune(part)
    turned = adata[::-1].copy()
    turned.obs_names = adata.obs_names
    st.tl.prune(turned)
    turned.obs_names = "sample1_" + turned.obs_names
    turned.var_names = "ENSG" + turned.var_names
    st.tl.prune(turned)
    turned.X = turned.X[:, ::-1]
    turned.obs_names = adata.obs_names
    with pytest.raises(ValueError, match="adata.X is not what the skeleton 'ddrtree' was fitted on: 200 of 200 cells"):
        st.tl.prune(turned)


@pytest.mark.filterwarnings("ignore:No cell lies on a stretch")
@pytest.mark.filterwarnings("ignore:.* cells are unlike the reference")
def test_genes_go_by_their_names_also_where_the_compared_cells_lack_them():
    adata = learned_and_ordered("principal_tree", n=600)
    rare = np.flatnonzero(~adata.obs_names.isin(adata.uns["principal_tree"]["input"]["cells"]))[:20]
    adata = ad.AnnData(np.c_[adata.X, np.zeros((600, 2))], obs=adata.obs[["stage"]])
    adata.X[rare, 12] = 3
    st.tl.principal_tree(adata)
    st.tl.order(adata, root=0, key="principal_tree")
    assert not adata.obs_names[rare].isin(adata.uns["principal_tree"]["input"]["cells"]).any()
    turned = adata[:, [*range(12), 13, 12]].copy()
    one, two = (st.tl.ingest(adata[rare].copy(), ref, key="principal_tree", copy=True) for ref in (adata, turned))
    np.testing.assert_array_equal(one.obs["principal_tree_distance"], two.obs["principal_tree_distance"])


@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "f4"])
@pytest.mark.filterwarnings(
    "ignore:Transforming to str index", "ignore:.*looks like raw counts", "ignore:.*the trees from", "ignore:.*in doubt"
)
def test_any_type_of_number_and_of_name(dtype, tmp_path):
    adata = cells(200, n_features=12)
    adata.X = (np.abs(adata.X) / np.abs(adata.X).max() * {"u1": 250, "i2": 3e4, "i4": 1e9, "f4": 1e25}[dtype]).astype(
        dtype
    )
    adata.var.index = pd.RangeIndex(12)
    adata.obs.index = pd.RangeIndex(200)
    st.tl.ddrtree(adata, use_rep="X")
    assert np.isfinite(adata.uns["ddrtree"]["input"]["size"]).all()
    st.tl.prune(adata)
    adata.write_h5ad(tmp_path / "x.h5ad")
    read = ad.read_h5ad(tmp_path / "x.h5ad")
    st.tl.prune(read)
    read.X = 2 * read.X.astype(np.float64)
    with pytest.raises(ValueError, match="is not what the skeleton"):
        st.tl.prune(read)


def test_a_branch_is_grafted_with_its_genes_in_their_order():
    adata = learned_and_ordered("principal_tree", n=300)
    arm = adata.obs["stage"].to_numpy() == "left"
    part = adata[arm].copy()
    st.tl.principal_tree(part, key_added="arm")
    turned = adata[arm][:, ::-1].copy()
    st.tl.principal_tree(turned, key_added="arm")
    shifts = []
    for version in (part, turned):
        whole = adata.copy()
        whole.uns["arm"] = version.uns["arm"]
        st.tl.attach(whole, key="principal_tree", branch="arm")
        nodes = whole.uns["principal_tree"]["nodes"]
        shift = nodes[:, None] - nodes[None]
        shifts.append(np.sort(np.sqrt((shift**2).sum(axis=2)).ravel()))
    np.testing.assert_allclose(shifts[1], shifts[0], atol=1e-6)
    whole = adata.copy()
    whole.uns["arm"] = part.uns["arm"]
    whole.X = 2 * whole.X
    with pytest.raises(ValueError, match="is not what the skeleton"):
        st.tl.attach(whole, key="principal_tree", branch="arm")


@pytest.mark.filterwarnings("ignore:.*the number of tips, 3, is in doubt")  # of one arm
def test_a_branch_of_an_embedding_is_grafted_without_the_input():
    adata = learned_and_ordered("ddrtree", n=300)
    arm = adata[adata.obs["stage"] == "left"].copy()
    whole = adata[:, ::-1].copy()
    whole.uns["arm"] = adata.uns["ddrtree"]
    whole.varm["arm_loadings"] = whole.varm["ddrtree_loadings"]
    whole.obsm["X_arm"] = whole.obsm["X_ddrtree"]
    # one fit before the genes were turned, one whose mean is in their order now
    whole.uns["arm"] = dict(whole.uns["arm"]) | {
        "mean": whole.uns["arm"]["mean"][::-1],
        "input": dict(whole.uns["arm"]["input"]) | {"var_names": whole.var_names.to_numpy(dtype=object)},
    }
    n_nodes = len(whole.uns["ddrtree"]["nodes"])
    whole.X = None
    st.tl.attach(whole, branch="arm")
    assert len(whole.uns["ddrtree"]["nodes"]) == 2 * n_nodes
    # the nodes of a tree of the embedding live in it, whatever its own input was
    st.tl.principal_tree(arm, use_rep="X_ddrtree")
    arm.X = 3 * arm.X
    st.tl.attach(arm, key="principal_tree", branch="ddrtree")
    assert len(arm.uns["principal_tree"]["nodes"]) > n_nodes


def test_the_record_survives_slicing_files_and_any_order_of_the_cells(tmp_path):
    adata = learned_and_ordered(n=400)
    known = adata.uns["ddrtree"]["input"]
    assert len(known["cells"]) == 200
    order = np.random.default_rng(0).permutation(400)
    again = ad.AnnData(adata.X[order], obs=adata.obs[["stage"]].iloc[order], var=adata.var[[]])
    st.tl.ddrtree(again)
    for name, value in known.items():
        np.testing.assert_array_equal(again.uns["ddrtree"]["input"][name], value)
    adata.write_h5ad(tmp_path / "x.h5ad")
    read = ad.read_h5ad(tmp_path / "x.h5ad")
    part = read[150:].copy()
    st.tl.prune(part)
    part.X = part.X + np.arange(12)
    with pytest.raises(
        ValueError, match=r"adata.X is not what the skeleton 'ddrtree' was fitted on: \d+ of \d+ cells that were"
    ):
        st.tl.prune(part)
