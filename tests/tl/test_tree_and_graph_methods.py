"""What DRTree, principal trees and principal graphs have in common: what is stored, inputs, failures."""

from __future__ import annotations

import numpy as np
import pytest
import scanpy as sc
from scipy import sparse

import skeltraj as st
from stored import same, snapshot, written_and_read

pytestmark = pytest.mark.filterwarnings("ignore:No lineage was found")  # loops have no tips
METHODS = ["drtree", "principal_tree", "principal_graph"]


@pytest.mark.parametrize("method", METHODS)
def test_stores_exactly_the_documented_keys(adata, method):
    before = snapshot(adata)
    plain = {"denoise": False, "n_starts": 1, "prune": False} if method == "principal_tree" else {}
    assert getattr(st.tl, method)(adata, **plain) is None
    fit = getattr(st.core, method)(adata.X)
    stored = adata.uns[method]
    np.testing.assert_array_equal(adata.obsm[f"X_{method}"], fit.embedding)
    names = {"nodes", "edges", "edge_length", "objective"} | ({"mean"} if method == "drtree" else {"weights"})
    assert set(stored) == names | {"params", "converged", "n_iter"} | ({"input"} if method != "drtree" else set())
    for name in names:
        np.testing.assert_array_equal(stored[name], getattr(fit, name))
    assert stored["params"]["method"] == method
    added = {"obsm": {f"X_{method}"}, "uns": {method}}
    if method == "drtree":
        added["varm"] = {"drtree_loadings"}
        np.testing.assert_array_equal(adata.varm["drtree_loadings"], fit.loadings)
    else:
        added["obsm"].add(f"{method}_assignment")
        assert (adata.obsm[f"{method}_assignment"] != fit.assignment).nnz == 0
    same(adata, before, but=added)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_everything_survives_writing_and_slicing(adata, method, kind, tmp_path):
    getattr(st.tl, method)(adata, key_added="mine")
    st.tl.order(adata, root=0, key="mine")
    back = written_and_read(adata, kind, tmp_path)
    same(back, adata)
    half = back[::2].copy()
    before = half.obs["mine_pseudotime"].to_numpy()
    st.tl.order(half, root=0, key="mine")  # the skeleton is whole, whatever cells are left
    np.testing.assert_allclose(half.obs["mine_pseudotime"], before)


@pytest.mark.parametrize("method", METHODS)
def test_inputs(adata, method):
    fit = getattr(st.tl, method)
    sc.pp.pca(adata, n_comps=4)
    fit(adata, key_added="a")
    assert adata.uns["a"]["params"]["use_rep"] == "X_pca"
    adata.layers["sparse"] = sparse.csr_matrix(adata.X)
    fit(adata, layer="sparse", key_added="b")
    fit(adata, use_rep="X", key_added="c")
    np.testing.assert_allclose(adata.obsm["X_b"], adata.obsm["X_c"], atol=1e-5)
    other = fit(adata, copy=True, key_added="d")
    assert "d" in other.uns
    assert "d" not in adata.uns


@pytest.mark.parametrize("method", METHODS)
def test_a_failed_or_stopped_fit_leaves_adata_as_it_was(adata, method, monkeypatch):
    fit = getattr(st.tl, method)
    before = snapshot(adata)
    with pytest.raises(KeyError, match="nowhere"):
        fit(adata, use_rep="nowhere")
    with pytest.raises(ValueError, match="tol=-1"):
        fit(adata, tol=-1)
    adata.obsm["X_mine"] = adata.X
    with pytest.raises(ValueError, match="would overwrite the input"):
        fit(adata, use_rep="X_mine", key_added="mine")
    del adata.obsm["X_mine"]

    class Stopped(st.tl._fitting.fit_and_store.Progress):
        def __call__(self, iteration, objective):
            raise KeyboardInterrupt

        def step(self, what):
            raise KeyboardInterrupt

    monkeypatch.setattr(st.tl._fitting.fit_and_store, "Progress", Stopped)
    with pytest.raises(KeyboardInterrupt):
        fit(adata)
    same(adata, before)


@pytest.mark.parametrize("method", METHODS)
def test_a_fit_that_ran_out_of_rounds_says_so_where_it_was_called(adata, method):
    with pytest.warns(UserWarning, match=f"{method} stopped after max_iter=1") as caught:
        getattr(st.tl, method)(adata, max_iter=1, tol=0)
    assert caught[0].filename == __file__
