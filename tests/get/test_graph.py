"""The stored skeleton as an object."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest

import skeltraj as st


def test_get_graph_rebuilds_the_object(adata):
    st.tl.ddrtree(adata, 2, denoise=False, prune=False)
    fit = st.core.ddrtree(adata.X, 2)
    graph = st.get.graph(adata)
    for name in ("nodes", "edges", "edge_length", "tips", "forks"):
        np.testing.assert_array_equal(getattr(graph, name), getattr(fit.graph, name))
    with pytest.raises(KeyError, match=r"no skeleton is stored as adata.uns\['x'\]. Available: \['ddrtree'\]"):
        st.get.graph(adata, "x")


def test_a_fit_that_concatenation_dropped_is_told_as_such(adata):
    st.tl.ddrtree(adata, 2, denoise=False, prune=False)
    both = ad.concat([adata[:50], adata[50:]])
    with pytest.raises(KeyError, match=r"obsm\['X_ddrtree'\], but not the fit itself: .* uns_merge='same'"):
        st.get.graph(both)
    kept = ad.concat([adata[:50], adata[50:]], uns_merge="same")
    np.testing.assert_array_equal(st.get.graph(kept).nodes, st.get.graph(adata).nodes)
