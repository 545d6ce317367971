"""What was learned, and how sure it is: read after each step, and as it prints."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import skeltraj as st
from samples import LINES, by_hand, cells
from skeltraj.get._summary import _little_support
from skeltraj.tl._fitting import fit_and_store
from stored import same, snapshot, written_and_read


@pytest.fixture(scope="module")
def fitted():
    """A tree with three tips, from three starts; to be copied before it is changed."""
    adata = cells(200, seed=2)
    st.tl.ddrtree(adata, n_starts=3)
    return adata


def test_after_a_fit(fitted):
    before = snapshot(fitted)
    said, fit, graph = st.get.summary(fitted), fitted.uns["ddrtree"], st.get.graph(fitted)
    same(fitted, before)
    assert (said.key, said.method, said.n_cells) == ("ddrtree", "DDRTree", 200)
    assert (said.converged, said.n_iter, said.n_starts) == (bool(fit["converged"]), fit["n_iter"], 3)
    assert said.agreement == fit["agreement"].max()
    assert list(said.branches.index) == list(graph.branch_names)
    assert list(said.branches.columns) == ["start", "end", "length", "gain", "starts"]
    np.testing.assert_allclose(said.branches["length"].sum(), graph.edge_length.sum())
    np.testing.assert_array_equal(said.branches["starts"], fit["starts"]["found_again"])
    np.testing.assert_array_equal(said.branches["gain"], fit["pruned"]["kept"]["gain"][graph.branch_names])
    ends = [{graph.node_names[path[0]], graph.node_names[path[-1]]} for path in graph.branches]
    assert [{row["start"], row["end"]} for _, row in said.branches.iterrows()] == ends
    assert (said.root, said.root_rule, said.pseudotime, said.n_replicates, said.consensus) == (None,) * 5
    said.branches["gain"] = 0.0  # a copy
    assert (fit["pruned"]["kept"]["gain"] > 0).all()


def test_after_ordering_and_judging(fitted):
    adata = fitted.copy()
    st.tl.order(adata, {"stage": "stem"})
    said, time = st.get.summary(adata), adata.obs["ddrtree_pseudotime"]
    assert said.root == st.get.graph(adata).node_names[adata.uns["ddrtree"]["order"]["root"]]
    assert said.root_rule == "the tip nearest to stage = stem"
    assert said.pseudotime == (time.min(), time.max())
    assert said.n_without == 0
    assert said.branches["n_cells"].sum() == 200
    assert said.branches["n_cells"].equals(adata.obs["ddrtree_branch"].value_counts()[said.branches.index])
    st.tl.stability(adata, n_replicates=3)
    said, tables = st.get.summary(adata), st.get.stability(adata)
    assert said.n_replicates == 3
    np.testing.assert_array_equal(said.branches["support"], tables.branches["support"])
    np.testing.assert_array_equal(said.consensus.nodes, tables.consensus.nodes)


def test_the_consensus_has_what_is_left_in_it(fitted):
    """A branch that is gone there, two forks made one, and the rest."""
    adata = fitted.copy()
    st.tl.order(adata, 0)
    st.tl.stability(adata, n_replicates=2)
    graph, record = st.get.graph(adata), adata.uns["ddrtree"]["stability"]["consensus"]
    assert len(graph.branches) == 3
    place = np.arange(graph.n_nodes)
    inner = graph.branches[1][1:] if graph.degree[graph.branches[1][0]] == 3 else graph.branches[1][:-1]
    place[inner] = -1
    place[graph.branches[2]] = graph.branches[2][0]
    record["place"] = place
    assert st.get.summary(adata).branches["consensus"].tolist() == [True, False, False]


def test_it_prints_short_and_in_words(fitted):
    adata = fitted.copy()
    adata.obs["group"] = adata.obs["stage"]
    st.tl.order(adata, {"stage": "stem"})
    lines = repr(st.get.summary(adata)).splitlines()
    assert lines[0] == "'ddrtree': DDRTree, skeleton of 200 cells"
    n = st.get.graph(adata).n_nodes
    assert lines[1] == f"  tree        3 tips, 1 fork, 3 branches, {n} nodes in 6 components"
    assert any(line.startswith("  starts      3, agreement ") for line in lines)
    assert any(
        line.startswith("  root        T") and line.endswith(": the tip nearest to stage = stem") for line in lines
    )
    table = lines[lines.index("") + 1 :]
    assert table[0].split() == ["start", "end", "length", "n_cells", "gain", "starts"]
    assert [line.split()[0] for line in table[1:4]] == ["B1", "B2", "B3"]
    assert max(map(len, lines)) <= 104


def test_calls_are_left_whole_where_lines_are_broken(fitted):
    adata = fitted.copy()
    adata.uns["ddrtree"]["agreement"] = np.full(3, 0.4)
    adata.uns["ddrtree"]["starts"]["found_again"] = [0.0, 1.0, 0.5]
    least = adata.uns["ddrtree"]["pruned"]["kept"]["gain"].min()
    adata.uns["ddrtree"]["pruned"]["min_gain"] = least / 1.1
    said = st.get.summary(adata)
    assert said.doubts
    assert said.close
    lines = repr(said).splitlines()
    assert max(map(len, lines)) <= 104
    for call in ("st.tl.stability(adata)", said.close[0].call):
        assert any(call in line for line in lines)
    assert "st.get.summary" not in repr(said)
    assert "  near the limit of pruning" in lines
    assert "  in doubt" in lines


def test_long_facts_go_on_in_the_next_line(fitted):
    new = fitted[:60].copy()
    del new.uns["ddrtree"], new.obsm["X_ddrtree"], new.obsm["ddrtree_assignment"], new.varm["ddrtree_loadings"]
    ref = fitted.copy()
    st.tl.order(ref, root=0)
    st.tl.ingest(new, ref)
    new.uns["ddrtree"]["ingested"]["n_obs"] = 12_345_678
    lines = repr(st.get.summary(new)).splitlines()
    assert max(map(len, lines)) <= 104
    assert "learned from 12,345,678 other cells" in " ".join(line.strip() for line in lines)


def test_branches_of_little_support_are_in_doubt(fitted):
    branches = pd.DataFrame({"support": [0.9, 0.3, 0.49, np.nan]}, index=["B1", "B2", "B3", "B4"])
    [said] = _little_support(branches)
    assert said.startswith("B2 and B3: support below 50 %")
    assert _little_support(branches.iloc[:1]) == _little_support(branches[[]]) == []


def test_cells_that_were_taken_out_leave_no_doubt():
    adata = cells(400, seed=1)
    st.tl.ddrtree(adata, n_starts=1)
    st.tl.order(adata, {"stage": "stem"})
    assert not st.get.summary(adata).doubts
    apart = adata[(adata.obs["place"] < 0.3) | (adata.obs["place"] > 0.7)]
    assert st.get.summary(apart).doubts == ()
    with pytest.warns(UserWarning, match="No cell lies on a stretch"):
        st.tl.order(apart.copy(), {"stage": "stem"})  # which is of these cells


def test_shares_in_the_table_are_on_the_side_of_a_half_that_is_said(fitted):
    adata = fitted.copy()
    adata.uns["ddrtree"]["starts"]["found_again"] = [0.496, 0.9, 0.5]
    assert list(st.get.summary(adata)._table()["starts"]) == ["49.6 %", "90 %", "50 %"]


def test_many_branches_are_cut():
    rng = np.random.default_rng(0)
    nodes = np.vstack([np.zeros((1, 3)), rng.standard_normal((40, 3))])
    adata = by_hand(nodes, [[0, i] for i in range(1, 41)], nodes)
    st.tl.order(adata, 1)
    said = repr(st.get.summary(adata))
    assert "... 28 more in .branches" in said
    assert len(said.splitlines()) < 26
    assert "not known" not in said


def test_in_a_notebook_the_table_is_one_and_names_are_escaped(fitted):
    adata = fitted.copy()
    adata.obs["<i>"] = adata.obs["stage"]
    st.tl.order(adata, {"<i>": "stem"})
    html = st.get.summary(adata)._repr_html_()
    assert html.count('class="dataframe"') == 1
    assert "nearest to &lt;i&gt; = stem" in html
    assert "<i>" not in html


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_it_is_the_same_from_a_file_of_some_cells_and_genes(fitted, kind, tmp_path):
    adata = fitted.copy()
    st.tl.order(adata, {"stage": "stem"})
    back = written_and_read(adata, kind, tmp_path)
    assert repr(st.get.summary(back)) == repr(st.get.summary(adata))
    part = st.get.summary(back[:90, :3])
    assert part.n_cells == 90
    assert part.branches["n_cells"].sum() == 90
    assert part.branches.drop(columns="n_cells").equals(st.get.summary(adata).branches.drop(columns="n_cells"))


def test_support_of_the_starts_goes_with_the_tree_it_belongs_to(fitted):
    adata = fitted.copy()
    st.tl.order(adata, {"stage": "stem"})
    assert "starts" in adata.uns["ddrtree"]
    path = st.tl.select_path(adata, "root", "T1" if st.get.summary(adata).root != "T1" else "T2")
    assert "starts" not in path.uns["ddrtree"]
    assert "a path of a larger one" in repr(st.get.summary(path))
    assert "not pruned" not in repr(st.get.summary(path))
    st.tl.prune(adata, min_gain=1e6)
    assert "starts" not in adata.uns["ddrtree"]
    said = st.get.summary(adata)
    assert "starts" not in said.branches
    assert said.n_starts == 3  # those of the fit
    st.tl.ddrtree(adata, n_starts=1, n_nodes=20)
    assert "starts" not in adata.uns["ddrtree"]
    assert np.isnan(st.get.summary(adata).agreement)


def test_what_a_number_of_nodes_keeps_from_being_done_is_told(fitted, monkeypatch):
    lines = []
    monkeypatch.setattr(fit_and_store, "info", lines.append)
    adata = fitted.copy()
    assert "one start" not in repr(st.get.summary(adata))
    assert "not pruned" not in repr(st.get.summary(adata))
    st.tl.ddrtree(adata, n_nodes=20)
    st.tl.ddrtree(adata, n_nodes=20, prune=True)
    st.tl.ddrtree(adata, n_nodes=20, n_starts=2, prune=False)
    assert "rounds, one start, not pruned)" in lines[0]
    assert ["not pruned" in line for line in lines] == [True, False, True]
    said = repr(st.get.summary(adata))
    assert "; not pruned\n" in said
    assert "one start" not in said


def test_agreement_of_a_tree_that_was_pruned_again_is_told_as_that_of_the_fit(fitted):
    adata = fitted.copy()
    adata.uns["ddrtree"]["agreement"] = np.full(3, 0.4)
    assert "parts of the cells\n" in repr(st.get.summary(adata))
    assert "as it was learned" not in repr(st.get.summary(adata))
    st.tl.prune(adata, min_gain=1e6)
    said = st.get.summary(adata)
    assert "agreement 0.40 with other starts and parts of the cells, as it was learned\n" in repr(said)
    [doubt] = said.doubts
    assert "do not settle the tree. This is said of the tree as it was learned. Try another preparation" in doubt


def test_of_other_skeletons():
    adata = cells(90)
    st.tl.spl(adata)
    st.tl.drtree(adata)
    st.tl.principal_graph(adata, n_nodes=20)
    st.tl.principal_tree(adata, n_starts=1)
    for key, method in (("spl", "SPL"), ("drtree", "DRTree"), ("principal_graph", "Principal graph")):
        said = st.get.summary(adata, key)
        assert said.method.lower() == method.lower()
        assert said.close == ()
        assert said.doubts == ()
        assert said.key in repr(said)
    assert "similar pairs" in repr(st.get.summary(adata, "spl"))
    assert len(st.get.summary(adata, "spl").branches) == 0
    assert "  tree " in repr(st.get.summary(adata, "principal_tree"))
    ring = [[np.cos(t), np.sin(t)] for t in np.arange(8) * np.pi / 4]
    loop = by_hand(ring, [(i, (i + 1) % 8) for i in range(8)], ring)
    lines = by_hand(**LINES)
    for other in (loop, lines):
        assert "\n  graph " in repr(st.get.summary(other))
        assert "tree" not in repr(st.get.summary(other)).replace("ddrtree", "").replace("DDRTree", "")
    with pytest.raises(KeyError, match="no skeleton is stored as adata.uns"):
        st.get.summary(adata)


def test_groups_are_told_with_the_branch_they_lie_on(fitted):
    adata = fitted.copy()
    adata.uns["ddrtree"]["starts"]["found_again"] = [0.0, 0.5, 1.0]
    st.tl.order(adata, {"stage": "stem"})
    table = st.get.groups(adata, "stage")
    assert table["starts"].tolist() == adata.uns["ddrtree"]["starts"]["found_again"][table["branch"]].tolist()
    del adata.uns["ddrtree"]["starts"]
    assert "starts" not in st.get.groups(adata, "stage")
