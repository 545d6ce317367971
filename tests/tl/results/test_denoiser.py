"""A stored fit whose components had heavy tails: what is stored, and what later calls make of it."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest

import skeltraj as st
from samples import bursting

pytestmark = [
    pytest.mark.compiled("whole recipes, with fits from several starts"),
    pytest.mark.filterwarnings("ignore:No cell lies on a stretch"),
]


def cells():
    X = bursting()
    adata = ad.AnnData(X, obsm={"X_pca": X})
    adata.obs_names = [f"cell{i}" for i in range(len(X))]
    return adata


@pytest.fixture(scope="module")
def fitted():
    adata = cells()
    st.tl.ddrtree(adata)
    st.tl.order(adata, root=st.get.graph(adata).node_names[int(st.get.graph(adata).tips[0])])
    return adata


def test_what_is_stored_denoises_other_cells_alike(fitted, tmp_path):
    stored = st.get.stored(fitted, "ddrtree")["denoise"]
    assert stored["unmixing"].shape == (8, 8)
    assert stored["medians"].shape == (8,)
    smooth = st.core.Denoised(None, **stored)
    expected = st.core.denoise(fitted.obsm["X_pca"], compress=True)
    np.testing.assert_allclose(smooth.transform(fitted.obsm["X_pca"]), expected.values, atol=1e-9)
    fitted.write_h5ad(tmp_path / "cells.h5ad")
    read = ad.read_h5ad(tmp_path / "cells.h5ad")
    np.testing.assert_array_equal(st.get.stored(read, "ddrtree")["denoise"]["unmixing"], stored["unmixing"])


def test_it_is_said(fitted):
    assert "heavy tails compressed; denoised by 15 neighbours" in str(st.get.summary(fitted))
    plain = fitted.copy()
    st.tl.ddrtree(plain, denoise={"compress": False})
    assert "unmixing" not in st.get.stored(plain, "ddrtree")["denoise"]
    assert "heavy tails" not in str(st.get.summary(plain))


def test_the_same_cells_and_cells_near_them_come_to_lie_where_they_are(fitted):
    near = fitted[:100].copy()
    near.obsm["X_pca"] = near.obsm["X_pca"] + 1e-4
    st.tl.ingest(near, fitted, use_rep="X_pca")
    times = [data.obs["ddrtree_pseudotime"].to_numpy()[:100] for data in (near, fitted)]
    assert np.corrcoef(*times)[0, 1] > 0.99
    same = fitted[:100].copy()
    st.tl.ingest(same, fitted, use_rep="X_pca")
    np.testing.assert_allclose(same.obs["ddrtree_pseudotime"], times[1], rtol=1e-6)
    # how far from the tree, in units of what is left of the tails
    assert near.obs["ddrtree_distance"].max() < 2


def test_replicates_are_learned_in_the_same_way(fitted):
    adata = fitted.copy()
    st.tl.stability(adata, n_replicates=8)
    assert st.get.stability(adata).branches["support"].min() > 0.6


def test_a_branch_must_lie_among_the_same_rows():
    adata = cells()
    st.tl.principal_tree(adata)
    st.tl.principal_tree(adata, denoise={"compress": False}, key_added="plain")
    st.tl.principal_tree(adata, rng=1, key_added="alike")
    with pytest.raises(
        ValueError, match="heavy tails were not compressed alike for branch='plain' and 'principal_tree'"
    ):
        st.tl.attach(adata, key="principal_tree", branch="plain")
    st.tl.attach(adata, key="principal_tree", branch="alike")
    assert st.get.graph(adata, "principal_tree").is_tree


def test_cells_near_those_of_a_principal_tree_come_to_lie_where_they_are():
    adata = cells()
    st.tl.principal_tree(adata)
    key = "principal_tree"
    st.tl.order(adata, root=st.get.graph(adata, key).node_names[int(st.get.graph(adata, key).tips[0])], key=key)
    near = adata[:100].copy()
    near.obsm["X_pca"] = near.obsm["X_pca"] + 1e-4
    st.tl.ingest(near, adata, key=key, use_rep="X_pca")
    times = [data.obs[f"{key}_pseudotime"].to_numpy()[:100] for data in (near, adata)]
    assert np.corrcoef(*times)[0, 1] > 0.99
    assert near.obs[f"{key}_distance"].max() < 2
