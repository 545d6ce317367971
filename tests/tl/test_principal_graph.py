"""Principal graphs for AnnData."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import skeltraj as st


def test_what_may_be_joined_by_name(adata):
    n = adata.n_obs
    near = np.abs(np.arange(n)[:, None] - np.arange(n)) <= 3
    adata.obsp["near"] = sparse.csr_matrix(near.astype(float))
    st.tl.principal_graph(adata, n_nodes="all", candidates="near", max_iter=2, tol=1)
    edges = adata.uns["principal_graph"]["edges"]
    assert (np.abs(edges[:, 0] - edges[:, 1]) <= 3).all()
    with pytest.raises(KeyError, match="candidates='far' is not in adata.obsp"):
        st.tl.principal_graph(adata, candidates="far")
    with pytest.raises(KeyError, match="groups='clan' is not in adata.obs"):
        st.tl.principal_graph(adata, groups="clan")
    st.tl.principal_graph(adata, groups="stage", key_added="g")
    assert st.get.graph(adata, "g").component.max() > 0
