"""The stored skeleton for networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import skeltraj as st

METHODS = ["drtree", "principal_tree", "principal_graph"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:No lineage was found")  # loops have no tips
def test_networkx(adata, method):
    getattr(st.tl, method)(adata)
    skeleton, graph = st.get.graph(adata, method), st.get.networkx(adata, method)
    assert set(graph.nodes) == set(range(skeleton.n_nodes))
    assert {tuple(sorted(e)) for e in graph.edges} == {tuple(sorted(e)) for e in skeleton.edges.tolist()}
    assert nx.number_connected_components(graph) == skeleton.component.max() + 1
    np.testing.assert_array_equal(graph.nodes[3]["pos"], skeleton.nodes[3])
    assert "pseudotime" not in graph.nodes[3]
    st.tl.order(adata, root=0, key=method)
    graph = st.get.networkx(adata, method)
    lengths = nx.single_source_dijkstra_path_length(graph, 0, weight="length")
    for node, length in lengths.items():
        assert graph.nodes[node]["pseudotime"] == pytest.approx(length)
    a, b = skeleton.edges[0].tolist()
    assert graph.edges[a, b]["branch"] == f"B{skeleton.branch_of_edge[0] + 1}"
    assert ("weight" in graph.edges[a, b]) == (method != "drtree")
    with pytest.raises(KeyError, match="other"):
        st.get.networkx(adata, "other")
