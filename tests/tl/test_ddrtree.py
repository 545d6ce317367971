"""The AnnData door: what is read, what is stored, what is left alone."""

from __future__ import annotations

import copy

import anndata as ad
import numpy as np
import pandas as pd
import pytest
import scanpy as sc
from scipy import sparse

import skeltraj as st
from samples import cells, forked
from stored import equal, refused, same, snapshot, written_and_read


def test_stores_exactly_the_documented_keys(adata):
    before = snapshot(adata)
    assert st.tl.ddrtree(adata, 2, denoise=False, n_starts=1, prune=False) is None
    fit = st.core.ddrtree(adata.X, 2)
    np.testing.assert_array_equal(adata.obsm["X_ddrtree"], fit.embedding)
    assert sparse.issparse(adata.obsm["ddrtree_assignment"])
    assert adata.obsm["ddrtree_assignment"].format == "csr"
    assert (adata.obsm["ddrtree_assignment"] != fit.assignment).nnz == 0
    np.testing.assert_array_equal(adata.varm["ddrtree_loadings"], fit.loadings)
    stored = adata.uns["ddrtree"]
    names = {"params", "input", "nodes", "edges", "edge_length", "objective", "converged", "n_iter", "mean"}
    assert set(stored) == names
    for name in ("nodes", "edges", "edge_length", "objective", "mean"):
        np.testing.assert_array_equal(stored[name], getattr(fit, name))
    assert stored["n_iter"] == fit.n_iter
    assert bool(stored["converged"]) is fit.converged
    assert stored["params"]["method"] == "ddrtree"
    assert stored["params"]["version"] == st.__version__
    assert stored["params"]["sigma"] == fit.params["sigma"]
    assert stored["params"]["n_starts"] == 1
    assert stored["params"]["rng"] == 0
    added = {"obsm": {"X_ddrtree", "ddrtree_assignment"}, "varm": {"ddrtree_loadings"}, "uns": {"ddrtree"}}
    same(adata, before, but=added)


def test_loadings_go_where_the_input_came_from(adata):
    sc.pp.pca(adata, n_comps=4)
    st.tl.ddrtree(adata, key_added="a")
    assert adata.uns["a"]["params"]["use_rep"] == "X_pca"  # the default once it is there
    assert adata.uns["a"]["loadings"].shape == (4, 4)  # as many as there are, 20 at most
    assert "a_loadings" not in adata.varm
    st.tl.ddrtree(adata, use_rep="X", key_added="b")
    assert "loadings" not in adata.uns["b"]
    assert adata.varm["b_loadings"].shape == (6, 6)
    adata.layers["twice"] = 2 * adata.X
    st.tl.ddrtree(adata, layer="twice", key_added="c")
    np.testing.assert_allclose(adata.obsm["X_c"], 2 * adata.obsm["X_b"])
    assert "c_loadings" in adata.varm
    adata.obsm["frame"] = pd.DataFrame(adata.X, index=adata.obs_names)
    st.tl.ddrtree(adata, use_rep="frame", key_added="d")
    np.testing.assert_array_equal(adata.obsm["X_d"], adata.obsm["X_b"])
    # fitted on the genes, then on a representation: no loadings of the old fit stay behind
    st.tl.ddrtree(adata, use_rep="X_pca", key_added="b")
    assert "b_loadings" not in adata.varm


def test_a_kernel_matrix_from_obsp(adata):
    adata.obsp["linear"] = adata.X @ adata.X.T
    st.tl.ddrtree(adata, 2, denoise=False)
    st.tl.ddrtree(adata, 2, kernel="linear", key_added="k")
    np.testing.assert_allclose(adata.obsm["X_k"], adata.obsm["X_ddrtree"], atol=1e-8)
    assert adata.uns["k"]["loadings"].shape == (adata.n_obs, 2)


def test_sparse_input_stays_sparse_and_agrees(adata):
    thinned = np.where(np.abs(adata.X) > 0.1, adata.X, 0)
    adata.X = thinned
    st.tl.ddrtree(adata)
    other = ad.AnnData(sparse.csc_matrix(thinned), obs=adata.obs)
    st.tl.ddrtree(other)
    np.testing.assert_allclose(other.obsm["X_ddrtree"], adata.obsm["X_ddrtree"], atol=1e-8)
    assert other.X.format == "csc"


def test_copy_equals_in_place(adata):
    before = snapshot(adata)
    new = st.tl.ddrtree(adata, copy=True)
    same(adata, before)
    st.tl.ddrtree(adata)
    same(new, snapshot(adata))
    ordered = st.tl.order(new, root="cell3", copy=True)
    same(new, snapshot(adata))
    st.tl.order(adata, root="cell3")
    same(ordered, snapshot(adata))


def test_two_keys_never_touch_each_other(adata):
    st.tl.ddrtree(adata, key_added="one")
    st.tl.order(adata, root=0, key="one")
    before = snapshot(adata)
    st.tl.ddrtree(adata, 3, key_added="two")
    st.tl.order(adata, root=1, key="two")
    added = {
        "obs": {"two_pseudotime", "two_branch"},
        "obsm": {"X_two", "two_assignment", "two_position", "two_lineages"},
        "varm": {"two_loadings"},
        "uns": {"two", "two_branch_colors"},
    }
    same(adata, before, but=added)


def test_a_new_fit_removes_the_order_of_the_old_tree(adata):
    st.tl.ddrtree(adata)
    fresh = snapshot(adata)
    st.tl.order(adata, root=0)
    st.tl.ddrtree(adata)
    same(adata, fresh)


@pytest.mark.parametrize("form", ["h5ad", "zarr"])
def test_everything_survives_a_write_and_a_read(adata, form, tmp_path):
    st.tl.ddrtree(adata)
    with pytest.warns(UserWarning, match="direction is a guess"):
        st.tl.order(adata)
    back = written_and_read(adata, form, tmp_path)
    same(back, snapshot(adata))
    # and what was read can be worked on
    graph = st.get.graph(back)
    np.testing.assert_array_equal(graph.nodes, adata.uns["ddrtree"]["nodes"])
    st.tl.order(back, root={"stage": "stem"})
    assert st.pl.dendrogram(back, color="stage").get_title() == "stage"
    st.tl.ddrtree(back)
    equal(back.uns["ddrtree"]["nodes"], adata.uns["ddrtree"]["nodes"])


def test_slices_and_concatenations_keep_working(adata):
    st.tl.ddrtree(adata)
    st.tl.order(adata, root={"stage": "stem"})
    part = adata[adata.obs["stage"] != "left"].copy()
    assert part.obsm["ddrtree_assignment"].shape == (part.n_obs, len(adata.uns["ddrtree"]["nodes"]))
    whole = adata.obs["ddrtree_pseudotime"][part.obs_names]
    np.testing.assert_array_equal(part.obs["ddrtree_pseudotime"], whole)
    st.tl.order(part, root=int(adata.uns["ddrtree"]["order"]["root"]))
    np.testing.assert_array_equal(part.obs["ddrtree_pseudotime"], whole)
    st.pl.graph(part, color="stage")
    both = ad.concat([adata[:50], adata[50:]], uns_merge="same", merge="same")
    np.testing.assert_array_equal(both.obsm["X_ddrtree"], adata.obsm["X_ddrtree"])
    np.testing.assert_array_equal(st.get.graph(both).edges, adata.uns["ddrtree"]["edges"])


def test_scanpy_draws_the_embedding(adata):
    st.tl.ddrtree(adata, 2)
    axes = sc.pl.embedding(adata, basis="ddrtree", color="stage", show=False)
    np.testing.assert_array_equal(
        np.sort(axes.collections[0].get_offsets(), axis=0), np.sort(adata.obsm["X_ddrtree"], axis=0)
    )


def test_not_converging_is_a_warning(adata):
    with pytest.warns(UserWarning, match="stopped after max_iter=2 rounds, before its objective settled"):
        st.tl.ddrtree(adata, max_iter=2)
    assert not adata.uns["ddrtree"]["converged"]


def test_interrupting_leaves_the_data_untouched(adata, monkeypatch):
    st.tl.ddrtree(adata)
    st.tl.order(adata, root=0)
    before = snapshot(adata)
    calls = []

    def interrupt(self, iteration, objective):
        calls.append(iteration)
        if iteration == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("skeltraj._progress.Progress.__call__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        st.tl.ddrtree(adata, 3, n_starts=1)
    assert calls == [0, 1, 2]
    same(adata, before)

    def interrupt_starts(self, done, total):
        if done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("skeltraj._progress.Progress.trees", interrupt_starts)
    with pytest.raises(KeyboardInterrupt):
        st.tl.ddrtree(adata, 3)
    same(adata, before)


def test_start_from_a_stored_embedding(adata):
    adata.obsm["mine"] = forked(150, 2, seed=4)[0]
    st.tl.ddrtree(adata, init="mine", key_added="a")
    st.tl.ddrtree(adata, init=adata.obsm["mine"], key_added="b")
    np.testing.assert_array_equal(adata.obsm["X_a"], adata.obsm["X_b"])


def broken(**parts):
    adata = cells()
    for slot, value in parts.items():
        if slot == "X":
            adata.X = value
        else:
            getattr(adata, slot).update(value)
    return adata


with_nan = np.where(np.arange(900).reshape(150, 6) == 3, np.nan, 1.0)


@pytest.mark.parametrize(
    ("adata", "options", "kind", "message"),
    [
        (broken(X=with_nan), {}, ValueError, r"adata.X holds 1 value\(s\) that are NaN or infinite, out of 150 x 6"),
        (broken(obsm={"X_pca": with_nan}), {}, ValueError, r"adata.obsm\['X_pca'\] holds 1 value"),
        (broken(), dict(use_rep="X_pac"), KeyError, r"use_rep='X_pac' is not in adata.obsm. Available: \[\]"),
        (broken(layers={"a": with_nan}), dict(layer="b"), KeyError,
            r"layer='b' is not in adata.layers. Available: \['a'\]"),
        (broken(), dict(kernel="k"), KeyError, r"kernel='k' is not in adata.obsp. Available: \[\]"),
        (broken(layers={"a": with_nan}), dict(layer="a", use_rep="X"), ValueError,
            "use_rep='X' and layer='a' were given"),
        (broken(), dict(n_components=7), ValueError,
            "n_components=7 is out of range; wanted a whole number from 1 to 6"),
        (broken(), dict(n_components=0), ValueError, r"from 1 to 6 \(data of shape \(150, 6\)\), or a share"),
        (broken(), dict(n_nodes=1000), ValueError, r"n_nodes=1000 is out of range; .* to 150 \(the number of rows\)"),
        (broken(X=np.full((150, 6), 4.0)), {}, ValueError, r"adata.X: all 6 columns \(genes\) are constant"),
        (broken()[:1].copy(), {}, ValueError, r"adata.X has 1 row\(s\) \(cells\); wanted at least 3"),
        (broken()[:0].copy(), {}, ValueError, "adata is empty: 0 cells x 6 genes"),
        (broken()[:, :0].copy(), {}, ValueError, "adata is empty: 150 cells x 0 genes"),
        (broken(), dict(preset="monocle3"), ValueError, "preset='monocle3' is not known"),
        (broken(), dict(init="umap"), KeyError, r"init='umap' is not in adata.obsm"),
        (broken(), dict(sigma=-1), ValueError, "sigma=-1 is out of range; wanted a number > 0"),
    ],
)  # fmt: skip
def test_errors_come_before_anything_is_stored(adata, options, kind, message):
    before = snapshot(adata)
    with pytest.raises(kind, match=message):
        st.tl.ddrtree(adata, **options)
    same(adata, before)


def test_what_is_no_anndata_is_refused():
    with pytest.raises(TypeError, match="adata is a ndarray; wanted an AnnData. For arrays see skeltraj.core"):
        st.tl.ddrtree(np.zeros((5, 2)))


def test_the_input_itself_is_not_changed(adata):
    kept = copy.deepcopy(adata.X)
    st.tl.ddrtree(adata)
    np.testing.assert_array_equal(adata.X, kept)


@pytest.mark.parametrize("key", [None, "", 3, "a/b", ("a",)])
def test_keys_that_cannot_be_stored_are_refused(adata, key):
    before = snapshot(adata)
    with pytest.raises(ValueError, match="cannot name a fit; wanted a string, not empty, without a slash"):
        st.tl.ddrtree(adata, key_added=key)
    same(adata, before)


def test_what_others_have_stored_is_not_overwritten(adata):
    sc.pp.pca(adata, n_comps=4)
    before = snapshot(adata)
    with pytest.raises(ValueError, match=r"key_added='pca' would overwrite adata.uns\['pca'\]; wanted another name"):
        st.tl.ddrtree(adata, key_added="pca")
    adata.obsm["X_mine"] = adata.X.copy()
    with pytest.raises(ValueError, match=r"key_added='mine' would overwrite the input, adata.obsm\['X_mine'\]"):
        st.tl.ddrtree(adata, use_rep="X_mine", key_added="mine")
    with pytest.raises(
        ValueError, match=r"would overwrite adata.obsm\['X_mine'\], which is no fit's; wanted another name"
    ):
        st.tl.ddrtree(adata, key_added="mine")
    del adata.obsm["X_mine"]
    same(adata, before)
    foreign = {
        "obs": ["pseudotime", "branch", "component", "distance", "far", "likeness", "pseudotime_sd", "size_factor"],
        "var": ["trend_cluster"],
        "obsm": ["lineages", "branch_probability", "compared"],
        "varm": ["loadings", "association", "branch_test", "condition_test", "trends", "trends_se"],
        "uns": ["branch_colors"],
    }
    for slot, names in foreign.items():
        for name in names:
            n = adata.n_vars if slot in ("var", "varm") else adata.n_obs
            getattr(adata, slot)[f"dpt_{name}"] = np.ones((n, 2) if slot in ("obsm", "varm") else n)
            said = rf"would overwrite adata\.{slot}\['dpt_{name}'\], which is no fit's; wanted another name"
            refused(adata, ValueError, said, lambda: st.tl.ddrtree(adata, key_added="dpt"))
            del getattr(adata, slot)[f"dpt_{name}"]
    # what is left of a fit where `uns` is gone, as after concat, may go
    st.tl.ddrtree(adata)
    del adata.uns["ddrtree"]
    st.tl.ddrtree(adata)
    assert "ddrtree" in adata.uns
    st.tl.drtree(adata)  # which stores coordinates alone
    del adata.uns["drtree"]
    st.tl.drtree(adata)
    assert "drtree" in adata.uns


@pytest.mark.filterwarnings("ignore:Observation names are not unique")
def test_views_and_repeated_names(adata):
    whole = adata.copy()
    view = adata[:100]
    with pytest.warns(UserWarning, match="not converge|before its objective settled|view"):
        st.tl.ddrtree(view, max_iter=1)
    same(adata, whole)
    assert view.obsm["X_ddrtree"].shape == (100, 6)
    adata.obs_names = ["same"] * adata.n_obs
    st.tl.ddrtree(adata)
    with pytest.raises(KeyError, match="root='same' names 150 cells; wanted exactly one"):
        st.tl.order(adata, root="same")
    st.tl.order(adata, root=0)
    assert adata.obs["ddrtree_pseudotime"].notna().all()


@pytest.mark.parametrize(
    ("rng", "seed"),
    [(7, 7), (np.int64(7), 7), (2**90, str(2**90)), (np.random.default_rng(7), None)],
)
def test_starts_and_seed_are_stored_with_the_parameters(rng, seed, tmp_path):
    adata = cells(80)
    st.tl.ddrtree(adata, 2, n_starts=3, n_nodes=12, rng=rng)
    back = written_and_read(adata, "h5ad", tmp_path)
    assert back.uns["ddrtree"]["params"]["n_starts"] == 3
    assert back.uns["ddrtree"]["params"].get("rng") == seed
