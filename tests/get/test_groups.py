"""Groups along the tree."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import skeltraj as st
from samples import LINES, by_hand
from stored import as_networkx


@pytest.fixture
def adata(three_arms):
    adata = three_arms.copy()
    adata.obs["noise"] = np.random.default_rng(0).random(300)
    return adata


def test_groups_along_the_tree(adata):
    st.tl.order(adata, root={"stage": "stem"})
    table = st.get.groups(adata, "stage")
    assert table.index[0] == "stem"
    assert table["median_pseudotime"].is_monotonic_increasing
    assert table["n_cells"].sum() == 300
    graph, position = as_networkx(adata), adata.obsm["ddrtree_position"]
    nearest = adata.uns["ddrtree"]["edges"][position["edge"], (position["fraction"] > 0.5).astype(int)]
    for stage, row in table.iterrows():
        of = (adata.obs["stage"] == stage).to_numpy()
        total = {v: sum(length[w] for w in nearest[of]) for v, length in nx.all_pairs_dijkstra_path_length(graph)}
        assert total[row["node"]] == pytest.approx(min(total.values()))
        assert row["median_pseudotime"] == pytest.approx(adata.obs["ddrtree_pseudotime"][of].median())
    with pytest.raises(KeyError, match="groupby='stge' is not in adata.obs. Available: "):
        st.get.groups(adata, "stge")
    with pytest.raises(
        TypeError, match=r"adata.obs\['noise'\] is numeric \(float64\); wanted groups .*astype\('category'\)"
    ):
        st.get.groups(adata, "noise")


def test_a_group_at_a_node_without_edges_is_there_and_on_no_branch():
    adata = by_hand(LINES["nodes"], LINES["edges"], [*LINES["points"], [9, 8.9], [9.1, 9]])
    adata.obs["group"] = pd.Categorical(["on", "on", "off", "off", "off", "off", "lone", "lone"])
    with pytest.warns(UserWarning, match="components without the root"):
        st.tl.order(adata, root=0)
    table = st.get.groups(adata, "group")
    assert table.loc["lone", "node"] == 8
    assert table.loc["lone", ["branch", "share_on_branch"]].isna().all()
    assert table.loc["on", ["branch", "share_on_branch"]].tolist() == ["B1", 1.0]
