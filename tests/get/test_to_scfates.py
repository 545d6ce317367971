"""scFates' keys of a stored and ordered tree."""

from __future__ import annotations

import itertools

import anndata as ad
import networkx as nx
import numpy as np
import pandas as pd
import pytest

import skeltraj as st
from samples import cells, fork_by_hand, rings
from stored import equal, same, snapshot

OBS = {"t", "seg", "edge", "milestones"}
UNS = {"graph", "pseudotime_list", "milestones_colors", "seg_colors"}


POINTS = [[0.5, 1], [1.5, 0], [2, -0.5], [2, -2.5], [2, 3]]
ASSIGNMENT = [[1, 0, 0, 0, 0], [0.25, 0.75, 0, 0, 0], [0, 0.5, 0.5, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 1, 0]]


def test_a_tree_by_hand():
    handed = st.get.to_scfates(fork_by_hand(0, POINTS, ASSIGNMENT), "hand")
    graph = handed.uns["graph"]
    links = [[0, 1, 0, 0, 0], [1, 0, 1, 0, 1], [0, 1, 0, 1, 0], [0, 0, 1, 0, 0], [0, 1, 0, 0, 0]]
    np.testing.assert_array_equal(graph["B"], links)
    np.testing.assert_array_equal(graph["F"], [[0, 2, 2, 2, 2], [0, 0, -1, -3, 4]])
    np.testing.assert_array_equal(graph["tips"], [0, 3, 4])
    np.testing.assert_array_equal(graph["forks"], [1])
    assert graph["root"] == 0
    assert graph["milestones"] == {"T1": 0, "T2": 3, "T3": 4, "F1": 1}
    assert graph["pp_info"].to_dict("list") == {
        "PP": [0, 1, 2, 3, 4],
        "time": [0, 2, 3, 5, 6],
        "seg": ["1", "1", "2", "2", "3"],
    }
    assert graph["pp_seg"].index.tolist() == [1, 2, 3]
    assert graph["pp_seg"].to_dict("list") == {
        "n": ["1", "2", "3"],
        "from": [0, 1, 1],
        "to": [1, 3, 4],
        "d": [2, 3, 4],
    }
    assert [graph[k] for k in ("use_rep", "ndims_rep", "metrics", "method")] == ["X_hand", 2, "euclidean", "ppt"]
    assert handed.obs["t"].tolist() == [0.5, 1.5, 2.5, 4.5, 5]
    assert handed.obs["seg"].tolist() == ["1", "1", "2", "2", "3"]
    # the third lies in the middle of its edge: first comes the end with the smaller coordinates
    assert handed.obs["edge"].tolist() == ["0|1", "1|0", "2|1", "3|2", "4|1"]
    assert handed.obs["milestones"].tolist() == ["T1", "F1", "F1", "T2", "T3"]
    assert handed.obs["milestones"].cat.categories.tolist() == ["T1", "F1", "T2", "T3"]  # nodes 0, 1, 3, 4
    colors = dict(zip(handed.obs["milestones"].cat.categories, handed.uns["milestones_colors"], strict=True))
    assert len(set(colors.values())) == 4
    assert handed.uns["seg_colors"] == [colors["F1"], colors["T2"], colors["T3"]]
    # no cell is held by node 4; the fifth is the nearest to it
    R = handed.obsm["X_R"]
    np.testing.assert_array_equal(R[:, :4], handed.obsm["hand_assignment"].toarray()[:, :4])
    np.testing.assert_array_equal(R[:, 4] > 0, [False, False, False, False, True])
    np.testing.assert_allclose((handed.obsm["X_hand"].T @ R / R.sum(axis=0))[:, 4], [2, 3])


def test_a_root_on_a_branch_parts_it():
    handed = st.get.to_scfates(fork_by_hand(2, POINTS, ASSIGNMENT), "hand")
    graph = handed.uns["graph"]
    assert graph["milestones"] == {"T1": 0, "root": 2, "T2": 3, "T3": 4, "F1": 1}
    np.testing.assert_array_equal(graph["tips"], [0, 2, 3, 4])
    assert graph["pp_info"]["time"].tolist() == [3, 1, 0, 2, 5]
    assert graph["pp_info"]["seg"].tolist() == ["1", "4", "2", "2", "3"]  # B2 starts at T2
    assert graph["pp_seg"].to_dict("list") == {
        "n": ["1", "2", "3", "4"],
        "from": [1, 2, 1, 2],
        "to": [0, 3, 4, 1],
        "d": [2, 2, 4, 1],
    }
    assert handed.obs["t"].tolist() == [2.5, 1.5, 0.5, 1.5, 4]
    assert handed.obs["seg"].tolist() == ["1", "1", "4", "2", "3"]
    assert handed.obs["milestones"].tolist() == ["T1", "F1", "root", "T2", "T3"]


def test_pseudotime_in_other_units_is_path_length():
    adata = fork_by_hand(0, POINTS, ASSIGNMENT)
    expected = st.get.to_scfates(adata, "hand").obs
    adata.obs["hand_pseudotime"] /= adata.obs["hand_pseudotime"].max()
    pd.testing.assert_frame_equal(st.get.to_scfates(adata, "hand").obs[list(OBS)], expected[list(OBS)])


@pytest.fixture(scope="module")
def fitted():
    adata = cells(200, seed=3)
    st.tl.ddrtree(adata, 3)
    st.tl.principal_tree(adata, n_nodes=30)
    st.tl.drtree(adata, 2)
    return adata


@pytest.mark.parametrize("key", ["ddrtree", "principal_tree", "drtree"])
@pytest.mark.parametrize("where", ["tip", "fork", "branch"])
def test_all_agrees_with_the_order(fitted, key, where):
    adata = fitted.copy()
    tree = st.get.graph(adata, key)
    longest = max(tree.branches, key=len)
    root = {"tip": tree.tips[0], "fork": tree.forks[0], "branch": longest[len(longest) // 2]}[where]
    st.tl.order(adata, root=int(root), key=key)
    before = snapshot(adata)
    handed = st.get.to_scfates(adata, key)
    same(adata, before)
    same(handed, before, {"obs": OBS, "uns": UNS, "obsm": {"X_R"}})

    graph = handed.uns["graph"]
    net = st.get.networkx(adata, key)
    np.testing.assert_array_equal(graph["B"], nx.to_numpy_array(net, nodelist=range(tree.n_nodes), weight=None))
    length = nx.single_source_dijkstra_path_length(net, int(root), weight="length")
    time = np.array([length[v] for v in range(tree.n_nodes)])
    np.testing.assert_allclose(graph["pp_info"]["time"], time, atol=1e-9)
    ends = {v for v in net if net.degree(v) != 2} | {int(root)}
    assert set(graph["milestones"].values()) == ends == set(graph["tips"]) | set(graph["forks"])
    joined = {}  # pairs of milestones with none between: the path
    for a, b in itertools.permutations(sorted(ends), 2):
        path = nx.shortest_path(net, a, b)
        if not ends & set(path[1:-1]) and nx.shortest_path(net, int(root), b)[-len(path) :] == path:
            joined[a, b] = path
    segments = graph["pp_seg"]
    assert set(zip(segments["from"], segments["to"], strict=True)) == set(joined)
    assert len(segments) == len(joined) == len(ends) - 1
    assert segments["n"].tolist() == [str(i) for i in segments.index] == [str(i + 1) for i in range(len(segments))]
    for row in segments.itertuples(index=False):
        a, b = row[1:3]
        assert row.d == pytest.approx(length[b] - length[a])
        assert set(graph["pp_info"]["seg"][joined[a, b][1:]]) == {row.n}
        on = handed.obs[handed.obs["seg"] == row.n]
        assert on["t"].between(length[a] - 1e-9, length[b] + 1e-9).all()
        steps = {frozenset(pair) for pair in itertools.pairwise(joined[a, b])}
        assert {frozenset(map(int, edge.split("|"))) for edge in on["edge"]} <= steps
        name = {node: name for name, node in graph["milestones"].items()}
        late = on["t"] - length[a] > (length[b] - length[a]) / 2
        assert (on["milestones"].astype(str) == np.where(late, name[b], name[a])).all()

    np.testing.assert_array_equal(handed.obs["t"], adata.obs[f"{key}_pseudotime"])
    assert (adata.obs[f"{key}_branch"].astype(str).groupby(handed.obs["seg"], observed=True).nunique() == 1).all()
    if where != "branch":
        assert ("B" + handed.obs["seg"].astype(str) == adata.obs[f"{key}_branch"].astype(str)).all()
    assert len(handed.uns["seg_colors"]) == len(handed.obs["seg"].cat.categories) == len(segments)
    assert len(handed.uns["milestones_colors"]) == len(handed.obs["milestones"].cat.categories) == len(ends)
    near = tree.nodes[[int(edge.split("|")[0]) for edge in handed.obs["edge"]]]
    far = tree.nodes[[int(edge.split("|")[1]) for edge in handed.obs["edge"]]]
    points = adata.obsm[f"X_{key}"]
    off = [((points - ends) ** 2).sum(axis=1) for ends in (near, far)]
    assert (off[0] <= off[1] + 1e-12).all()
    np.testing.assert_allclose(handed.obsm["X_R"].sum(axis=1), 1, atol=1e-9)
    assert (handed.obsm["X_R"].sum(axis=0) > 0).all()
    equal(handed.uns["pseudotime_list"]["0"], handed.obs[["t", "seg", "edge"]])


def test_a_segment_without_cells_is_said():
    adata = fork_by_hand(0, POINTS, ASSIGNMENT)
    part = adata[:4].copy()  # the one towards T3 is bare now
    with pytest.warns(UserWarning, match=r"No cell lies on segment\(s\) \['3'\] of 3: scFates.pl.dendrogram will"):
        handed = st.get.to_scfates(part, "hand")
    assert handed.obs["seg"].cat.categories.tolist() == ["1", "2", "3"]
    assert handed.obs["milestones"].cat.categories.tolist() == ["T1", "F1", "T2", "T3"]
    assert len(handed.uns["seg_colors"]) == 3


def test_written_and_read_and_sliced(fitted, tmp_path):
    adata = fitted.copy()
    st.tl.order(adata, root={"stage": "stem"}, key="drtree")
    part = adata[::3].copy()
    handed = st.get.to_scfates(part, "drtree")  # most nodes hold no cell now
    assert handed.n_obs == 67
    assert ((handed.obsm["X_R"] > 0).sum(axis=0) == 1).all()
    handed.write_h5ad(tmp_path / "a.h5ad")
    same(ad.read_h5ad(tmp_path / "a.h5ad"), handed)


def test_names_in_use_are_replaced_in_the_copy(fitted):
    adata = fitted.copy()
    st.tl.order(adata, root=0)
    wanted = st.get.to_scfates(adata)
    adata.obs["t"], adata.uns["graph"], adata.obsm["X_R"] = "mine", "mine", np.zeros((200, 2))
    before = snapshot(adata)
    handed = st.get.to_scfates(adata)
    same(adata, before)
    same(handed, wanted)


def test_errors(fitted):
    adata = fitted.copy()
    with pytest.raises(KeyError, match="no skeleton is stored"):
        st.get.to_scfates(adata, "other")
    with pytest.raises(KeyError, match="the cells have not been ordered"):
        st.get.to_scfates(adata)
    st.tl.order(adata, root=0)
    lost = adata.copy()
    del lost.obsm["ddrtree_position"]
    with pytest.raises(KeyError, match="no 'ddrtree_position', which skeltraj.tl.order stored"):
        st.get.to_scfates(lost)
    for name in ("X_ddrtree", "ddrtree_assignment"):
        lost = adata.copy()
        del lost.obsm[name]
        with pytest.raises(KeyError, match=f"no '{name}', which the fit stored"):
            st.get.to_scfates(lost)
    adata.obs.loc[adata.obs_names[:4], "ddrtree_pseudotime"] = np.nan
    with pytest.raises(ValueError, match=r"4 of 200 cells have no adata.obs\['ddrtree_pseudotime'\]"):
        st.get.to_scfates(adata)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_loops_and_parts_are_refused():
    adata = rings(400)
    st.tl.principal_graph(adata, n_nodes=40)
    st.tl.order(adata, root=0, key="principal_graph")
    graph = st.get.graph(adata, "principal_graph")
    message = f"has {graph.n_loops} loop.* and 2 part.*scFates reads one tree only; wanted no loops and one part"
    with pytest.raises(ValueError, match=message):
        st.get.to_scfates(adata, "principal_graph")


@pytest.mark.filterwarnings("ignore")
def test_scfates_draws_it(fitted):
    scf = pytest.importorskip("scFates", reason="scFates is not installed; it is not needed, only compared with")
    adata = fitted.copy()
    for key, root in itertools.product(("ddrtree", "principal_tree"), ("tip", "branch")):
        tree = st.get.graph(adata, key)
        st.tl.order(adata, root=int(tree.tips[0] if root == "tip" else max(tree.branches, key=len)[1]), key=key)
        handed = st.get.to_scfates(adata, key)
        ax = scf.pl.graph(handed, basis=key, show=False)
        assert len(ax.collections) > 0
        for color in ("t", "seg", "milestones"):
            scf.pl.trajectory(handed, basis=key, color_seg=color, show=False)
        scf.pl.milestones(handed, basis=key, annotate=True, show=False)
        scf.tl.dendrogram(handed)
        np.testing.assert_allclose(handed.obsm["X_dendro"][:, 1], -handed.obs["t"])
        scf.pl.dendrogram(handed, color="seg", color_seg="seg", show=False)

        again = handed.copy()  # what scFates itself makes of the tree
        scf.tl.root(again, handed.uns["graph"]["root"])
        np.testing.assert_allclose(
            again.uns["graph"]["pp_info"]["time"], handed.uns["graph"]["pp_info"]["time"], atol=1e-3
        )
        pairs = [
            frozenset(map(tuple, version.uns["graph"]["pp_seg"][["from", "to"]].to_numpy()))
            for version in (again, handed)
        ]
        assert pairs[0] == pairs[1]
        again = handed.copy()
        scf.tl.pseudotime(again)
        assert again.uns["graph"]["milestones"] == handed.uns["graph"]["milestones"]
        assert pd.Series(again.obs["t"]).corr(handed.obs["t"]) > 0.98
