"""The tree with the cells as leaves."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import skeltraj as st
from cell_trees import cells_as_leaves
from samples import fork_by_hand
from stored import same, snapshot

POINTS = np.array([[0.5, 0], [0, 0], [1.5, 0], [0.5, 0], [2, 0], [2, -0.5], [2, -1]])


def test_a_tree_by_hand():
    # c0 and c3 in one place, c1 at the root, c4 at the fork, c6 at a node; none beyond node 2, none towards node 4
    tree = cells_as_leaves(fork_by_hand(0, POINTS), "hand")
    edges = {
        (a.removeprefix("hand:"), b.removeprefix("hand:")): (round(d["length"], 12), d["branch"])
        for a, b, d in tree.edges(data=True)
    }
    assert edges == {
        ("T1", "c1"): (0, "B1"),
        ("T1", "at c0"): (0.5, "B1"),
        ("at c0", "c0"): (0, "B1"),
        ("at c0", "c3"): (0, "B1"),
        ("at c0", "at c2"): (1, "B1"),
        ("at c2", "c2"): (0, "B1"),
        ("at c2", "F1"): (0.5, "B1"),
        ("F1", "c4"): (0, edges["F1", "c4"][1]),
        ("F1", "at c5"): (0.5, "B2"),
        ("at c5", "c5"): (0, "B2"),
        ("at c5", "N2"): (0.5, "B2"),
        ("N2", "c6"): (0, "B2"),
    }
    depth = dict(tree.nodes(data="depth"))
    assert [depth[f"c{i}"] for i in range(7)] == [0.5, 0, 1.5, 0.5, 2, 2.5, 3]
    assert (depth["hand:T1"], depth["hand:F1"], depth["hand:N2"]) == (0, 2, 3)


def test_pseudotime_in_other_units_is_path_length():
    adata = fork_by_hand(0, POINTS)
    adata.obs["hand_pseudotime"] /= adata.obs["hand_pseudotime"].max()
    depth = dict(cells_as_leaves(adata, "hand").nodes(data="depth"))
    assert [depth[f"c{i}"] for i in range(7)] == [0.5, 0, 1.5, 0.5, 2, 2.5, 3]


def test_a_root_on_a_branch():
    tree = cells_as_leaves(fork_by_hand(2, POINTS), "hand")
    assert [node for node in tree if not tree.in_degree(node)] == ["hand:root"]
    assert {name for name in tree if not tree.out_degree(name)} == {f"c{i}" for i in range(7)}
    assert tree.nodes["hand:T1"]["depth"] == 3
    assert "hand:T2" not in tree


@pytest.mark.parametrize("key", ["ddrtree", "drtree"])
@pytest.mark.parametrize("root", [0, 11, {"stage": "stem"}])
def test_lengths_are_those_along_the_tree(two_trees, key, root):
    adata = two_trees.copy()
    st.tl.order(adata, root=root, key=key)
    before = snapshot(adata)
    tree = cells_as_leaves(adata, key)
    same(adata, before)
    assert nx.is_arborescence(tree)
    assert {name for name in tree if not tree.out_degree(name)} == set(adata.obs_names)
    assert all(d["length"] >= 0 for _, _, d in tree.edges(data=True))
    time = adata.obs[f"{key}_pseudotime"]
    for name, t in time.items():
        assert tree.nodes[name]["depth"] == pytest.approx(t, abs=1e-9)
        assert tree.edges[next(tree.predecessors(name)), name]["length"] == pytest.approx(0, abs=1e-9)
    for a, b, d in tree.edges(data=True):
        assert tree.nodes[b]["depth"] - tree.nodes[a]["depth"] == pytest.approx(d["length"], abs=1e-9)
    # from one cell to all, over the stored nodes
    skeleton, position = st.get.networkx(adata, key), adata.obsm[f"{key}_position"]
    edges, length = adata.uns[key]["edges"], adata.uns[key]["edge_length"]
    for cell in (3, 70):
        e = position["edge"].iloc[cell]
        (a, b), t = edges[e], position["fraction"].iloc[cell] * length[e]
        skeleton.remove_edge(a, b)
        skeleton.add_edge(a, "cell", length=t)
        skeleton.add_edge("cell", b, length=length[e] - t)
        there = nx.single_source_dijkstra_path_length(skeleton, "cell", weight="length")
        here = nx.single_source_dijkstra_path_length(tree.to_undirected(), adata.obs_names[cell], weight="length")
        for other in range(0, 150, 7):
            f = position["edge"].iloc[other]
            (c, d), s = edges[f], position["fraction"].iloc[other] * length[f]
            wanted = abs(s - t) if f == e else min(there[c] + s, there[d] + length[f] - s)
            assert here[adata.obs_names[other]] == pytest.approx(wanted, abs=1e-9)
        skeleton.remove_node("cell")
        skeleton.add_edge(a, b, length=length[e])


def test_the_order_of_the_cells_does_not_matter(two_trees):
    adata = two_trees.copy()
    st.tl.order(adata, root=0)
    other = adata[np.random.default_rng(0).permutation(150)].copy()
    trees = [cells_as_leaves(version, "ddrtree") for version in (adata, other)]
    assert list(trees[0].edges(data=True)) == list(trees[1].edges(data=True))
