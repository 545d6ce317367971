"""Joining the parts of a skeleton."""

from __future__ import annotations

import itertools

import anndata as ad
import numpy as np
import pytest

import skeltraj as st
from samples import LINES, by_hand, rings
from stored import attached_edges, same, snapshot


@pytest.fixture
def lines():
    return by_hand(**LINES)


def test_two_nodes_by_hand(lines):
    with pytest.warns(UserWarning, match=r"join the parts \(skeltraj.tl.attach\)"):
        st.tl.order(lines, root=0)
    before = snapshot(lines)
    assert st.tl.attach(lines, 2, 6) is None
    stored = lines.uns["ddrtree"]
    np.testing.assert_array_equal(stored["edges"], [*LINES["edges"], [2, 6]])
    np.testing.assert_array_equal(stored["edge_length"], [1, 1, np.sqrt(2), np.sqrt(2), 1, 3])
    np.testing.assert_array_equal(stored["nodes"], LINES["nodes"])
    assert attached_edges(lines) == [(5, 2, 6, "C1", "C3")]
    assert stored["attached"]["length"].tolist() == [3.0]
    assert stored["attached"].index.tolist() == ["A1"]
    # the order is gone, what the fit stored is not
    assert set(stored) == (set(before.uns["ddrtree"]) - {"order"}) | {"attached"}
    assert set(lines.obsm) == {"X_ddrtree", "ddrtree_assignment"}
    assert not len(lines.obs.columns)
    assert stored["params"] == before.uns["ddrtree"]["params"]
    with pytest.warns(UserWarning, match="2 of 6 cells lie on components without the root"):
        st.tl.order(lines, root=0)
    np.testing.assert_allclose(lines.obs["ddrtree_pseudotime"], [0.2, 1.9, np.nan, np.nan, 5.2, 5.9])


def test_tips_by_their_ids_as_often_as_there_are_parts(lines):
    # by their coordinates: T1 (0, 0), T2 (0, 3), T3 (2, 0), T4 (2, 3), T5 (5, 0), T6 (6, 0)
    st.tl.attach(lines, "T5", "T3")
    assert lines.uns["ddrtree"]["edges"][-1].tolist() == [2, 6]  # the smaller first
    # now T1 and T2 as before, T3 (2, 3), T4 (6, 0); the three parts left are C1, C2 and C3
    st.tl.attach(lines, "T4", "T3")
    assert attached_edges(lines) == [(5, 2, 6, "C1", "C3"), (6, 5, 7, "C2", "C1")]
    assert lines.uns["ddrtree"]["attached"].index.tolist() == ["A1", "A2"]
    assert st.get.graph(lines).component.max() == 1
    st.tl.order(lines, root=0)
    st.tl.attach(lines, "root", 8)
    assert st.get.graph(lines).is_tree
    assert attached_edges(lines)[-1] == (7, 0, 8, "C1", "C2")
    with pytest.raises(ValueError, match="a='root' is not on the skeleton.*no root before skeltraj.tl.order"):
        st.tl.attach(lines, "root", 3)


def test_an_edge_that_was_added_is_no_doubt():
    """No cell lies on it, as is known to who added it; another long stretch is told as ever."""
    nodes = np.c_[np.r_[np.arange(20), 40 + np.arange(20), 80 + np.arange(20)], np.zeros(60)]
    edges = [(i, i + 1) for i in range(59) if i != 19]
    x = np.r_[np.linspace(0, 19, 150), np.linspace(40, 59, 150), np.linspace(80, 99, 150)]
    adata = by_hand(nodes, edges, np.c_[x, 0 * x])
    st.tl.attach(adata, 19, 20)
    with pytest.warns(UserWarning, match="No cell lies on a stretch of B1") as caught:
        st.tl.order(adata, root=0)
    assert len(caught) == 1
    [empty] = [doubt for doubt in st.get.summary(adata).doubts if "No cell lies" in doubt]
    assert "with 150 cells beyond it (T2)" in empty
    other = by_hand(nodes[:40], edges[:38], np.c_[x[:300], 0 * x[:300]])
    st.tl.attach(other)
    st.tl.order(other, root=0)  # without a warning
    assert st.get.summary(other).doubts == ()


def test_a_branch_brings_the_edges_that_were_added_to_it():
    x, low = np.r_[np.linspace(0, 19, 150), np.linspace(40, 59, 150)], np.arange(3.0)
    nodes = np.c_[np.r_[np.arange(20), 40 + np.arange(20)], np.zeros(40)]
    arm = by_hand(nodes, [(i, i + 1) for i in range(39) if i != 19], np.c_[x, 0 * x], key="arm")
    st.tl.attach(arm, 19, 20, key="arm")
    adata = by_hand(np.c_[0 * low, -1 - low], [(0, 1), (1, 2)], np.c_[x, 0 * x])
    adata.obsm["X_arm"], adata.uns["arm"] = arm.obsm["X_arm"], arm.uns["arm"]
    adata.uns["arm"]["params"]["use_rep"] = "X_ddrtree"
    adata.uns["arm"]["params"]["method"] = "principal_tree"
    st.tl.attach(adata, branch="arm")
    table = adata.uns["ddrtree"]["attached"]
    assert table.index.tolist() == ["A1", "A2"]
    assert table[["edge", "node_a", "node_b"]].to_numpy().tolist() == [[40, 22, 23], [41, 0, 3]]
    assert table[["part_a", "part_b"]].to_numpy().tolist() == [["C1", "C2"], ["C1", "arm"]]
    edges = adata.uns["ddrtree"]["edges"]
    np.testing.assert_array_equal(edges[table["edge"]], table[["node_a", "node_b"]])
    st.tl.order(adata, root=2)  # without a warning of a stretch without cells


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        # (1, 0) to (1, 2), then (2, 0) to (5, 0)
        (dict(), [(5, 1, 4, "C1", "C2"), (6, 2, 6, "C1", "C3")]),
        # of the two ends above one another the left ones come first; both ways to the right are as long or longer
        (dict(tips_only=True), [(5, 0, 3, "C1", "C2"), (6, 2, 6, "C1", "C3")]),
        # the lone node is sqrt(7^2 + 6^2) from (2, 3), sqrt(3^2 + 9^2) from (6, 0)
        (dict(empty_parts=True), [(5, 1, 4, "C1", "C2"), (6, 2, 6, "C1", "C3"), (7, 5, 8, "C2", "C4")]),
    ],
)
def test_all_parts_by_hand(lines, options, wanted):
    other = st.tl.attach(lines, **options, copy=True)
    assert "attached" not in lines.uns["ddrtree"]
    assert attached_edges(other) == wanted
    st.tl.attach(lines, **options)
    same(lines, other)
    assert st.get.graph(lines).component.max() == (0 if "empty_parts" in options else 1)
    np.testing.assert_array_equal(lines.uns["ddrtree"]["nodes"], LINES["nodes"])


@pytest.mark.filterwarnings("ignore:No cell lies on a stretch")
def test_weights_and_rings(tmp_path):
    adata = rings(400)
    st.tl.principal_graph(adata, n_nodes=30)
    graph = st.get.graph(adata, "principal_graph")
    weights = adata.uns["principal_graph"]["weights"].copy()
    (length, a, b), *_ = sorted(
        (np.linalg.norm(graph.nodes[a] - graph.nodes[b]), a, b)
        for a, b in itertools.combinations(range(graph.n_nodes), 2)
        if graph.component[a] != graph.component[b]
    )
    st.tl.attach(adata, key="principal_graph")
    stored = adata.uns["principal_graph"]
    np.testing.assert_array_equal(stored["edges"], [*graph.edges, [a, b]])
    np.testing.assert_array_equal(stored["weights"], [*weights, np.median(weights)])
    assert stored["attached"]["length"].tolist() == [pytest.approx(length)]
    assert st.get.graph(adata, "principal_graph").n_loops == graph.n_loops
    assert st.get.networkx(adata, "principal_graph").edges[a, b]["weight"] == np.median(weights)
    start = adata.obs_names[int(np.argmin(adata.obsm["X_principal_graph"][:, 0]))]
    with pytest.warns(UserWarning, match="No lineage"):
        st.tl.order(adata, root=start, key="principal_graph")
    assert not adata.obs["principal_graph_pseudotime"].isna().any()
    adata.write_h5ad(tmp_path / "a.h5ad")
    back = ad.read_h5ad(tmp_path / "a.h5ad")
    same(back, adata)
    # in one part: refused, and again from the file
    with pytest.raises(ValueError, match="the skeleton 'principal_graph' is in 1 part; wanted at least two to join"):
        st.tl.attach(back, key="principal_graph")


def test_a_second_call_after_reading_goes_on_with_the_table(lines, tmp_path):
    st.tl.attach(lines, 2, 6)
    lines.write_h5ad(tmp_path / "a.h5ad")
    back = ad.read_h5ad(tmp_path / "a.h5ad")
    same(back, lines)
    st.tl.attach(back)
    st.tl.attach(lines)
    same(back, lines)
    assert back.uns["ddrtree"]["attached"].index.tolist() == ["A1", "A2"]
    st.tl.ddrtree(back, 1, n_nodes=3)
    assert "attached" not in back.uns["ddrtree"]  # a new fit is a new tree


def test_the_order_of_the_cells_does_not_matter(lines):
    turned = lines[::-1].copy()
    st.tl.attach(turned)
    st.tl.attach(lines)
    same(turned[lines.obs_names].copy(), lines)
    # parts are joined for the cells that are left
    only = by_hand(**LINES)[:4].copy()
    st.tl.attach(only)
    assert attached_edges(only) == [(5, 1, 4, "C1", "C2")]


@pytest.mark.parametrize("unit", [1e-30, 1e-3, 40.0, 1e30])
def test_parts_are_joined_at_the_same_nodes_in_any_unit(lines, unit):
    scaled = by_hand(**LINES | {name: unit * np.asarray(LINES[name], dtype=float) for name in ("nodes", "points")})
    for adata in (scaled, lines):
        st.tl.attach(adata)
    assert attached_edges(scaled) == attached_edges(lines)
    np.testing.assert_allclose(
        scaled.uns["ddrtree"]["attached"]["length"], unit * lines.uns["ddrtree"]["attached"]["length"], rtol=1e-12
    )


def test_a_skeleton_without_any_edge():
    adata = by_hand([[0, 0], [1, 0], [3, 0], [9, 0]], np.empty((0, 2), dtype=int), [[0, 0.1], [1, 0], [2.9, 0]])
    st.tl.attach(adata)
    np.testing.assert_array_equal(adata.uns["ddrtree"]["edges"], [[0, 1], [1, 2]])
    adata.uns["ddrtree"]["weights"] = np.empty(0)
    adata.uns["ddrtree"]["edges"] = np.empty((0, 2), dtype=int)
    for name in ("edge_length", "attached"):
        del adata.uns["ddrtree"][name]
    st.tl.attach(adata, 3, 0)
    np.testing.assert_array_equal(adata.uns["ddrtree"]["weights"], [1.0])


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "message"),
    [
        (
            (0, 2),
            {},
            ValueError,
            r"a=0 and b=2 \(nodes 0 and 2\) both lie on component C1: an edge between them would ",
        ),
        (("T1", "T3"), {}, ValueError, "a='T1' and b='T3' .* both lie on component C1"),
        ((4, 4), {}, ValueError, "both lie on component C2"),
        ((0,), {}, ValueError, "a=0, b=None: wanted two nodes to join, or none"),
        ((0, 9), {}, ValueError, "b=9 is not a node; wanted a number from 0 to 8"),
        (
            ("T7", 0),
            {},
            ValueError,
            r"a='T7' is not on the skeleton. Available: \['T1', .*'T6', 'root'\] \(or a node, 0 to 8\)",
        ),
        ((), {"key": "tree"}, KeyError, "no skeleton is stored as"),
        ((), {"branch": "tree"}, KeyError, r"no skeleton is stored as adata.uns\['tree'\]"),
        ((), {"branch": "ddrtree"}, ValueError, "branch='ddrtree' is the skeleton itself"),
    ],
)
def test_errors(lines, arguments, options, kind, message):
    with pytest.warns(UserWarning, match="components without the root"):
        st.tl.order(lines, root=0)
    before = snapshot(lines)
    with pytest.raises(kind, match=message):
        st.tl.attach(lines, *arguments, **options)
    same(lines, before)


def test_one_part_with_cells_and_some_without():
    adata = by_hand(LINES["nodes"], LINES["edges"], LINES["points"][:2])
    before = snapshot(adata)
    with pytest.raises(
        ValueError,
        match=r"'ddrtree' is in 1 part with cells \(empty_parts=True joins 3 without, too\); wanted at least",
    ):
        st.tl.attach(adata)
    same(adata, before)
    del adata.obsm["X_ddrtree"]
    with pytest.raises(KeyError, match="adata.obsm has no 'X_ddrtree'"):
        st.tl.attach(adata)
    st.tl.attach(adata, empty_parts=True)
    assert st.get.graph(adata).is_tree
