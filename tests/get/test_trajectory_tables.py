"""dynverse's tables of a stored skeleton."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pytest

import skeltraj as st
from samples import LINES, by_hand, cells, rings


def network(tables):
    graph = nx.MultiGraph()
    for row in tables.milestone_network.itertuples(index=False):
        graph.add_edge(row[0], row[1], length=row.length)
    return graph


def check(tables, adata, key):
    """What holds of all tables."""
    net, cell = tables.milestone_network, tables.progressions
    assert list(net.columns) == ["from", "to", "length", "directed"]
    assert list(cell.columns) == ["cell_id", "from", "to", "percentage"]
    assert cell["cell_id"].tolist() == adata.obs_names.tolist()
    assert cell["percentage"].between(0, 1).all()
    pairs = [frozenset(pair) for pair in zip(net["from"], net["to"], strict=True)]
    assert len(set(pairs)) == len(pairs)  # a cell's stretch is known by its milestones
    assert all(len(pair) == 2 for pair in pairs)
    assert set(zip(cell["from"], cell["to"], strict=True)) <= set(zip(net["from"], net["to"], strict=True))
    skeleton = st.get.graph(adata, key)
    assert net["length"].sum() == pytest.approx(skeleton.edge_length.sum())


@pytest.mark.parametrize("root", [None, 0, 17, {"stage": "stem"}])
def test_pseudotime_follows_from_the_tables(root):
    adata = cells(300)
    st.tl.ddrtree(adata, 3)
    if root is not None:
        st.tl.order(adata, root=root)
    tables = st.get.trajectory_tables(adata)
    check(tables, adata, "ddrtree")
    assert nx.is_tree(network(tables))
    assert (tables.milestone_network["directed"] == (root is not None)).all()
    if root is None:
        return
    graph = network(tables)
    node = adata.uns["ddrtree"]["order"]["root"]
    tip = {int(n): name for name, n in adata.uns["ddrtree"]["order"]["tips"]["node"].items()}
    tip |= {int(n): name for name, n in adata.uns["ddrtree"]["order"]["forks"]["node"].items()}
    reached = nx.single_source_dijkstra_path_length(graph, tip.get(node, "root"), weight="length")
    length = {(a, b): l for a, b, l in tables.milestone_network[["from", "to", "length"]].itertuples(index=False)}
    cell = tables.progressions
    pseudotime = [
        reached[a] + p * length[a, b] for a, b, p in cell[["from", "to", "percentage"]].itertuples(index=False)
    ]
    np.testing.assert_allclose(pseudotime, adata.obs["ddrtree_pseudotime"], atol=1e-9)


def test_rings_and_parts():
    adata = rings()
    st.tl.principal_graph(adata, n_nodes=40)
    for ordered in (False, True):
        if ordered:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                st.tl.order(adata, root=0, key="principal_graph")
        tables = st.get.trajectory_tables(adata, "principal_graph")
        check(tables, adata, "principal_graph")
        graph = network(tables)
        assert nx.number_connected_components(graph) == 2
        assert len(nx.cycle_basis(nx.Graph(graph))) == st.get.graph(adata, "principal_graph").n_loops


def test_two_ways_between_the_same_forks():
    adata = cells(30)
    st.tl.ddrtree(adata)
    # tip, fork, two ways round (one of them a single edge), fork, tip
    places = np.array([[0, 0], [1, 0], [2, 1], [3, 0], [4, 0]], dtype=float)
    fit = {"nodes": places, "edges": np.array([[0, 1], [1, 2], [2, 3], [1, 3], [3, 4]])}
    adata.uns["ddrtree"] = fit | {"params": {"method": "principal_graph"}}
    adata.obsm["X_ddrtree"] = np.tile([[2.0, 0.9], [2.0, 0.1], [0.5, 0.0]], (10, 1))
    tables = st.get.trajectory_tables(adata)
    check(tables, adata, "ddrtree")
    assert len(tables.milestone_network) == 5
    assert set(tables.milestone_network["from"]) | set(tables.milestone_network["to"]) == {"T1", "T2", "F1", "F2", "N2"}


@pytest.mark.parametrize("unit", [1.0, 1e-10, 1e10])
def test_ways_round_are_not_directed(unit):
    places = unit * np.array([[0, 0], [1, 0], [2, 3], [3, 0], [4, 0]])
    adata = by_hand(places, [[0, 1], [1, 2], [2, 3], [1, 3], [3, 4]], places)
    st.tl.order(adata, 0)
    network = st.get.trajectory_tables(adata).milestone_network
    directed = network.set_index(["from", "to"])["directed"].to_dict()
    ways = dict.fromkeys([("T1", "F1"), ("F1", "N2"), ("F1", "F2"), ("F2", "T2")], True)
    assert directed == ways | {("F2", "N2"): False}


def test_cells_at_a_node_without_edges_are_on_no_stretch():
    adata = by_hand(LINES["nodes"], LINES["edges"], [*LINES["points"], [9, 8.9]])
    for ordered in (False, True):
        if ordered:
            with pytest.warns(UserWarning, match="components without the root"):
                st.tl.order(adata, root=0)
        cell = st.get.trajectory_tables(adata).progressions
        assert cell["cell_id"].tolist() == adata.obs_names.tolist()
        assert cell.iloc[6, 1:].isna().all()
        assert cell.iloc[:6].notna().all(axis=None)


def test_errors():
    adata = cells()
    with pytest.raises(KeyError, match="no skeleton is stored"):
        st.get.trajectory_tables(adata)
    st.tl.ddrtree(adata)
    del adata.obsm["X_ddrtree"]
    with pytest.raises(KeyError, match="X_ddrtree"):
        st.get.trajectory_tables(adata)
