"""Nodes on other embeddings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pictures import lines
from samples import CROSS, by_hand, cells
from skeltraj import get, pl, tl


def test_nodes_without_cells_stand_between_the_others():
    adata = by_hand(**CROSS)[["c0", "c4", "c5"]].copy()  # one cell each at nodes 0 (or 1), 5 and 6
    R = np.zeros((3, 8))
    R[[0, 1, 2], [0, 5, 6]] = 1
    adata.obsm["ddrtree_assignment"] = sparse.csr_matrix(R)
    adata.obsm["X_umap"] = np.array([[0.0, 3.0], [30.0, 0.0], [50.0, 0.0]])
    nodes = get.nodes_on_basis(adata, "umap")
    # 0 and 5 are three edges apart; the arms up and down have no cells and stand at the fork
    np.testing.assert_allclose(
        nodes, [[0, 3], [10, 2], [20, 1], [20, 1], [20, 1], [30, 0], [50, 0], [20, 1]], atol=1e-12
    )
    assert np.isfinite(lines(pl.graph(adata, basis="umap"))).all()


def test_nodes_whose_cells_were_taken_out_are_told():
    adata = cells(200)
    adata.obsm["X_umap"] = adata.X[:, :2].copy()
    tl.ddrtree(adata, n_nodes=20, n_starts=1)
    there = get.nodes_on_basis(adata, "umap")
    tl.order(adata, 0)
    np.testing.assert_array_equal(get.nodes_on_basis(adata, "umap"), there)  # without a warning, as for every second
    get.nodes_on_basis(adata[::2].copy(), "umap")
    some = adata[adata.obs["ddrtree_branch"] == "B1"].copy()
    words = rf"of 20 nodes have no cell near them among the {some.n_obs} that are left of the 200 .* 'X_ddrtree' shows"
    for call in (get.nodes_on_basis, get.skeleton_on_basis):
        with pytest.warns(UserWarning, match=words):
            call(some, "umap")
    pl.graph(some)  # in the embedding of the fit nodes keep their places


@pytest.mark.parametrize("method", ["drtree", "principal_tree", "principal_graph"])
def test_other_methods(method):
    adata = cells(90)
    adata.obsm["X_umap"] = np.random.default_rng(0).standard_normal((90, 2))
    getattr(tl, method)(adata)
    nodes = get.nodes_on_basis(adata, "umap", method)
    if method == "drtree":  # each node is its cell
        np.testing.assert_allclose(nodes, adata.obsm["X_umap"])
        half = adata[::2].copy()
        np.testing.assert_allclose(get.nodes_on_basis(half, "umap", method)[::2], half.obsm["X_umap"])
    ax = pl.graph(adata, method, basis="umap", smooth=False)
    np.testing.assert_allclose(lines(ax), nodes[adata.uns[method]["edges"]])
    assert np.isfinite(get.nodes_on_basis(adata[:5].copy(), "umap", method)).all()
