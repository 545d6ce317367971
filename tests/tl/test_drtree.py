"""DRTree for AnnData."""

from __future__ import annotations

import numpy as np

import skeltraj as st


def test_a_kernel_for_drtree(adata):
    adata.obsp["linear"] = adata.X @ adata.X.T
    st.tl.drtree(adata)
    st.tl.drtree(adata, kernel="linear", key_added="k")
    np.testing.assert_allclose(adata.obsm["X_k"], adata.obsm["X_drtree"], atol=1e-7)
