"""Order along the tree: exact positions, roots of every kind, ids that stay."""

from __future__ import annotations

import anndata as ad
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import oracles
import skeltraj as st
from samples import CROSS, by_hand, cells, rings
from stored import as_networkx, same, snapshot


@pytest.fixture
def adata(three_arms):
    adata = three_arms.copy()
    adata.obs["noise"] = np.random.default_rng(0).random(300)
    adata.obs["late"] = adata.obs["stage"] == "stem"
    return adata


def test_every_cell_sits_on_its_nearest_point_of_the_whole_tree(adata):
    st.tl.order(adata, root=0)
    stored, position = adata.uns["ddrtree"], adata.obsm["ddrtree_position"]
    Z = adata.obsm["X_ddrtree"]
    np.testing.assert_allclose(position["distance"], oracles.nearest_on_segments(Z, stored["nodes"], stored["edges"]))
    ends = stored["nodes"][stored["edges"][position["edge"]]]
    at = ends[:, 0] + position["fraction"].to_numpy()[:, None] * (ends[:, 1] - ends[:, 0])
    np.testing.assert_allclose(np.linalg.norm(Z - at, axis=1), position["distance"])
    assert list(position.columns) == ["edge", "fraction", "distance"]


@pytest.mark.parametrize("root", [0, 17, "cell5"])
def test_pseudotime_is_the_path_length_from_the_root(adata, root):
    st.tl.order(adata, root=root)
    order, position = adata.uns["ddrtree"]["order"], adata.obsm["ddrtree_position"]
    at = order["root"]
    if root == "cell5":
        assert at == ((adata.uns["ddrtree"]["nodes"] - adata.obsm["X_ddrtree"][5]) ** 2).sum(axis=1).argmin()
    else:
        assert at == root
    length = nx.single_source_dijkstra_path_length(as_networkx(adata), at)
    np.testing.assert_allclose(order["node_pseudotime"], [length[v] for v in range(len(length))])
    stored = adata.uns["ddrtree"]
    for cell in range(0, 300, 7):
        (a, b), w = stored["edges"][position["edge"].iloc[cell]], stored["edge_length"][position["edge"].iloc[cell]]
        t = position["fraction"].iloc[cell]
        wanted = min(length[a] + t * w, length[b] + (1 - t) * w)
        assert adata.obs["ddrtree_pseudotime"].iloc[cell] == pytest.approx(wanted)


def test_ids_do_not_depend_on_the_root_nor_on_the_order_of_cells(adata):
    st.tl.order(adata, root=0)
    branch, tables = adata.obs["ddrtree_branch"].copy(), adata.uns["ddrtree"]["order"]
    st.tl.order(adata, root=40)
    pd.testing.assert_series_equal(adata.obs["ddrtree_branch"], branch)
    for name in ("tips", "forks", "branches"):
        pd.testing.assert_frame_equal(adata.uns["ddrtree"]["order"][name], tables[name])
    for n_nodes in ("auto", "all"):
        a = cells(120)
        b = a[np.random.default_rng(0).permutation(120)].copy()
        for version in (a, b):
            st.tl.ddrtree(version, n_nodes=n_nodes, sigma=0.01)
            st.tl.order(version, root={"stage": "stem"})
        b = b[a.obs_names]
        # a cell at a fork itself is on each of its branches, and rounding decides
        position, graph = a.obsm["ddrtree_position"], st.get.graph(a)
        end = graph.edges[position["edge"].astype(int), np.round(position["fraction"]).astype(int)]
        elsewhere = ~(np.isin(end, graph.forks) & position["fraction"].isin([0, 1]).to_numpy())
        assert elsewhere.mean() > 0.9
        np.testing.assert_array_equal(b.obs["ddrtree_branch"][elsewhere], a.obs["ddrtree_branch"][elsewhere])
        # with one node per cell an edge's first end is the earlier cell's, so a sum may be taken from the other side
        np.testing.assert_allclose(b.obs["ddrtree_pseudotime"], a.obs["ddrtree_pseudotime"], rtol=0, atol=1e-14)


def test_tips_forks_and_branches_are_those_of_the_tree(adata):
    st.tl.order(adata, root=0)
    order, graph = adata.uns["ddrtree"]["order"], as_networkx(adata)
    degree = dict(graph.degree)
    assert set(order["tips"]["node"]) == {v for v in degree if degree[v] == 1}
    assert set(order["forks"]["node"]) == {v for v in degree if degree[v] > 2}
    assert list(order["tips"].index) == [f"T{i + 1}" for i in range(len(order["tips"]))]
    branches = order["branches"]
    assert len(branches) == len(order["tips"]) + len(order["forks"]) - 1
    assert branches["length"].sum() == pytest.approx(adata.uns["ddrtree"]["edge_length"].sum())
    assert branches["n_cells"].sum() == 300
    node = pd.concat([order["tips"]["node"], order["forks"]["node"]])
    for _, row in branches.iterrows():
        assert nx.dijkstra_path_length(graph, node[row["start"]], node[row["end"]]) == pytest.approx(row["length"])
    counts = adata.obs["ddrtree_branch"].value_counts()
    assert (counts[branches.index] == branches["n_cells"]).all()


def test_lineages_hold_the_assignment_on_their_path(adata):
    st.tl.order(adata, root={"stage": "stem"})
    order, lineages = adata.uns["ddrtree"]["order"], adata.obsm["ddrtree_lineages"]
    tips = order["tips"]["node"]
    assert set(lineages.columns) == set(tips.index[tips != order["root"]])
    R = adata.obsm["ddrtree_assignment"].toarray()
    for name in lineages.columns:
        path = nx.shortest_path(as_networkx(adata), order["root"], tips[name])
        np.testing.assert_allclose(lineages[name], R[:, path].sum(axis=1))
    arm = adata.obs["stage"].to_numpy()
    far = adata.obs["place"] > 0.8
    assert lineages[(arm == "stem") & far].to_numpy().min() > 0.99  # the trunk belongs to all
    ends = lineages[(arm != "stem") & far]
    assert (np.sort(ends.to_numpy(), axis=1)[:, -1] > 0.99).mean() > 0.95
    assert (np.sort(ends.to_numpy(), axis=1)[:, 0] < 0.01).mean() > 0.95


def tip_of(adata, stage):
    """The tip at the end of an arm, found by hand."""
    far = adata.obsm["X_ddrtree"][(adata.obs["stage"] == stage) & (adata.obs["place"] > 0.9)].mean(axis=0)
    tips = st.get.graph(adata).tips
    return tips[((adata.uns["ddrtree"]["nodes"][tips] - far) ** 2).sum(axis=1).argmin()]


@pytest.mark.parametrize("stage", ["stem", "left", "right"])
def test_root_by_category(adata, stage):
    st.tl.order(adata, root={"stage": stage})
    assert adata.uns["ddrtree"]["order"]["root"] == tip_of(adata, stage)
    assert adata.uns["ddrtree"]["order"]["root_rule"] == f"the tip nearest to stage = {stage}"
    own = adata.obs["stage"] == stage
    assert (
        adata.obs["ddrtree_pseudotime"][own & (adata.obs["place"] > 0.6)].max()
        < adata.obs["ddrtree_pseudotime"][~own].min()
    )


def test_root_by_boolean_and_by_a_number_that_names_a_group(adata):
    st.tl.order(adata, root={"late": True})
    assert adata.uns["ddrtree"]["order"]["root"] == tip_of(adata, "stem")
    adata.obs["day"] = adata.obs["stage"].map({"stem": 0.0, "left": 3.0, "right": 7.0}).astype(float)
    st.tl.order(adata, root={"day": 3})
    assert adata.uns["ddrtree"]["order"]["root"] == tip_of(adata, "left")


def test_a_missing_number_is_no_root(adata):
    adata.obs["day"] = pd.array([1] * 299 + [None], dtype="Int64")
    with pytest.raises(ValueError, match="root={'day': <NA>}: 'day' is numeric, and no cell has that"):
        st.tl.order(adata, root={"day": pd.NA})


@pytest.mark.parametrize("kind", ["score", "gene", "sparse gene"])
def test_root_by_extreme(adata, kind):
    score = adata.obs["place"] * (adata.obs["stage"] == "right")
    if kind == "score":
        adata.obs["marker"] = score
        adata.obs.loc[adata.obs_names[:20], "marker"] = np.nan
    else:
        adata.var_names = ["marker", *adata.var_names[1:]]
        X = adata.X.copy()
        X[:, 0] = score
        adata.X = sparse.csr_matrix(X) if kind == "sparse gene" else X
    st.tl.order(adata, root={"marker": "max"})
    assert adata.uns["ddrtree"]["order"]["root"] == tip_of(adata, "right")
    adata.obs["opposite"] = -np.asarray(score)
    st.tl.order(adata, root={"opposite": "min"})
    assert adata.uns["ddrtree"]["order"]["root"] == tip_of(adata, "right")


def test_without_a_root_the_tips_are_ranked_and_the_guess_is_said(adata):
    with pytest.warns(
        UserWarning, match=r"No root was given: tip (T\d) \(node (\d+)\) was taken.*direction is a guess"
    ):
        st.tl.order(adata)
    order = adata.uns["ddrtree"]["order"]
    ranking = order["ranking"]
    assert set(ranking["node"]) == set(order["tips"]["node"])
    assert ranking["mean_path_length"].is_monotonic_decreasing
    assert order["root"] == ranking["node"].iloc[0]
    assert adata.obs["ddrtree_pseudotime"].mean() == pytest.approx(ranking["mean_path_length"].iloc[0])
    for node, mean in ranking.to_numpy():
        st.tl.order(adata, root=int(node))
        assert adata.obs["ddrtree_pseudotime"].mean() == pytest.approx(mean)


def test_parts_without_the_root_get_nan_and_a_component(adata):
    stored = adata.uns["ddrtree"]
    graph = st.get.graph(adata)
    cut = graph.edges_along(graph.branches[0])[1]
    stored["edges"] = np.delete(stored["edges"], cut, axis=0)
    stored["edge_length"] = np.delete(stored["edge_length"], cut)
    root = int(graph.branches[1][0])
    with pytest.warns(UserWarning, match="cells lie on components without the root and have no pseudotime"):
        st.tl.order(adata, root=root)
    lost = adata.obs["ddrtree_pseudotime"].isna()
    assert 0 < lost.sum() < 300
    assert not np.isinf(adata.obs["ddrtree_pseudotime"]).any()
    table = pd.crosstab(lost, adata.obs["ddrtree_component"])
    assert (table.to_numpy() > 0).sum() == 2
    st.tl.ddrtree(adata, 3)
    st.tl.order(adata, root=0)
    assert "ddrtree_component" not in adata.obs  # in one piece again


@pytest.mark.parametrize(
    ("root", "kind", "message"),
    [
        (100_000, ValueError, r"root=100000 is not a node; wanted a number from 0 to \d+"),
        (-1, ValueError, "root=-1 is not a node"),
        ("nobody", KeyError, r"root='nobody' names 0 cells; wanted exactly one of adata.obs_names"),
        ({"stage": "stm"}, KeyError, r"adata.obs\['stage'\] has no 'stm'. Available: \['left', 'right', 'stem'\]"),
        ({"stge": "stem"}, KeyError, "'stge' is neither a column of adata.obs nor a gene. Columns: "),
        ({"noise": "top"}, ValueError, "'noise' is numeric, and no cell has that; wanted 'min', 'max' or a value"),
        ({"empty": "max"}, ValueError, "'empty' holds no finite value"),
        ({"same": "max"}, ValueError, "'same' is 2 wherever it is known; wanted values that differ"),
        ({"stage": "stem", "noise": "max"}, TypeError, "is not understood; wanted a node"),
        (2.5, TypeError, "root=2.5 is not understood"),
        (True, TypeError, "root=True is not understood"),
    ],
)
def test_errors_come_before_anything_is_stored(adata, root, kind, message):
    adata.obs["empty"] = np.nan
    adata.obs["same"] = np.where(np.arange(adata.n_obs) % 2, 2.0, np.nan)
    st.tl.order(adata, root=3)
    before = snapshot(adata)
    with pytest.raises(kind, match=message):
        st.tl.order(adata, root=root)
    same(adata, before)


def test_ordering_needs_a_fit():
    adata = cells(20)
    before = snapshot(adata)
    with pytest.raises(
        KeyError, match=r"no skeleton is stored as adata.uns\['ddrtree'\]. Available: \[\]. Fit one first"
    ):
        st.tl.order(adata, root=0)
    with pytest.raises(KeyError, match="no skeleton is stored"):
        st.pl.dendrogram(adata)
    same(adata, before)
    st.tl.ddrtree(adata)
    with pytest.raises(KeyError, match="the cells have not been ordered along"):
        st.pl.dendrogram(adata)


def test_a_root_written_as_text_matches_what_it_spells(adata):
    adata.obs["day"] = adata.obs["stage"].map({"stem": 0, "left": 3, "right": 7}).astype(int)
    adata.obs["week"] = pd.Categorical(adata.obs["day"])
    adata.obs["maybe"] = pd.array(np.where(adata.obs["stage"] == "left", True, None), dtype="boolean")
    for root in ({"week": "3"}, {"day": "3"}, {"maybe": True}, {"maybe": "True"}):
        st.tl.order(adata, root=root)
        assert adata.uns["ddrtree"]["order"]["root"] == tip_of(adata, "left")
    tenths = adata.obs["stage"].map({"stem": 0.1, "left": 8.3, "right": 0.7}).astype(float)
    for kind in ("float32", "Float32", "float64"):
        adata.obs["tenths"] = tenths.astype(kind)
        for value in (8.3, "8.3", np.float64(8.3), np.float32(8.3)):
            if kind == "float64" and isinstance(value, np.float32):
                continue  # which is another number there
            st.tl.order(adata, root={"tenths": value})
            assert adata.uns["ddrtree"]["order"]["root"] == tip_of(adata, "left")
    with pytest.raises(TypeError, match=r"\['left'\] is a list; wanted one value"):
        st.tl.order(adata, root={"stage": ["left"]})


def test_cells_that_the_fit_has_not_seen_are_refused(adata):
    adata.obsm["X_ddrtree"][:7] = np.nan
    with pytest.raises(ValueError, match="7 of 300 cells, such as 'cell0', have no finite coordinates"):
        st.tl.order(adata, root=0)
    adata.X = None
    with pytest.raises(ValueError, match="7 of 300 cells"):
        st.tl.order(adata, root={"gene0": "max"})


def test_what_is_no_anndata_is_refused():
    for function in (st.tl.order, st.get.graph, st.pl.graph):
        with pytest.raises(TypeError, match="adata is a list; wanted an AnnData"):
            function([])


def test_no_cells_are_refused(adata):
    st.tl.order(adata, root=0)
    none = adata[:0].copy()
    for function in (st.tl.order, st.tl.prune, st.tl.stability, st.get.to_scfates):
        with pytest.raises(ValueError, match="adata is empty: 0 cells x 6 genes"):
            function(none)


@pytest.mark.filterwarnings("ignore:No lineage was found")  # loops have no tips
def test_order_on_loops_takes_the_shortest_path_and_names_the_components():
    adata = rings()
    st.tl.principal_graph(adata, n_nodes=40)
    assert st.get.graph(adata, "principal_graph").component.max() == 1
    start = int(np.argmin(np.abs(adata.obs["angle"].to_numpy()[:500] - np.pi)))
    with pytest.warns(
        UserWarning, match=r"500 of 1000 cells .* C1 \(500 cells\), C2 \(500 cells\); the root lies in C"
    ) as w:
        st.tl.order(adata, root=adata.obs_names[start], key="principal_graph")
    assert any("principal_tree" in str(warning.message) for warning in w)
    time = adata.obs["principal_graph_pseudotime"].to_numpy()
    assert np.isfinite(time[:500]).all()
    assert np.isnan(time[500:]).all()
    by_ring = adata.obs.groupby("ring", observed=True)["principal_graph_component"].nunique()
    assert (by_ring == 1).all()
    assert st.get.graph(adata, "principal_graph").n_loops == 2
    with pytest.raises(ValueError, match=r"has 2 loop\(s\)"):
        st.pl.dendrogram(adata, key="principal_graph")
    around = np.abs(adata.obs["angle"].to_numpy()[:500] - np.pi)  # the shorter way round
    assert np.corrcoef(time[:500], around)[0, 1] > 0.99
    assert time[:500].max() == pytest.approx(np.pi, rel=0.15)


def test_the_root_may_be_a_tip_or_fork_by_the_name_that_pictures_show():
    adata = cells(150)
    st.tl.ddrtree(adata)
    tree = st.get.graph(adata)
    st.tl.order(adata, root="T2")
    assert adata.uns["ddrtree"]["order"]["root"] == tree.tips[1]
    assert adata.uns["ddrtree"]["order"]["root_rule"] == "tip T2"
    st.tl.order(adata, root="F1")
    assert adata.uns["ddrtree"]["order"]["root"] == tree.forks[0]
    with pytest.raises(KeyError, match=r"root='T99' names 0 cells; .* fork of \['T1', 'T2', 'T3', 'F1'\]"):
        st.tl.order(adata, root="T99")


def test_a_cell_comes_before_a_tip_of_that_name_with_a_warning_where_they_are_apart():
    adata = by_hand(**CROSS)  # T1, T2 and F1 are nodes 0, 7 and 2; the cells have nodes 0 and 2
    adata.obs_names = ["T2", "F1", *adata.obs_names[2:]]
    with pytest.warns(UserWarning, match="root='T2' names a cell and a tip: the cell was taken") as caught:
        st.tl.order(adata, root="T2")
    assert len(caught) == 1
    assert "(node 0). root=7 begins at the tip, root=0 at the cell's node." in str(caught[0].message)
    order = adata.uns["ddrtree"]["order"]
    assert (order["root"], order["root_rule"]) == (0, "cell T2")
    for root, node, rule in ((7, 7, "node 7"), (0, 0, "node 0"), ("F1", 2, "cell F1"), ("T1", 0, "tip T1")):
        st.tl.order(adata, root=root)  # without a warning
        order = adata.uns["ddrtree"]["order"]
        assert (order["root"], order["root_rule"]) == (node, rule)


def line_of_groups(at_tip, n=40):
    """Cells along a straight tree of length 8, "own" from `at_tip` on for two units, else "other"."""
    x = np.linspace(0, 8, 4 * n)
    adata = by_hand([[i, 0] for i in range(9)], [[i, i + 1] for i in range(8)], np.column_stack([x, 0 * x]))
    own = (x >= at_tip) & (x <= at_tip + 2)
    adata.obs["group"] = pd.Categorical(np.where(own, "own", "other"))
    return adata


def test_a_root_for_a_group_whose_cells_lie_elsewhere_warns():
    adata = line_of_groups(2.0)
    with pytest.warns(UserWarning, match="nearest to group = own") as said:
        st.tl.order(adata, {"group": "own"})
    [text] = [str(one.message) for one in said]
    assert (
        "The root, T1, is nearest to group = own, but of the 10 cells around it none is of that group; 10 are" in text
    )
    assert "10 are other. The middle of the group is at node 3: root=3 begins there." in text
    assert "st.pl.graph(adata, color='group')" in text
    assert said[0].filename == __file__
    adata.uns["mine"], adata.obsm["X_mine"] = adata.uns["ddrtree"].copy(), adata.obsm["X_ddrtree"]
    adata.obsm["mine_assignment"] = adata.obsm["ddrtree_assignment"]
    with pytest.warns(UserWarning, match=r"st\.pl\.graph\(adata, color='group', key='mine'\)"):
        st.tl.order(adata, {"group": "own"}, key="mine")
    st.tl.order(adata, 3)  # what it proposes
    assert adata.obs["ddrtree_pseudotime"][adata.obs["group"] == "own"].max() <= 1


def test_a_root_among_its_own_group_does_not_warn():
    st.tl.order(line_of_groups(0.0), {"group": "own"})
    few = line_of_groups(2.0)
    few.obs["group"] = pd.Categorical(
        np.where(np.arange(len(few)) % 30 == 1, "own", "other")
    )  # 6 cells: too few to say
    st.tl.order(few, {"group": "own"})
    unknown = line_of_groups(2.0)
    unknown.obs["group"] = unknown.obs["group"].cat.remove_categories("other")  # the others may be anything
    st.tl.order(unknown, {"group": "own"})


def test_around_a_root_in_a_small_part_are_the_cells_of_that_part_alone():
    line = lambda y, n: np.column_stack([np.linspace(0, 1, n), np.full(n, y)])
    adata = by_hand(
        np.vstack([line(0, 3), line(5, 3)]),
        [[0, 1], [1, 2], [3, 4], [4, 5]],
        np.vstack([line(0, 15), line(5, 500)]),
    )
    adata.obs["group"] = pd.Categorical(np.r_[["own"] * 12, ["other"] * 493, ["own"] * 10])
    with pytest.warns(UserWarning, match="components without the root") as said:
        st.tl.order(adata, {"group": "own"})
    assert len(said) == 1


def test_cells_beyond_the_tip_count_alike_whatever_their_order():
    """Half of fourteen cells that all lie at the tip itself are of the group: none of them is before another."""
    x = np.r_[np.full(14, -1.0), np.linspace(0.1, 8, 40)]
    adata = by_hand([[i, 0] for i in range(9)], [[i, i + 1] for i in range(8)], np.column_stack([x, 0 * x]))
    adata.obs["group"] = pd.Categorical(np.r_[["other"] * 7, ["own"] * 11, ["other"] * 36])
    for version in (adata, adata[::-1].copy()):
        st.tl.order(version, {"group": "own"})


def test_cells_beyond_a_stretch_without_cells_are_told():
    """The tree joins them, but no cell shows the way."""
    adata = cells(300, n_features=8)
    others = np.random.default_rng(0).normal(0, 0.1, (8, 8))
    others[:, 7] += 3 * np.ptp(adata.X)
    with_others = ad.AnnData(np.vstack([adata.X, others]))
    with_others.obs_names = [f"cell{i}" for i in range(308)]
    for some in (adata, with_others):
        st.tl.ddrtree(some)
    st.tl.order(adata, root="cell0")  # a warning would be an error
    assert not any("No cell lies" in doubt for doubt in st.get.summary(adata).doubts)
    with pytest.warns(UserWarning, match=r"No cell lies on a stretch of B\d+ .*, with 8 cells beyond it \(T\d+\)"):
        st.tl.order(with_others, root="cell0")
    assert sum("with 8 cells beyond it" in doubt for doubt in st.get.summary(with_others).doubts) == 1
    del with_others.obsm["ddrtree_position"]  # without places nothing is known of them
    assert not any("No cell lies" in doubt for doubt in st.get.summary(with_others).doubts)
