"""What reads the input of a stored fit again: genes in any order, nothing silently from other values."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest
from scipy import sparse

import skeltraj as st
from samples import cells
from stored import same, snapshot


def fitted(method="ddrtree", kind="dense", n=200):
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
    adata = fitted(method, kind)
    turned = adata[:, np.random.default_rng(0).permutation(12)].copy()
    new = cells(260, n_features=12)[200:].copy()
    if kind == "layer":
        new.layers["scaled"] = 2 * new.X
    placed, other = (st.tl.ingest(new, ref, key=method, copy=True) for ref in (adata, turned))
    np.testing.assert_allclose(other.obs[f"{method}_pseudotime"], placed.obs[f"{method}_pseudotime"], atol=1e-8)
    np.testing.assert_allclose(other.obs[f"{method}_distance"], placed.obs[f"{method}_distance"], atol=1e-8)
    np.testing.assert_allclose(other.obsm[f"X_{method}"], placed.obsm[f"X_{method}"], atol=1e-8)
    pruned, also = (st.tl.prune(each, key=method, min_gain=0.03, copy=True) for each in (adata, turned))
    np.testing.assert_allclose(also.uns[method]["nodes"], pruned.uns[method]["nodes"])
    gains = [each.uns[method]["pruned"]["report"]["gain"] for each in (pruned, also)]
    np.testing.assert_allclose(gains[1], gains[0], atol=1e-9)
    back = st.tl.prune(also, key=method, undo=True, copy=True)
    whole = st.tl.prune(pruned, key=method, undo=True, copy=True)
    difference = back.obsm[f"{method}_assignment"] - whole.obsm[f"{method}_assignment"]
    assert abs(difference).max() < 1e-9


def test_genes_that_are_gone_are_named():
    adata = fitted()
    few = adata[:, 3:].copy()
    message = "3 of the 12 genes that the skeleton 'ddrtree' needs are not in adata.var_names: 'gene0', 'gene1', 'gene2'; wanted"
    before = snapshot(few)
    for function in (st.tl.prune, st.tl.stability):
        with pytest.raises(ValueError, match=message):
            function(few)
    with pytest.raises(ValueError, match=message.replace("adata.var", "adata_ref.var")):
        st.tl.ingest(cells(20, n_features=12), few)
    same(few, before)
    # other names for the same genes are the user's affair
    adata.var_names = [f"ENSG{i}" for i in range(12)]
    st.tl.prune(adata)


@pytest.mark.parametrize("change", ["scaled", "noise", "columns", "rows"])
def test_other_values_are_refused(change):
    adata = cells(200, n_features=12)
    adata.obsm["X_pca"] = adata.X[:, :8].copy()
    st.tl.ddrtree(adata)
    st.tl.order(adata, root=0)
    Z = adata.obsm["X_pca"]
    adata.obsm["X_pca"] = {
        "scaled": 3 * Z,
        "noise": np.random.default_rng(0).standard_normal(Z.shape),
        "columns": Z[:, :5],
        "rows": Z[::-1],
    }[change].copy()
    message = (
        r"X_pca'\] has 5 columns, and the skeleton 'ddrtree' was fitted on 8; wanted"
        if change == "columns"
        else r"X_pca'\] is not what the skeleton 'ddrtree' was fitted on: \d+ of 200 cells .* Wanted what it was fitted on, or"
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
    st.tl.prune(adata, undo=True)


def test_the_record_survives_slicing_files_and_any_order_of_the_cells(tmp_path):
    adata = fitted(n=400)
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
