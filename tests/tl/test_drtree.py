"""DRTree for AnnData."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest

import skeltraj as st
from samples import forked


def test_a_kernel_for_drtree(adata):
    adata.obsp["linear"] = adata.X @ adata.X.T
    st.tl.drtree(adata)
    st.tl.drtree(adata, kernel="linear", key_added="k")
    np.testing.assert_allclose(adata.obsm["X_k"], adata.obsm["X_drtree"], atol=1e-7)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cells_at_forks_are_on_the_same_branch_in_any_order(seed):
    """Every cell has a node, so that some lie exactly at forks, equally near to three branches."""
    X = forked(90, 5, noise=0.2, seed=seed)[0]
    order = np.random.default_rng(seed).permutation(len(X))
    branches = []
    for rows in (np.arange(len(X)), order):
        adata = ad.AnnData(X[rows])
        st.tl.drtree(adata)
        st.tl.order(adata, root=int(st.get.graph(adata, "drtree").tips[0]), key="drtree")
        branches.append(adata.obs["drtree_branch"].astype(str).to_numpy())
    np.testing.assert_array_equal(branches[1], branches[0][order])
