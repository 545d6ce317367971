"""Principal trees for AnnData."""

from __future__ import annotations

import numpy as np
import pytest

import skeltraj as st


def test_a_lazy_input_gives_the_same_principal_tree(adata):
    da = pytest.importorskip("dask.array")
    st.tl.principal_tree(adata, key_added="here")
    adata.layers["lazy"] = da.from_array(adata.X, chunks=(50, -1))
    st.tl.principal_tree(adata, layer="lazy", key_added="there")
    np.testing.assert_allclose(adata.uns["there"]["nodes"], adata.uns["here"]["nodes"], atol=1e-8)
    assert hasattr(adata.obsm["X_there"], "compute")
    st.tl.order(adata, root=0, key="there")
    st.tl.order(adata, root=0, key="here")
    np.testing.assert_allclose(adata.obs["there_pseudotime"], adata.obs["here_pseudotime"], atol=1e-6)
