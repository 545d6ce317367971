"""The stored skeleton as an object."""

from __future__ import annotations

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
