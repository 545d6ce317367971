"""Grafting branches."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest
from scipy import sparse

import oracles
import skeltraj as st
from samples import LINES, by_hand, cells
from stored import attached_edges, refused, same, snapshot


def test_a_branch_by_hand():
    points = [[0.1, 0.0], [1.8, 0.1], [2.2, 0.9], [2.1, 2.2], [3.9, 0.0]]
    adata = by_hand([[0, 0], [2, 0], [4, 0]], [[0, 1], [1, 2]], points, sigma=0.5)
    arm = by_hand([[2, 1], [2, 2]], [[0, 1]], points[2:4], sigma=9.0, key="arm", method="principal_tree")
    adata.uns["arm"] = arm.uns["arm"] | {"params": arm.uns["arm"]["params"] | {"use_rep": "X_ddrtree"}}
    st.tl.order(adata, root=0)
    kept = snapshot(adata)
    st.tl.attach(adata, branch="arm")
    stored = adata.uns["ddrtree"]
    np.testing.assert_array_equal(stored["nodes"], [[0, 0], [2, 0], [4, 0], [2, 1], [2, 2]])
    np.testing.assert_array_equal(stored["edges"], [[0, 1], [1, 2], [3, 4], [1, 3]])
    np.testing.assert_array_equal(stored["edge_length"], [2, 2, 1, 1])
    assert stored["params"] == kept.uns["ddrtree"]["params"] | {"n_nodes": 5}
    assert attached_edges(adata) == [(3, 1, 3, "C1", "arm")]
    np.testing.assert_allclose(
        adata.obsm["ddrtree_assignment"].toarray(), oracles.soft_assignment(np.array(points), stored["nodes"], 0.5)
    )
    np.testing.assert_array_equal(adata.obsm["X_ddrtree"], points)
    assert adata.uns["arm"]["nodes"].shape == (2, 2)
    assert "order" not in stored
    st.tl.order(adata, root=0)
    np.testing.assert_allclose(adata.obs["ddrtree_pseudotime"], [0.1, 1.8, 2.9, 4.0, 3.9])
    # elsewhere, if asked for
    other = st.tl.attach(kept, 2, "T2", branch="arm", copy=True)
    assert attached_edges(other) == [(3, 2, 4, "C1", "arm")]
    with pytest.raises(ValueError, match="b='root' is not on the skeleton.* Cells have no root before"):
        st.tl.attach(kept, "root", "root", branch="arm")
    st.tl.order(arm, root=1, key="arm")
    kept.uns["arm"]["order"] = arm.uns["arm"]["order"]
    st.tl.attach(kept, "root", "root", branch="arm")
    assert attached_edges(kept) == [(3, 0, 4, "C1", "arm")]


def test_a_branch_of_tips_only():
    points = [[0.1, 0.0], [1.8, 0.1], [3.9, 0.0]]
    adata = by_hand([[0, 0], [2, 0], [4, 0]], [[0, 1], [1, 2]], points, key="a", method="principal_tree")
    arm = by_hand([[1, 3], [2, 1], [3, 2]], [[0, 1], [1, 2]], points, key="arm", method="principal_tree")
    adata.uns["arm"] = arm.uns["arm"]
    other = st.tl.attach(adata, key="a", branch="arm", tips_only=True, copy=True)
    assert other.uns["a"]["edges"][-1].tolist() == [2, 5]  # (4, 0) to (3, 2), not (2, 0) to (2, 1)
    st.tl.attach(adata, key="a", branch="arm")
    assert adata.uns["a"]["edges"][-1].tolist() == [1, 4]


@pytest.mark.parametrize("use_rep", ["X", "X_pca"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "dask"])
def test_a_principal_tree_of_other_cells_is_grafted(use_rep, kind, tmp_path):
    adata = cells(200, seed=2)
    adata.obsm["X_pca"] = adata.X[:, :4].copy()
    if kind == "sparse":
        adata.X = sparse.csr_matrix(adata.X)
    whole = adata.X
    left = (adata.obs["stage"] == "left").to_numpy()
    rest, arm = adata[~left].copy(), adata[left].copy()
    st.tl.principal_tree(rest, n_nodes=20, use_rep=use_rep, denoise=False, key_added="tree")
    st.tl.principal_tree(arm, n_nodes=8, use_rep=use_rep, denoise=False, key_added="arm")
    # the skeletons as all cells see them
    X = np.asarray(adata.obsm["X_pca"] if use_rep == "X_pca" else adata.X.toarray() if kind == "sparse" else adata.X)
    tree = rest.uns["tree"]
    R = oracles.soft_assignment(X, tree["nodes"], tree["params"]["sigma"])
    adata.uns["tree"], adata.uns["arm"] = tree, arm.uns["arm"]
    adata.obsm["tree_assignment"], adata.obsm["X_tree"] = sparse.csr_matrix(R), R @ tree["nodes"]
    if kind == "dask":
        adata.X = pytest.importorskip("dask.array").from_array(whole, chunks=(60, -1))
    st.tl.attach(adata, key="tree", branch="arm")
    adata.X = whole
    grafted = adata.uns["tree"]
    assert len(grafted["nodes"]) == 28
    np.testing.assert_array_equal(grafted["weights"], np.ones(27))
    assert st.get.graph(adata, "tree").is_tree
    gap = np.linalg.norm(tree["nodes"][:, None] - arm.uns["arm"]["nodes"], axis=2)
    assert grafted["edge_length"][-1] == pytest.approx(gap.min())
    R = oracles.soft_assignment(X, grafted["nodes"], tree["params"]["sigma"])
    np.testing.assert_allclose(adata.obsm["tree_assignment"].toarray(), R, atol=1e-12)
    np.testing.assert_allclose(adata.obsm["X_tree"], R @ grafted["nodes"], atol=1e-12)
    st.tl.order(adata, root={"stage": "stem"}, key="tree")
    by_stage = adata.obs.groupby("stage", observed=True)["tree_pseudotime"].median()
    assert by_stage["left"] > by_stage["stem"]
    # the grafted cells have a branch of their own
    branch = adata.obs.loc[left & (adata.obs["place"] > 0.5).to_numpy(), "tree_branch"]
    assert branch.value_counts().iloc[0] / len(branch) > 0.9
    adata.write_h5ad(tmp_path / "a.h5ad")
    same(ad.read_h5ad(tmp_path / "a.h5ad"), adata)


def test_ends_of_a_branch_have_the_names_that_it_has_where_it_is_stored():
    points = [[0.0, 0.1], [3.9, 0.0]]
    adata = by_hand([[0, 0], [4, 0]], [[0, 1]], points, key="a", method="principal_tree")
    arm = by_hand([[1, 9], [5, 1]], [[0, 1]], points, key="arm", method="principal_tree")
    # genes were stored in another order when the branch was learned: by (y, x) its T1 is (5, 1)
    arm.uns["arm"]["nodes"] = arm.uns["arm"]["nodes"][:, ::-1].copy()
    for fit, names in ((adata.uns["a"], ["0", "1"]), (arm.uns["arm"], ["1", "0"])):
        fit["input"] = {"n_columns": 2, "var_names": np.array(names, dtype=object)}
        fit["input"] |= {"cells": np.array([], dtype=object), "size": np.empty(0), "number": np.empty(0)}
    adata.uns["arm"] = arm.uns["arm"]
    turned = adata.copy()
    assert st.get.graph(turned, "arm").nodes[st.get.graph(turned, "arm").tips[0]].tolist() == [1, 5]
    st.tl.attach(turned, 1, "T1", branch="arm", key="a")
    assert turned.uns["a"]["nodes"][turned.uns["a"]["attached"]["node_b"].iloc[0]].tolist() == [5, 1]
    # a path keeps the names of the whole
    adata.uns["arm"]["path"] = {"tips": ["T4", "T2"], "forks": [], "branches": ["B3"]}
    st.tl.attach(adata, 1, "T4", branch="arm", key="a")
    assert adata.uns["a"]["nodes"][adata.uns["a"]["attached"]["node_b"].iloc[0]].tolist() == [5, 1]


def test_assigned_anew_is_what_the_fit_assigned():
    adata = cells(150)
    for method in ("ddrtree", "principal_tree", "principal_graph"):
        getattr(st.tl, method)(adata, n_nodes=20)
        R, places = st.tl._results.graft.assign_again(adata, method, adata.uns[method]["nodes"])
        np.testing.assert_allclose(R.toarray(), adata.obsm[f"{method}_assignment"].toarray(), atol=1e-10)
        if method != "ddrtree":
            np.testing.assert_allclose(places, adata.obsm[f"X_{method}"], atol=1e-10)


def test_a_branch_in_coordinates_that_have_changed_since_is_refused():
    adata = cells(120)
    st.tl.ddrtree(adata, 2, n_nodes=12)
    left = adata[adata.obs["stage"] == "left"].copy()
    st.tl.principal_tree(left, n_nodes=5, use_rep="X_ddrtree", denoise=False, key_added="arm")
    adata.uns["arm"] = left.uns["arm"]
    st.tl.attach(adata, branch="arm", copy=True)
    adata.X = 5 * adata.X
    st.tl.ddrtree(adata, 2, n_nodes=12)
    message = r"adata.obsm\['X_ddrtree'\] is not what the skeleton 'arm' was fitted on"
    refused(adata, ValueError, message, lambda: st.tl.attach(adata, branch="arm"))


def test_branches_of_other_spaces_are_refused():
    adata = cells(100)
    adata.layers["more"] = adata.X + 1
    st.tl.ddrtree(adata, 2, n_nodes=15)
    st.tl.ddrtree(adata, 2, n_nodes=10, layer="more", key_added="other")
    st.tl.ddrtree(adata, 2, n_nodes=10, key_added="turned")  # of the same mean, by other loadings
    st.tl.principal_tree(adata, n_nodes=10)
    st.tl.principal_tree(adata, n_nodes=10, layer="more", key_added="layer")
    st.tl.drtree(adata)
    parted = by_hand(**LINES, key="parted", method="principal_tree")
    adata.uns["parted"] = parted.uns["parted"]
    before = snapshot(adata)
    space = lambda branch, here, key, there: (
        rf"the nodes of branch='{branch}' live in {here}, those of '{key}' in {there}; wanted the same space"
    )
    coordinates = r"adata.obsm\['X_ddrtree'\] \(2 dimensions\)"
    for key, branch, message in [
        ("ddrtree", "principal_tree", space("principal_tree", r"adata.X \(6 dim.*\)", "ddrtree", coordinates)),
        ("ddrtree", "turned", space("turned", r"adata.obsm\['X_turned'\] \(2 dim.*\)", "ddrtree", coordinates)),
        ("ddrtree", "other", space("other", r"adata.obsm\['X_other'\] \(2 dim.*\)", "ddrtree", coordinates)),
        ("principal_tree", "layer", space("layer", r"adata.layers\['more'\] .*", "principal_tree", "adata.X .*")),
        ("principal_tree", "parted", "branch='parted' is in 4 parts; wanted one"),
        ("drtree", "ddrtree", "the skeleton 'drtree' is of method 'drtree', to whose nodes no cell can be assigned"),
    ]:
        with pytest.raises(ValueError, match=message):
            st.tl.attach(adata, key=key, branch=branch)
    same(adata, before)
    # the same loadings are the same space
    adata.uns["twin"] = adata.copy().uns["ddrtree"]
    adata.varm["twin_loadings"] = adata.varm["ddrtree_loadings"].copy()
    adata.uns["twin"]["nodes"] = adata.uns["twin"]["nodes"] + [0.0, 5.0]
    st.tl.attach(adata, branch="twin")
    assert len(adata.uns["ddrtree"]["nodes"]) == 30
