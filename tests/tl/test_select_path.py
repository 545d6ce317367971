"""Paths of a tree with the cells along them."""

from __future__ import annotations

import anndata as ad
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import skeltraj as st
from samples import CROSS, by_hand, cells
from stored import same, snapshot


@pytest.fixture
def cross():
    adata = by_hand(**CROSS)
    st.tl.order(adata, root=0)
    return adata


@pytest.fixture(scope="module")
def fitted():
    adata = cells(240, seed=1)
    st.tl.ddrtree(adata, 3, n_nodes=40)
    st.tl.order(adata, root={"stage": "stem"})
    return adata


def names_of(adata):
    return sorted(adata.obs_names)


def test_a_path_by_hand(cross):
    before = snapshot(cross)
    path = st.tl.select_path(cross, "T1", "T3")
    same(cross, before)
    assert names_of(path) == ["c0", "c1", "c2", "c3", "c8"]
    stored = path.uns["ddrtree"]
    np.testing.assert_array_equal(stored["nodes"], [[0, 0], [1, 0], [2, 0], [2, 1], [2, 2]])
    np.testing.assert_array_equal(stored["edges"], [[0, 1], [1, 2], [2, 3], [3, 4]])
    np.testing.assert_array_equal(stored["edge_length"], [1, 1, 1, 1])
    np.testing.assert_allclose(path.obs["ddrtree_pseudotime"], [0.5, 1.8, 2.9, 4.0, 1.2])
    assert path.obs["ddrtree_branch"].unique().tolist() == ["B1+B3"]
    assert stored["order"]["tips"]["node"].to_dict() == {"T1": 0, "T3": 4}
    assert len(stored["order"]["forks"]) == 0
    assert stored["params"]["n_nodes"] == 5
    assert cross.uns["ddrtree"]["params"]["n_nodes"] == 8
    assert stored["n_iter"] == 1
    np.testing.assert_array_equal(stored["objective"], [2, 1])
    assert {name: np.asarray(value).tolist() for name, value in stored["path"].items()} == {
        "start": 0,
        "end": [4],
        "nodes": [0, 1, 2, 3, 4],
        "edges": [0, 1, 2, 3],
        "tips": ["T1", "T3"],
        "forks": [],
        "branches": ["B1+B3"],
    }


def test_several_ends_are_several_paths(cross):
    path = st.tl.select_path(cross, "F1", ["T2", 6])
    assert names_of(path) == ["c4", "c5", "c6", "c7"]
    # fork, right, right, down: as they are numbered in the whole
    np.testing.assert_array_equal(path.uns["ddrtree"]["nodes"], [[2, 0], [3, 0], [4, 0], [2, -1]])
    np.testing.assert_array_equal(path.uns["ddrtree"]["edges"], [[0, 1], [1, 2], [0, 3]])
    np.testing.assert_array_equal(path.uns["ddrtree"]["path"]["nodes"], [2, 5, 6, 7])
    np.testing.assert_array_equal(path.uns["ddrtree"]["path"]["edges"], [4, 5, 6])
    # the root is elsewhere: measured from the fork, where the path starts
    assert path.uns["ddrtree"]["order"]["root"] == 0
    assert path.uns["ddrtree"]["order"]["root_rule"] == "the start of the path; the root is not on it"
    np.testing.assert_allclose(path.obs["ddrtree_pseudotime"], [1.4, 2.0, 0.6, 0.9])


@pytest.fixture
def comb():
    """A path along the first axis with a tooth at each of three forks; T1, T4, T5 are 0, 6, 9, forks F1 to F3."""
    nodes = [[i, 0] for i in range(5)] + [[i, 1] for i in (1, 2, 3)]
    edges = [[i, i + 1] for i in range(4)] + [[i, i + 4] for i in (1, 2, 3)]
    points = [[x / 4, 0] for x in range(17)] + [[i, y] for i in (1, 2, 3) for y in (0.3, 0.9)]
    adata = by_hand(nodes, edges, points)
    adata.obs["group"] = pd.Categorical(np.arange(adata.n_obs) % 2)
    st.tl.order(adata, root=0)
    return adata


def test_a_path_keeps_the_names_of_the_whole(comb, tmp_path):
    whole = st.get.graph(comb)
    assert whole.node_names == {0: "T1", 5: "T2", 6: "T3", 7: "T4", 4: "T5", 1: "F1", 2: "F2", 3: "F3"}
    path = st.tl.select_path(comb, "T1", ["T3", "T5"])  # F1 and F3 are forks no more
    path.write_h5ad(tmp_path / "path.h5ad")
    for here in (path, ad.read_h5ad(tmp_path / "path.h5ad"), path[1:].copy()):
        st.tl.order(here, "T5")
        graph, order = st.get.graph(here), here.uns["ddrtree"]["order"]
        assert graph.node_names == {0: "T1", 5: "T3", 4: "T5", 2: "F2"}
        assert order["root"] == 4
        assert order["root_rule"] == "tip T5"
        assert order["tips"]["node"].to_dict() == {"T1": 0, "T3": 5, "T5": 4}
        assert order["forks"]["node"].to_dict() == {"F2": 2}
        ends = [tuple(whole.node_names[node] for node in branch[[0, -1]].tolist()) for branch in whole.branches]
        of = dict(zip(ends, whole.branch_names.tolist(), strict=True))
        first, last, tooth = (
            of["T1", "F1"] + "+" + of["F1", "F2"],
            of["F2", "F3"] + "+" + of["F3", "T5"],
            of["F2", "T3"],
        )
        assert order["branches"][["start", "end"]].T.to_dict("list") == {
            first: ["T1", "F2"], tooth: ["F2", "T3"], last: ["F2", "T5"],
        }  # fmt: skip
        assert list(here.obs["ddrtree_branch"].cat.categories) == list(order["branches"].index)
        assert set(here.obs_names[here.obs["ddrtree_branch"] == tooth]) <= set(
            comb.obs_names[comb.obs["ddrtree_branch"] == tooth]
        )
        assert list(here.obsm["ddrtree_lineages"]) == ["T1", "T3"]
        network = st.get.trajectory_tables(here).milestone_network
        assert set(network["from"]) | set(network["to"]) == {"T1", "T3", "T5", "F2"}
        st.tl.composition(here, "group", n_permutations=9)
        assert set(st.get.composition(here, "group").branches["branch"]) == {first, tooth, last}
        shown = {text.get_text().strip() for text in st.pl.graph(here, color="group", labels=True).texts}
        assert {"T1", "T3", "F2"} <= shown
        assert not {"T2", "T4", "F1", "F3"} & shown
        again = st.tl.select_path(here, "F2", "T5")  # an end of it is where the whole has a fork
        assert st.get.graph(again).node_names == {0: "F2", 2: "T5"}
        assert again.obs["ddrtree_branch"].unique().tolist() == [last]


def test_ends_without_a_name_and_another_tree_afterwards(comb):
    path = st.tl.select_path(comb, "T2", 2)  # from a tooth, past F1, to F2
    assert st.get.graph(path).node_names == {2: "T2", 1: "F2"}
    two = by_hand([[0, 0], [1, 0], [2, 0], [3, 0]], [[0, 1], [1, 2], [2, 3]], [[0.5, 0], [1.5, 0], [2.5, 0]])
    st.tl.order(two, root=0)
    within = st.tl.select_path(two, 1, 2)
    assert st.get.graph(within).node_names == {0: "cut1", 1: "cut2"}
    assert within.obs["ddrtree_branch"].tolist() == ["B1"]
    st.tl.order(within, "cut2")
    assert list(within.obsm["ddrtree_lineages"]) == ["cut1"]
    within.uns["ddrtree"]["path"]["tips"] = np.array(["T1"])
    with pytest.raises(ValueError, match=r"holds no skeleton: names: 1 tips are named, \['T1'\]; wanted 2 names"):
        st.get.graph(within)
    # a file that was written before paths had names
    for name in ("tips", "forks", "branches"):
        del within.uns["ddrtree"]["path"][name]
    assert st.get.graph(within).node_names == {0: "T1", 1: "T2"}


def test_a_new_tree_has_names_of_its_own():
    adata = cells(150)
    st.tl.ddrtree(adata, n_nodes=25, prune=True)
    st.tl.order(adata, root=0)
    tips = st.get.graph(adata).tip_names
    path = st.tl.select_path(adata, tips[-2], tips[-1])
    assert st.get.graph(path).tip_names.tolist() == tips[-2:].tolist()
    st.tl.ddrtree(path, n_nodes=15)
    graph = st.get.graph(path)
    assert graph.tip_names.tolist() == [f"T{i + 1}" for i in range(len(graph.tips))]


def test_the_root_stays_where_it_lies_on_the_path(cross):
    st.tl.order(cross, root=3)
    path = st.tl.select_path(cross, "T1", "T3")
    assert path.uns["ddrtree"]["order"]["root"] == 3
    assert path.uns["ddrtree"]["order"]["root_rule"] == "as on the whole: node 3"
    part = st.tl.select_path(path, "root", "T3")
    assert part.uns["ddrtree"]["order"]["root_rule"] == "as on the whole: node 3"
    np.testing.assert_array_equal(path.obs["ddrtree_pseudotime"], cross.obs["ddrtree_pseudotime"][path.obs_names])
    assert list(path.obsm["ddrtree_lineages"].columns) == ["T1", "T3"]
    whole = st.tl.select_path(cross, "root", ["T1", "T2", "T3", "T4"])
    assert whole.n_obs == cross.n_obs
    for name in ("nodes", "edges"):
        np.testing.assert_array_equal(whole.uns["ddrtree"][name], cross.uns["ddrtree"][name])


def test_cells_at_a_node_of_the_path_lie_on_it_whatever_edge_they_were_put_on():
    # c0 stands beyond the bend at node 1, equally near to both edges there: it is put on the one stored first
    points = [[1.5, 1.5], [0.5, 0.0], [1.0, -0.5], [-1.0, 0.0]]
    for edges in ([[0, 1], [1, 2]], [[1, 2], [0, 1]], [[2, 1], [1, 0]]):
        adata = by_hand([[0, 0], [1, 0], [1, -1]], edges, points)
        adata.obsm["X_ddrtree"][0] = [1.3, 0.4]
        st.tl.order(adata, root=0)
        assert names_of(st.tl.select_path(adata, 0, 1)) == ["c0", "c1", "c3"]
        assert names_of(st.tl.select_path(adata, 1, 2)) == ["c0", "c2"]


def test_assignment_is_that_to_the_path_alone():
    adata = by_hand(**CROSS, sigma=0.7)
    adata.obsm["ddrtree_assignment"] = sparse.csr_matrix(adata.obsm["ddrtree_assignment"])
    st.tl.order(adata, root=0)
    R = adata.obsm["ddrtree_assignment"].toarray()
    path = st.tl.select_path(adata, "T1", "T4")
    kept = [0, 1, 2, 5, 6]
    at = [adata.obs_names.get_loc(name) for name in path.obs_names]
    wanted = R[np.ix_(at, kept)]
    np.testing.assert_allclose(
        path.obsm["ddrtree_assignment"].toarray(), wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-12
    )
    # the lineage from the root holds all of the path
    np.testing.assert_allclose(path.obsm["ddrtree_lineages"]["T4"], 1.0)


def test_a_cell_that_no_node_of_the_path_holds_goes_to_the_nearer_end_of_its_edge(cross):
    R = np.zeros((9, 8))
    R[:, 7] = 1.0
    R[0, [0, 7]] = [1e-15, 1 - 1e-15]  # hardly any
    cross.obsm["ddrtree_assignment"] = sparse.csr_matrix(R)
    path = st.tl.select_path(cross, "T1", "T3")
    assignment = path.obsm["ddrtree_assignment"].toarray()
    # c0 by what little there is; c1 at (1.8, 0), c2 at (2, 0.9), c3 beyond the tip, c8 at (1.2, 0)
    np.testing.assert_array_equal(assignment, np.eye(5)[[0, 2, 3, 4, 1]])


@pytest.mark.filterwarnings("ignore:No lineage was found")  # a mesh may have no tips
@pytest.mark.parametrize("method", ["ddrtree", "principal_tree", "principal_graph", "drtree"])
def test_all_that_reads_an_order_runs_on_a_path(method, tmp_path):
    adata = cells(150)
    options = {"drtree": {}, "principal_graph": {"n_nodes": 8}}.get(method, {"n_nodes": 25})
    getattr(st.tl, method)(adata, **options)
    graph = st.get.graph(adata, method)
    far = np.nan_to_num(graph.distances_from(0), nan=-1.0)
    end = int(far.argmax())
    st.tl.order(adata, root=0, key=method)
    before = snapshot(adata)
    path = st.tl.select_path(adata, "root", end, key=method)
    same(adata, before)
    wanted = nx.dijkstra_path(st.get.networkx(adata, method), 0, end, weight="length")
    assert sorted(wanted) == path.uns[method]["path"]["nodes"].tolist()
    np.testing.assert_array_equal(path.uns[method]["nodes"], adata.uns[method]["nodes"][sorted(wanted)])
    time = adata.obs[f"{method}_pseudotime"]
    np.testing.assert_allclose(path.obs[f"{method}_pseudotime"], time[path.obs_names], atol=1e-8)
    assert 0 < path.n_obs < 150
    if method != "drtree":
        np.testing.assert_allclose(path.obsm[f"{method}_assignment"].sum(axis=1), 1.0)
        assert path.obsm[f"{method}_assignment"].shape == (path.n_obs, len(wanted))
    if method.startswith("principal"):
        assert len(path.uns[method]["weights"]) == len(wanted) - 1
        chosen = path.uns[method]["path"]["edges"]
        np.testing.assert_array_equal(path.uns[method]["weights"], adata.uns[method]["weights"][chosen])
    path.write_h5ad(tmp_path / "path.h5ad")
    back = ad.read_h5ad(tmp_path / "path.h5ad")
    same(back, path)
    for version in (back, back[::2].copy()):
        kept = version.obs[f"{method}_pseudotime"].to_numpy().copy()
        st.tl.order(version, root=version.uns[method]["order"]["root"], key=method)
        np.testing.assert_allclose(version.obs[f"{method}_pseudotime"], kept, atol=1e-12)
        for draw in (st.pl.graph, st.pl.dendrogram, st.pl.adjacency):
            draw(version, key=method)
        st.get.networkx(version, method), st.get.assignment(version, method)
        assert st.get.trajectory_tables(version, method).milestone_network["directed"].all()
        assert st.get.groups(version, "stage", method)["n_cells"].sum() == version.n_obs
    again = st.tl.select_path(path, *st.get.graph(path, method).tip_names, key=method)  # the whole path once more
    assert names_of(again) == names_of(path)


def test_the_cells_of_a_fitted_path(fitted):
    path = st.tl.select_path(fitted, "root", "F1")
    order = fitted.uns["ddrtree"]["order"]
    graph = st.get.networkx(fitted)
    walk = nx.shortest_path(graph, order["root"], int(order["forks"]["node"].iloc[0]))
    edges = {frozenset(pair) for pair in nx.utils.pairwise(walk)}
    on = [frozenset(fitted.uns["ddrtree"]["edges"][e]) in edges for e in fitted.obsm["ddrtree_position"]["edge"]]
    assert set(fitted.obs_names[on]) <= set(path.obs_names)
    extra = set(path.obs_names) - set(fitted.obs_names[on])
    # the rest stands exactly at the fork
    at = order["node_pseudotime"][walk[-1]]
    np.testing.assert_allclose(fitted.obs["ddrtree_pseudotime"][list(extra)], at)
    np.testing.assert_array_equal(
        path.obs["ddrtree_pseudotime"].loc[fitted.obs_names[on]], fitted.obs["ddrtree_pseudotime"][on]
    )
    np.testing.assert_array_equal(path.varm["ddrtree_loadings"], fitted.varm["ddrtree_loadings"])
    np.testing.assert_array_equal(path.uns["ddrtree"]["mean"], fitted.uns["ddrtree"]["mean"])


def test_the_order_of_the_cells_does_not_matter(fitted):
    a = st.tl.select_path(fitted, "T1", "T2")
    shuffled = fitted[np.random.default_rng(0).permutation(fitted.n_obs)].copy()
    b = st.tl.select_path(shuffled, "T1", "T2")
    same(b[a.obs_names].copy(), a)


def test_cells_of_lone_nodes_and_other_parts_are_not_on_the_path():
    nodes = [*CROSS["nodes"], [9, 9], [0, 5], [1, 5]]
    points = [*CROSS["points"], [9, 8.9], [0.5, 5.1]]
    adata = by_hand(nodes, [*CROSS["edges"], [9, 10]], points)
    with pytest.warns(UserWarning, match="components without the root"):
        st.tl.order(adata, root=0)
    path = st.tl.select_path(adata, 0, [4, 6, 7])
    assert names_of(path) == [f"c{i}" for i in range(9)]
    assert "ddrtree_component" not in path.obs
    assert not path.obs["ddrtree_pseudotime"].isna().any()
    other = st.tl.select_path(adata, 9, 10)
    assert names_of(other) == ["c10"]
    np.testing.assert_allclose(other.obs["ddrtree_pseudotime"], [0.5])
    with pytest.raises(ValueError, match=r"no path leads from start=0 to end=9: they lie on components C1 and C2"):
        st.tl.select_path(adata, 0, 9)


def test_an_added_edge_of_the_path_stays_one(tmp_path):
    """Neither the path nor a path of it warns that no cell lies there; of an edge elsewhere nothing is kept."""
    nodes = np.c_[np.r_[-3, -2, np.arange(20), 40 + np.arange(20)], np.r_[9, 9, np.zeros(40)]]
    edges = [(0, 1), *((i, i + 1) for i in range(2, 41) if i != 21)]
    x = np.r_[np.linspace(0, 19, 150), np.linspace(40, 59, 150)]
    adata = by_hand(nodes, edges, np.r_[np.c_[x, 0 * x], [[-3, 9], [-2, 9]]])
    st.tl.attach(adata)
    assert len(adata.uns["ddrtree"]["attached"]) == 2
    st.tl.order(adata, root=41)
    path = st.tl.select_path(adata, 2, 41)
    path.write_h5ad(tmp_path / "path.h5ad")
    path = ad.read_h5ad(tmp_path / "path.h5ad")
    shorter = st.tl.select_path(path, 10, 39)
    for here, at in ((path, (19, 20)), (shorter, (9, 10))):
        st.tl.order(here, root=0)
        assert st.get.summary(here).doubts == ()
        assert "1 edge added" in repr(st.get.summary(here))
        table, fit = here.uns["ddrtree"]["attached"], here.uns["ddrtree"]
        assert table.index.tolist() == ["A1"]
        assert table[["node_a", "node_b"]].to_numpy().tolist() == [list(at)]
        np.testing.assert_array_equal(fit["edges"][table["edge"]], table[["node_a", "node_b"]])
        np.testing.assert_allclose(fit["edge_length"][table["edge"]], table["length"])
        np.testing.assert_allclose(table["length"], 21)
    assert "attached" not in st.tl.select_path(adata, 2, 10).uns["ddrtree"]


def test_what_belongs_to_the_whole_tree_is_left_out_and_another_fit_is_not_touched(cross):
    edge = {"edge": [6], "node_a": [2], "node_b": [7], "length": [1.0]}  # not of the path
    cross.uns["ddrtree"]["attached"] = pd.DataFrame(edge, index=["A1"])
    st.tl.principal_tree(cross, n_nodes=4, sigma=0.5)
    path = st.tl.select_path(cross, "T1", "T3")
    assert "attached" not in path.uns["ddrtree"]
    np.testing.assert_array_equal(path.uns["principal_tree"]["nodes"], cross.uns["principal_tree"]["nodes"])
    np.testing.assert_array_equal(path.obsm["X_principal_tree"], cross[path.obs_names].obsm["X_principal_tree"])


def test_a_file_that_stays_on_disk(cross, tmp_path):
    cross.write_h5ad(tmp_path / "a.h5ad")
    backed = ad.read_h5ad(tmp_path / "a.h5ad", backed="r")
    path = st.tl.select_path(backed, "T1", "T3")
    assert not path.isbacked
    same(path, st.tl.select_path(cross, "T1", "T3"))
    backed.file.close()


def test_what_a_fit_left_to_dask():
    da = pytest.importorskip("dask.array")
    adata = cells(120)
    st.tl.principal_tree(adata, n_nodes=15)
    lazy = adata.copy()
    lazy.layers["lazy"] = da.from_array(lazy.X, chunks=(50, -1))
    st.tl.principal_tree(lazy, n_nodes=15, layer="lazy")
    assert hasattr(lazy.obsm["principal_tree_assignment"], "compute")
    for version in (adata, lazy):
        st.tl.order(version, root=0, key="principal_tree")
    a, b = (st.tl.select_path(version, "T1", "T2", key="principal_tree") for version in (adata, lazy))
    assert names_of(a) == names_of(b)
    np.testing.assert_allclose(
        a.obsm["principal_tree_assignment"].toarray(), b.obsm["principal_tree_assignment"].toarray(), atol=1e-6
    )


@pytest.mark.parametrize(
    ("ends", "kind", "message"),
    [
        (
            ("T9", "T1"),
            ValueError,
            r"start='T9' is not on the skeleton. Available: \['T1', 'T2', 'T3', 'T4', 'F1', 'ro",
        ),
        (("T1", "c3"), ValueError, r"end='c3' is not on the skeleton"),
        (("T1", 8), ValueError, "end=8 is not a node; wanted a number from 0 to 7"),
        ((-1, 3), ValueError, "start=-1 is not a node"),
        ((True, 3), TypeError, "start=True is a bool; wanted a tip or fork"),
        ((0, 1.5), TypeError, "end=1.5 is a float; wanted a tip or fork"),
        ((None, 3), TypeError, "start=None is a NoneType"),
        (("T1", []), ValueError, "end is an empty list"),
        (("T1", ["T2", "root"]), ValueError, "start='T1' and end='root' are the same node, 0"),
    ],
)
def test_errors(cross, ends, kind, message):
    before = snapshot(cross)
    with pytest.raises(kind, match=message):
        st.tl.select_path(cross, *ends)
    same(cross, before)


def test_more_errors(cross):
    few = cross[["c4", "c5"]].copy()
    with pytest.raises(ValueError, match="none of 2 cells lies along the path from start='T1' to end='T3', of 4 edges"):
        st.tl.select_path(few, "T1", "T3")
    with pytest.raises(KeyError, match="no skeleton is stored as"):
        st.tl.select_path(cross, 0, 1, key="other")
    branch = cross.obs.pop("ddrtree_branch")
    with pytest.raises(KeyError, match="adata.obs has no 'ddrtree_branch'"):
        st.tl.select_path(cross, 0, 1)
    cross.obs["ddrtree_branch"] = branch
    del cross.obsm["ddrtree_position"]
    with pytest.raises(KeyError, match="adata.obsm has no 'ddrtree_position'"):
        st.tl.select_path(cross, 0, 1)
    with pytest.raises(KeyError, match="have not been ordered"):
        st.tl.select_path(by_hand(**CROSS), 0, 1)
