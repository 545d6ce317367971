"""Direction stored in AnnData: velocities of genes and of embeddings, scores, the root that follows, round trips."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import skeltraj as st
from samples import CROSS, LINES, by_hand, cells, rings
from stored import equal, refused, same, snapshot, written_and_read

# of the fork by hand: T1 (node 0) left, T2 (3) down, T3 (4) up, F1 (1)
NODES = [[0, 0], [2, 0], [2, -1], [2, -3], [2, 4]]
EDGES = [[1, 0], [1, 2], [3, 2], [4, 1]]


@pytest.fixture
def fork():
    """120 cells on a fork in the plane, with vectors away from its tip T1 in the space of two genes."""
    rng = np.random.default_rng(0)
    ends = np.array([[[0, 0], [2, 0]], [[2, 0], [2, -3]], [[2, 0], [2, 4]]], dtype=float)
    arm = np.arange(120) % 3
    points = ends[arm, 0] + rng.uniform(0.05, 0.95, 120)[:, None] * (ends[arm, 1] - ends[arm, 0])
    adata = by_hand(NODES, EDGES, points + 0.02 * rng.standard_normal((120, 2)))
    adata.var_names = ["right", "up"]
    away = ends[arm, 1] - ends[arm, 0]
    adata.layers["velocity"] = away + 0.2 * rng.standard_normal((120, 2))
    adata.obs["late"] = np.hypot(*(points - [0, 0]).T) + 0.1 * rng.standard_normal(120)
    return adata


def tables_equal(a, b):
    pd.testing.assert_frame_equal(a.branches, b.branches, check_index_type=False, check_column_type=False)
    pd.testing.assert_frame_equal(a.roots, b.roots, check_index_type=False, check_column_type=False)
    assert (a.margin, a.params, a.n_cells, a.left_out) == (b.margin, b.params, b.n_cells, b.left_out)


def test_tables_hold_what_core_finds_under_the_names_of_branches_and_nodes(fork):
    before = snapshot(fork)
    assert st.tl.direction(fork, "velocity", neighbors=1, n_permutations=99) is None
    equal({k: v for k, v in fork.uns["ddrtree"].items() if k != "direction"}, dict(before.uns["ddrtree"]))
    assert set(fork.uns["ddrtree"]["direction"]) == {
        "branches",
        "roots",
        "margin",
        "params",
        "n_cells",
        "left_out",
        "made_of",
    }
    found = st.get.direction(fork)
    graph = st.get.graph(fork)
    raw = st.core.direction(
        graph,
        st.core.locate(graph, fork.obsm["X_ddrtree"]),
        vectors=fork.layers["velocity"],
        node_places=st.core.nodes_on(graph, st.get.assignment(fork), fork.X),
        n_permutations=99,
    )
    assert list(found.branches.columns) == ["start", "end", "towards", "agreement", "p_value", "q_value", "n_cells"]
    assert list(found.branches.index) == ["B1", "B2", "B3"]
    assert list(found.branches["start"]) == ["T1", "T2", "F1"]
    assert list(found.branches["end"]) == ["F1", "F1", "T3"]
    assert list(found.branches["towards"]) == ["F1", "T2", "T3"]
    np.testing.assert_allclose(found.branches["agreement"], raw.agreement)
    np.testing.assert_array_equal(found.branches["p_value"], raw.p_value)
    np.testing.assert_array_equal(found.branches["q_value"], raw.q_value)
    assert list(found.branches["n_cells"]) == [40, 40, 40]
    assert list(found.roots.columns) == ["node", "agreement", "p_value"]
    assert list(found.roots.index)[:2] == ["T1", "F1"]
    assert list(found.roots["node"])[:2] == [0, 1]
    np.testing.assert_allclose(found.roots["agreement"], raw.root_agreement)
    assert found.roots["agreement"].iloc[0] > 0.9
    assert found.margin == pytest.approx(found.roots["agreement"].iloc[0] - found.roots["agreement"].iloc[1])
    assert found.params == dict(velocity="velocity", expression="X", neighbors=1, n_permutations=99)
    assert (found.n_cells, found.left_out) == (120, {"branch": 0, "value": 0})


def test_order_takes_the_root_that_was_found(fork):
    st.tl.direction(fork, "velocity", neighbors=1, n_permutations=99)
    st.tl.order(fork, root="direction")
    order = fork.uns["ddrtree"]["order"]
    assert order["root"] == 0
    assert order["root_rule"].startswith(
        "the tip T1 that agrees best with the direction of the branches (agreement 0.9"
    )
    assert order["root_rule"].endswith("more than the next, p = 0.01)")
    fork.layers["velocity"] = -fork.layers["velocity"]
    st.tl.direction(fork, "velocity", neighbors=1, n_permutations=99)
    assert list(st.get.direction(fork).branches["towards"]) == ["T1", "F1", "F1"]
    st.tl.order(fork, root=3)
    assert list(st.get.direction(fork).branches["towards"]) == ["T1", "F1", "F1"]  # it does not depend on the root
    fork.obs_names = ["direction", *fork.obs_names[1:]]
    st.tl.order(fork, root="direction")  # a cell of that name comes first
    assert fork.uns["ddrtree"]["order"]["root_rule"] == "cell direction"


def test_a_direction_that_chance_gives_as_well_is_taken_with_a_warning(fork):
    fork.obs["chance"] = np.random.default_rng(0).standard_normal(120)
    st.tl.direction(fork, score="chance", neighbors=1, n_permutations=99)
    with pytest.warns(UserWarning, match=r"but by chance some root has an agreement as large \(0\.\d\d\) with p = 0"):
        st.tl.order(fork, root="direction")


def test_order_without_a_direction(fork):
    refused(
        fork,
        KeyError,
        r"no direction is stored in adata.uns\['ddrtree'\]. Run skeltraj.tl.direction",
        lambda: st.tl.order(fork, root="direction"),
    )
    ring = rings(200)
    ring = ring[ring.obs["ring"] == "large"].copy()
    angle = 2 * np.pi * np.arange(12) / 12
    edges = np.column_stack([np.arange(12), (np.arange(12) + 1) % 12])
    ring = by_hand(np.column_stack([np.cos(angle), np.sin(angle)]), edges, ring.X)
    ring.obsm["velocity_X"] = np.column_stack([-ring.X[:, 1], ring.X[:, 0]])
    st.tl.direction(ring, "velocity_X", basis="ddrtree", n_permutations=9)
    assert len(st.get.direction(ring).roots) == 0
    assert abs(st.get.direction(ring).branches["agreement"].iloc[0]) > 0.9
    refused(ring, ValueError, "neither tips nor forks", lambda: st.tl.order(ring, root="direction"))


def test_what_replaces_the_tree_forgets_it():
    adata = cells(300, seed=1)
    adata.obs["late"] = np.arange(300.0)
    st.tl.ddrtree(adata, 3, n_starts=1)
    direction = lambda: st.tl.direction(adata, score="late", n_permutations=9)
    for renew in (
        lambda: st.tl.prune(adata, min_gain=0.5),
        lambda: st.tl.prune(adata, undo=True),
        lambda: st.tl.ddrtree(adata, 3, n_starts=1),
    ):
        direction()
        renew()
        assert "direction" not in adata.uns["ddrtree"]
    direction()
    st.tl.order(adata, root=0)
    assert "direction" in adata.uns["ddrtree"]
    tips = list(adata.uns["ddrtree"]["order"]["tips"].index)
    path = st.tl.select_path(adata, tips[0], tips[1])
    assert "direction" not in path.uns["ddrtree"]


def test_genes_without_velocities_do_not_count(fork):
    st.tl.direction(fork, "velocity", neighbors=1, n_permutations=49)
    plain = st.get.direction(fork)
    wide = by_hand(NODES, EDGES, fork.obsm["X_ddrtree"])
    wide = ad.AnnData(
        fork.X[:, [0, 1, 0, 1]],
        obsm=dict(wide.obsm),
        uns=wide.uns,
        layers={"velocity": fork.layers["velocity"][:, [0, 1, 0, 1]]},
    )
    wide.layers["velocity"][:, 1] = np.random.default_rng(0).standard_normal(120)
    wide.layers["velocity"][:, 2] = np.nan
    wide.var["velocity_genes"] = [True, False, True, True]
    for matrix in (np.asarray, sparse.csr_matrix, sparse.csc_matrix):
        wide.layers["velocity"] = matrix(wide.layers["velocity"])
        st.tl.direction(wide, "velocity", neighbors=1, n_permutations=49)
        pd.testing.assert_frame_equal(st.get.direction(wide).branches, plain.branches)
    # the expression along which they move
    wide.layers["Ms"] = np.asarray(wide.X) * 3
    wide.X = sparse.csr_matrix(np.zeros((120, 4)))
    st.tl.direction(wide, "velocity", neighbors=1, n_permutations=49)
    pd.testing.assert_frame_equal(st.get.direction(wide).branches, plain.branches)
    assert st.get.direction(wide).params["expression"] == "Ms"
    wide.layers["spliced"] = sparse.csr_matrix(wide.layers.pop("Ms"))
    st.tl.direction(wide, "velocity", expression="spliced", neighbors=1, n_permutations=49)
    pd.testing.assert_frame_equal(st.get.direction(wide).branches, plain.branches)
    wide.layers["velocity"] = wide.layers["velocity"].toarray()
    wide.var["velocity_genes"] = False
    refused(
        wide,
        ValueError,
        r"holds NaN for every gene among those of adata.var\['velocity_genes'\]; wanted velocities of some of 4 genes",
        lambda: st.tl.direction(wide, "velocity", expression="spliced"),
    )


@pytest.mark.parametrize("lacking", [None, np.nan, "False"])
def test_genes_of_which_it_is_not_known_whether_they_have_velocities_are_refused(fork, lacking):
    """As after joining data of other genes: NaN and words would all count as True."""
    fork.var["velocity_genes"] = pd.Series([True, lacking], index=fork.var_names, dtype=object)
    said = (
        rf"velocity: adata\.var\['velocity_genes'\] holds {lacking!r} for 1 of 2 genes, such as 'up'; wanted True or "
        "False for each gene"
    )
    refused(fork, ValueError, said, lambda: st.tl.direction(fork, "velocity"))


def test_cells_without_velocities_are_left_out_and_counted(fork):
    fork.layers["velocity"][:7] = np.nan
    fork.layers["velocity"][7, 0] = np.nan
    fork.layers["velocity"][8] = 0
    st.tl.direction(fork, "velocity", n_permutations=9)
    found = st.get.direction(fork)
    assert (found.n_cells, found.left_out) == (111, {"branch": 0, "value": 9})
    assert found.branches["n_cells"].sum() == 111
    apart = by_hand(**LINES)
    apart.obsm["X_ddrtree"][0] = [9, 9]
    apart.obs["late"] = [1, 2, np.nan, 4, 5, 6]
    st.tl.direction(apart, score="late", neighbors=1, n_permutations=9)
    assert st.get.direction(apart).left_out == {"branch": 1, "value": 1}


def test_vectors_in_an_embedding(fork):
    rng = np.random.default_rng(1)
    rotation = np.linalg.qr(rng.standard_normal((3, 2)))[0]
    fork.obsm["X_umap"] = 10 * fork.X @ rotation.T + 5
    fork.obsm["velocity_umap"] = fork.layers["velocity"] @ rotation.T
    st.tl.direction(fork, "velocity", neighbors=1, n_permutations=49)
    genes = st.get.direction(fork)
    st.tl.direction(fork, "velocity_umap", neighbors=1, n_permutations=49)
    found = st.get.direction(fork)
    np.testing.assert_allclose(found.branches["agreement"], genes.branches["agreement"])
    assert found.params == dict(velocity="velocity_umap", basis="umap", neighbors=1, n_permutations=49)
    fork.obsm["arrows"] = pd.DataFrame(fork.obsm["velocity_umap"], index=fork.obs_names)
    st.tl.direction(fork, "arrows", basis="X_umap", neighbors=1, n_permutations=49)
    pd.testing.assert_frame_equal(st.get.direction(fork).branches, found.branches)
    fork.obsm["velocity_ddrtree"] = fork.layers["velocity"]  # in the embedding that the fit stored
    st.tl.direction(fork, "velocity_ddrtree", neighbors=1, n_permutations=49)
    np.testing.assert_allclose(st.get.direction(fork).branches["agreement"], genes.branches["agreement"], atol=0.05)


def test_scores_that_rise_and_fall(fork):
    st.tl.direction(fork, score="late", neighbors=1, n_permutations=49)
    late = st.get.direction(fork)
    assert list(late.branches["towards"]) == ["F1", "T2", "T3"]
    assert late.roots.index[0] == "T1"
    fork.obs["early"] = -fork.obs["late"].astype(np.float32)
    st.tl.direction(fork, score="early", rising=False, neighbors=1, n_permutations=49)
    early = st.get.direction(fork)
    pd.testing.assert_frame_equal(early.branches, late.branches)
    assert early.params == dict(score="early", rising=False, neighbors=1, n_permutations=49)
    st.tl.direction(fork, score="up", n_permutations=49)  # a gene
    found = st.get.direction(fork)
    assert list(found.branches["towards"])[1:] == ["F1", "T3"]
    assert found.params["neighbors"] == 1
    fork.obs["half"] = pd.array([1, None] * 60, dtype="Int64")
    fork.obs.loc[fork.obs_names[4], "half"] = 7
    st.tl.direction(fork, score="half", n_permutations=9)
    assert st.get.direction(fork).left_out["value"] == 60


def test_neighbours_by_key_by_number_and_by_default(fork):
    nearest = np.argsort(((fork.X[:, None] - fork.X) ** 2).sum(axis=2), axis=1)
    links = sparse.lil_matrix((120, 120))
    for i, row in enumerate(nearest[:, :8]):
        links[i, row] = 0.5
        links[row, i] = 0.5
    fork.obs["noisy"] = fork.obs["late"] + 4 * np.random.default_rng(2).standard_normal(120)
    direction = lambda **more: st.get.direction(
        st.tl.direction(fork, score="noisy", n_permutations=49, copy=True, **more)
    )
    default = direction()
    assert default.params["neighbors"] == 30
    fork.obsp["near"] = links.tocsr()
    by_key, by_number = direction(neighbors="near"), direction(neighbors=8)
    assert (by_key.params["neighbors"], by_number.params["neighbors"]) == ("near", 8)
    pd.testing.assert_frame_equal(by_key.branches, by_number.branches)
    assert not by_key.branches["p_value"].equals(default.branches["p_value"])
    pd.testing.assert_frame_equal(direction(neighbors=30).branches, default.branches)
    fork.obsp["connectivities"] = fork.obsp["near"]
    assert direction().params["neighbors"] == "connectivities"
    pd.testing.assert_frame_equal(direction().branches, by_key.branches)


def test_any_order_of_cells_gives_the_same(fork):
    st.tl.direction(fork, "velocity", n_permutations=29)
    shuffled = fork[np.random.default_rng(1).permutation(120)].copy()
    st.tl.direction(shuffled, "velocity", n_permutations=29, rng=np.random.default_rng(0))
    one, two = st.get.direction(fork), st.get.direction(shuffled)
    np.testing.assert_allclose(two.branches["agreement"], one.branches["agreement"])
    np.testing.assert_array_equal(two.branches["p_value"], one.branches["p_value"])
    st.tl.direction(fork, score="late", neighbors=1, n_permutations=29, rng=1)


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_everything_survives_writing(fork, tmp_path, kind):
    for more in (dict(velocity="velocity"), dict(score="late", rising=False)):
        st.tl.direction(fork, **more, n_permutations=9)
        back = written_and_read(fork, kind, tmp_path)
        equal(fork.uns["ddrtree"]["direction"], back.uns["ddrtree"]["direction"])
        tables_equal(st.get.direction(fork), st.get.direction(back))
    ring = by_hand(np.eye(3), [[0, 1], [1, 2], [2, 0]], np.random.default_rng(0).dirichlet(np.ones(3), 30))
    ring.obs["late"] = np.arange(30.0)
    st.tl.direction(ring, score="late", n_permutations=9)
    back = written_and_read(ring, kind, tmp_path)
    assert len(st.get.direction(back).roots) == 0
    assert np.isnan(st.get.direction(back).margin)


def test_copies_views_keys_and_parts_of_the_cells(fork):
    before = snapshot(fork)
    new = st.tl.direction(fork, "velocity", n_permutations=9, copy=True)
    same(fork, before)
    found = st.get.direction(new)
    found.branches["agreement"] = 0.0
    assert (st.get.direction(new).branches["agreement"] != 0).all()
    tables_equal(st.get.direction(new[:50]), st.get.direction(new))
    view = fork[:100]
    with pytest.warns(UserWarning, match="view"):
        st.tl.direction(view, "velocity", n_permutations=9)
    same(fork, before)
    fork.uns["other"] = fork.uns["ddrtree"]
    fork.obsm["X_other"], fork.obsm["other_assignment"] = fork.obsm["X_ddrtree"], fork.obsm["ddrtree_assignment"]
    st.tl.direction(fork, "velocity", key="other", n_permutations=9)
    assert "direction" not in fork.uns["ddrtree"]
    tables_equal(st.get.direction(fork, "other"), st.get.direction(new))


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        (dict(), ValueError, "neither velocity nor score was given; wanted one of velocity and score"),
        (dict(velocity="velocity", score="late"), ValueError, "velocity='velocity' and score='late' were given"),
        (dict(velocity=3), TypeError, "velocity=3 is a int; wanted a string"),
        (
            dict(velocity="v"),
            KeyError,
            r"velocity='v' is neither .* Layers: \['velocity'\]. obsm: \['X_ddrtree', 'arro",
        ),
        (dict(velocity="velocity", basis="umap"), ValueError, "basis='umap' was given for adata.layers"),
        (dict(velocity="velocity", expression="Ms"), KeyError, "expression='Ms' is not in adata.layers"),
        (dict(velocity="velocity", rising=False), ValueError, "rising=False was given with velocity"),
        (dict(velocity="arrows"), ValueError, "velocity='arrows' does not say in which space its vectors are"),
        (dict(velocity="arrows", basis="umap"), KeyError, "basis='umap': neither"),
        (dict(velocity="arrows", expression="X"), ValueError, "expression='X' was given for adata.obsm"),
        (
            dict(velocity="arrows", basis="ddrtree"),
            ValueError,
            r"has 3 columns and adata.obsm\['X_ddrtree'\] 2; wanted",
        ),
        (dict(score="nothing"), KeyError, "score='nothing' is neither a column of adata.obs nor a gene"),
        (dict(score="kind"), TypeError, r"score: adata.obs\['kind'\] is not numeric"),
        (dict(score="flat"), ValueError, "the score is constant on every branch"),
        (dict(score="late", basis="umap"), ValueError, "basis='umap' was given with a score"),
        (dict(score="late", rising="no"), TypeError, "rising='no' is a str; wanted True or False"),
        (dict(score="late", neighbors="near"), KeyError, "neighbors='near' is not in adata.obsp"),
        (
            dict(score="late", neighbors=0),
            ValueError,
            "neighbors=0 is out of range; wanted a whole number from 1 to 120",
        ),
        (dict(score="late", n_permutations=0), ValueError, "n_permutations=0"),
        (dict(score="late", key="no"), KeyError, r"no skeleton is stored as adata.uns\['no'\]"),
    ],
)
def test_errors_leave_everything_as_it_was(fork, given, error, match):
    fork.obsm["arrows"] = np.ones((120, 3))
    fork.obs["kind"] = "a"
    fork.obs["flat"] = 1.0
    refused(fork, error, match, lambda: st.tl.direction(fork, **given))


def test_genes_of_one_name_no_values_and_no_tree(fork):
    fork.var_names = ["up", "up"]
    with pytest.raises(KeyError, match="score='up': 2 genes have that name"):
        st.tl.direction(fork, score="up")
    fork.var_names = ["right", "up"]
    fork.X = None
    with pytest.raises(KeyError, match=r"score='up': adata\.X is None"):
        st.tl.direction(fork, score="up")
    with pytest.raises(ValueError, match=r"adata\.X is None. Name the layer of expression: layers are \['velocity'\]"):
        st.tl.direction(fork, "velocity")
    fork.layers["Ms"] = np.full((120, 2), np.nan)
    with pytest.raises(ValueError, match="expression='Ms' holds NaN or infinite values"):
        st.tl.direction(fork, "velocity")
    fork.layers["velocity"][:] = np.nan
    with pytest.raises(ValueError, match="holds NaN for every gene; wanted velocities of some of 2 genes"):
        st.tl.direction(fork, "velocity")
    with pytest.raises(KeyError, match="no direction is stored"):
        st.get.direction(fork)


def test_similar_cells_have_no_branches():
    adata = cells(60)
    st.tl.mpme(adata, 2)
    adata.obs["late"] = np.arange(60.0)
    refused(
        adata,
        ValueError,
        "joins the cells themselves .* skeltraj.tl.direction reads the branches",
        lambda: st.tl.direction(adata, score="late", key="mpme"),
    )


def test_a_tree_whose_nodes_are_the_cells():
    adata = cells(60)
    st.tl.drtree(adata, 2)
    adata.obs["late"] = adata.obs["place"]
    adata.layers["velocity"] = adata.X
    for values in (dict(score="late"), dict(velocity="velocity")):
        st.tl.direction(adata, **values, key="drtree", n_permutations=9)
        found = st.get.direction(adata, "drtree")
        assert found.branches["n_cells"].sum() <= 60


def test_a_stale_direction_is_not_taken(fork):
    st.tl.direction(fork, "velocity", neighbors=1, n_permutations=99)
    kept = fork.uns["ddrtree"]["direction"]
    other = by_hand(**CROSS)
    other.uns["ddrtree"]["direction"] = dict(kept)
    refused(other, ValueError, "was made of another tree", lambda: st.tl.order(other, root="direction"))
    del other.uns["ddrtree"]["direction"]["made_of"]  # as an earlier version stored it
    other.uns["ddrtree"]["direction"]["roots"] = kept["roots"].rename(index={"T1": "T9"})
    refused(other, ValueError, "T9 .node 0. is not on the skeleton", lambda: st.tl.order(other, root="direction"))
