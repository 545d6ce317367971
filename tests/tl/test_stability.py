"""Stability of stored trees: known cases, what is stored, round trips, errors, interruption."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import skeltraj as st
from samples import by_hand, cells
from skeltraj.core._learning import recipe
from skeltraj.core._methods.register import Method
from stored import equal, refused, same, snapshot

NEW = {"obs": {"ddrtree_pseudotime_sd"}, "obsm": {"ddrtree_branch_probability"}}


def learn(adata, method="ddrtree", **options):
    getattr(st.tl, method)(adata, **options)
    st.tl.order(adata, root={"stage": "stem"}, key=method)
    return adata


@pytest.fixture(scope="module")
def fitted():
    return learn(cells(300, seed=1))


@pytest.fixture(scope="module")
def judged(fitted):
    return st.tl.stability(fitted, n_replicates=8, copy=True)


@pytest.fixture
def adata(fitted):
    return fitted.copy()


@pytest.mark.parametrize("method", ["ddrtree", "principal_tree"])
@pytest.mark.parametrize("options", [{}, {"denoise": False, "prune": False, "n_nodes": 20}])
def test_a_clean_tree_is_found_again(method, options):
    adata = learn(cells(400, seed=2), method, n_starts=1, **options)  # as the replicates are
    branches = adata.uns[method]["order"]["branches"]
    st.tl.stability(adata, key=method, n_replicates=10)
    tables = st.get.stability(adata, method)
    large = branches["n_cells"] > 60
    assert large.sum() == 3
    np.testing.assert_array_equal(tables.branches["found_again"][large], 1.0)
    assert (tables.branches["support"][large] > 0.75).all()
    if not options:
        assert len(branches) == 3
        np.testing.assert_array_equal(tables.forks["support"], 1.0)
        np.testing.assert_array_equal(tables.place, np.arange(st.get.graph(adata, method).n_nodes))
        probability = adata.obsm[f"{method}_branch_probability"]
        own = probability.to_numpy()[np.arange(400), adata.obs[f"{method}_branch"].cat.codes]
        assert own.mean() > 0.9
        assert tables.edges["support"].mean() > 0.9
        assert adata.obs[f"{method}_pseudotime_sd"].mean() < 0.1 * adata.obs[f"{method}_pseudotime"].max()
    assert len(tables.consensus.tips) == 3


@pytest.mark.filterwarnings("ignore:No cell lies on a stretch")
def test_an_arm_of_three_noisy_cells_has_little_support():
    adata = cells(250, seed=4)
    X = adata.X.copy()
    stem = np.flatnonzero((adata.obs["stage"] == "stem") & adata.obs["place"].between(0.5, 0.6))[0]
    away = np.linalg.svd(X - X.mean(axis=0))[2][3]
    X[:3] = X[stem] + np.outer([0.3, 0.48, 0.6], away) + 0.05 * np.random.default_rng(0).standard_normal((3, 6))
    adata.X = X
    learn(adata, n_components=5, denoise=False, prune=False, n_nodes=80, lam=1.0, gamma=1.0, sigma=0.02)
    on = adata.obs["ddrtree_branch"]
    assert on.iloc[:3].nunique() == 1
    assert (on == on.iloc[0]).sum() <= 8
    st.tl.stability(adata, n_replicates=20)
    tables = st.get.stability(adata)
    arms = tables.branches["n_cells"] > 60
    assert arms.sum() == 2
    np.testing.assert_array_equal(tables.branches["found_again"][arms], 1.0)
    assert (tables.branches["support"][arms] > 0.9).all()
    assert tables.branches.loc[on.iloc[0], "found_again"] < 0.8
    assert tables.branches.loc[on.iloc[0], "support"] < 0.7


def test_tables_name_what_core_finds(fitted, judged):
    graph, order = st.get.graph(fitted), fitted.uns["ddrtree"]["order"]
    tables = st.get.stability(judged)
    same(judged_without(judged), fitted)
    assert list(tables.branches.index) == list(order["branches"].index)
    assert list(tables.forks.index) == list(order["forks"].index)
    np.testing.assert_array_equal(tables.branches["n_cells"], order["branches"]["n_cells"])
    np.testing.assert_array_equal(tables.forks["node"], graph.forks)
    np.testing.assert_array_equal(tables.forks["n_sides"], graph.degree[graph.forks])
    np.testing.assert_array_equal(tables.edges[["source", "target"]], graph.edges)
    for name, path in zip(tables.branches.index, graph.branches, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(tables.edges["branch"] == name), np.sort(graph.edges_along(path)))
    assert (tables.n_replicates, tables.vary) == (8, ("cells",))
    assert tables.consensus.is_tree
    probability = judged.obsm["ddrtree_branch_probability"]
    assert list(probability.columns) == list(tables.branches.index)
    assert list(probability.index) == list(judged.obs_names)
    assert probability.to_numpy().min() >= 0
    assert probability.sum(axis=1).max() <= 1 + 1e-12
    # in a replicate each branch that is matched has the cells of one branch
    assert (probability.sum() > 0)[tables.branches["overlap"] > 0.5].all()
    assert (tables.branches["overlap"] > 0.5).any()
    assert list(tables.branches.columns) == ["support", "found_again", "overlap", "n_cells"]
    assert list(tables.forks.columns) == ["node", "n_sides", "support", "triplets"]
    tables.branches["support"] = 0.0
    assert (st.get.stability(judged).branches["support"] > 0).any()


def judged_without(judged):
    """The same, less what stability stored."""
    adata = judged.copy()
    del adata.obs["ddrtree_pseudotime_sd"], adata.obsm["ddrtree_branch_probability"]
    del adata.uns["ddrtree"]["stability"]
    return adata


@pytest.mark.filterwarnings("ignore:No cell lies on a stretch")
@pytest.mark.parametrize("method", ["ddrtree", "principal_tree"])
@pytest.mark.parametrize(
    "options", [{}, {"denoise": False}, {"prune": False, "denoise": 5}, {"assignment": "hard"}, {"n_nodes": "all"}]
)
def test_all_cells_once_and_the_same_start_give_the_stored_tree(method, options, monkeypatch):
    adata = learn(cells(150, seed=3), method, n_starts=1, **options)
    if method == "ddrtree" and not options:
        st.tl.prune(adata, min_gain=0.03, resolution=0.2)
        st.tl.order(adata, root=0)
    stored = st.get.graph(adata, method)
    replicates, spaces = [], []

    class Kept(recipe.Recipe):
        def in_components(self, smooth):
            spaces.append(smooth)
            return super().in_components(smooth)

        def learn(self, X, counts, seed, callback):
            assert (counts == 1).all()
            assert not callback(0, 0.0)
            made = super().learn(X, counts, 0)
            replicates.append(made)
            return made

    monkeypatch.setattr(st.core, "Recipe", Kept)
    monkeypatch.setattr(Method, "roughly", lambda method, params: dict(params))  # else replicates end earlier
    st.tl.stability(adata, key=method, n_replicates=2, vary=("rng",))
    assert len(replicates) == 2
    if spaces and method == "principal_tree":  # its nodes are in the space of the cells; replicates are in components
        stored = st.core.Graph((stored.nodes - spaces[0].mean) @ spaces[0].loadings, stored.edges)
    for made in replicates:
        scale, again = np.abs(stored.nodes).max(), made.fit.graph
        if options.get("n_nodes") == "all":  # numbered as the cells, which are taken in another order
            again = st.core.Graph(again.nodes[np.lexsort(again.nodes.T)], stored.edges)
            stored = st.core.Graph(stored.nodes[np.lexsort(stored.nodes.T)], stored.edges)
        np.testing.assert_allclose(again.nodes, stored.nodes, atol=1e-6 * scale)
        np.testing.assert_array_equal(again.edges, stored.edges)
        if "pruned" in adata.uns[method]:
            assert made.pruning.min_gain == adata.uns[method]["pruned"]["min_gain"]
    table = st.get.stability(adata, method)
    np.testing.assert_array_equal(table.branches["support"] > 0, table.branches["n_cells"] > 0)


def test_the_order_of_the_cells_does_not_matter(fitted):
    shuffled = cells(300, seed=1)[np.random.default_rng(0).permutation(300)].copy()
    learn(shuffled)
    a, b = (st.tl.stability(version, n_replicates=4, copy=True) for version in (fitted, shuffled))
    equal(a.uns["ddrtree"]["stability"], b.uns["ddrtree"]["stability"])
    b = b[a.obs_names]
    np.testing.assert_array_equal(a.obs["ddrtree_pseudotime_sd"], b.obs["ddrtree_pseudotime_sd"])
    np.testing.assert_array_equal(*(version.obsm["ddrtree_branch_probability"].to_numpy() for version in (a, b)))


def test_sparse_input_of_genes(fitted):
    dense, thin = cells(150, seed=1), cells(150, seed=1)
    thin.X = sparse.csr_matrix(thin.X)
    for version in (dense, thin):
        learn(version)
        st.tl.stability(version, n_replicates=3)
    a, b = (st.get.stability(version) for version in (dense, thin))
    np.testing.assert_allclose(a.branches["support"], b.branches["support"], atol=0.02)
    np.testing.assert_allclose(dense.obs["ddrtree_pseudotime_sd"], thin.obs["ddrtree_pseudotime_sd"], atol=0.02)


def test_what_is_stored_survives_a_file_and_slicing_and_goes_with_the_order(judged, tmp_path):
    before = snapshot(judged)
    judged.write_h5ad(tmp_path / "cells.h5ad")
    back = ad.read_h5ad(tmp_path / "cells.h5ad")
    same(back, before)
    one, other = st.get.stability(judged), st.get.stability(back)
    for name in ("branches", "forks", "edges"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_index_type=False)
    np.testing.assert_array_equal(one.consensus.nodes, other.consensus.nodes)
    assert one.vary == other.vary
    again = st.tl.stability(back, n_replicates=8, copy=True)  # from what was read
    equal(again.uns["ddrtree"]["stability"], before.uns["ddrtree"]["stability"])
    part = judged[:40]
    assert st.get.stability(part).n_replicates == 8
    np.testing.assert_array_equal(part.obs["ddrtree_pseudotime_sd"], judged.obs["ddrtree_pseudotime_sd"][:40])
    st.tl.order(back, root=0)
    assert "ddrtree_pseudotime_sd" not in back.obs
    assert "ddrtree_branch_probability" not in back.obsm
    with pytest.raises(KeyError, match=r"no stability is stored in adata.uns\['ddrtree'\]. Run skeltraj.tl.stability"):
        st.get.stability(back)


def test_of_some_of_the_cells(fitted):
    part = fitted[::2].copy()
    st.tl.stability(part, n_replicates=2)
    n_cells = st.get.stability(part).branches["n_cells"]
    assert n_cells.sum() == part.n_obs
    for branch, n in n_cells.items():
        assert n == (part.obs["ddrtree_branch"] == branch).sum()
    few = fitted[:20].copy()
    with pytest.raises(
        ValueError, match="was learned with .* nodes, from more cells than the 20 that are here; wanted"
    ):
        st.tl.stability(few, n_replicates=2)


def test_copy_and_views_leave_the_original_alone(adata):
    before = snapshot(adata)
    copied = st.tl.stability(adata, n_replicates=2, copy=True)
    same(adata, before)
    assert {"ddrtree_pseudotime_sd"} == set(copied.obs) - set(before.obs)
    view = adata[:200]
    with pytest.warns(ad.ImplicitModificationWarning, match="view"):  # AnnData makes a copy of it
        st.tl.stability(view, n_replicates=2)
    same(adata, before)
    assert st.tl.stability(adata, n_replicates=2) is None
    assert set(adata.uns["ddrtree"]) - set(before.uns["ddrtree"]) == {"stability"}


def test_interruption_leaves_the_cells_untouched(adata, monkeypatch):
    before = snapshot(adata)
    calls = []
    run_steps = recipe.run_steps

    def stopped(*args, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run_steps(*args, **options)

    monkeypatch.setattr(recipe, "run_steps", stopped)
    with pytest.raises(KeyboardInterrupt):
        st.tl.stability(adata, n_replicates=50)
    same(adata, before)
    assert len(calls) < 50


def test_progress_counts_replicates(adata, capsys):
    st.tl.stability(adata, n_replicates=3, progress=True)
    assert "3 of 3 replicates" in capsys.readouterr().err
    st.tl.stability(adata, n_replicates=3, progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.filterwarnings("ignore:No cell lies on a stretch")
def test_errors_come_before_anything_is_stored(adata):
    def refused(kind, message, **options):
        before = snapshot(adata)
        with pytest.raises(kind, match=message):
            st.tl.stability(adata, **options)
        same(adata, before)

    refused(ValueError, "n_replicates=0 is out of range", n_replicates=0)
    refused(TypeError, "vary=None is a NoneType; wanted a tuple of some of", vary=None)
    refused(ValueError, r"vary='genes' is not known. Available: ", vary=("genes",))
    refused(KeyError, r"no skeleton is stored as adata.uns\['tree'\]", key="tree")
    st.tl.drtree(adata)
    st.tl.order(adata, root=0, key="drtree")
    refused(
        ValueError,
        r"the skeleton 'drtree' is of method 'drtree', whose .* cannot be learned again; wanted one of \['ddrtree'",
        key="drtree",
    )
    adata.obsm["X_other"] = adata.X.copy()
    learn(adata, use_rep="X_other", key_added="ddrtree")
    del adata.obsm["X_other"]
    refused(KeyError, "'X_other' is not in adata.obsm. Available: ")
    learn(adata)
    X = adata.X.copy()
    adata.X[3, 2] = np.nan
    refused(ValueError, "holds 1 value")
    adata.X = X
    st.tl.ddrtree(adata)
    refused(KeyError, "the cells have not been ordered along")
    adata.obsp["gram"] = X @ X.T
    learn(adata, kernel="gram", n_components=2)
    refused(ValueError, "the skeleton 'ddrtree' was learned from a kernel matrix; wanted one learned from the data")


def test_a_tree_made_by_hand_is_refused():
    adata = by_hand([[0, 0], [1, 0], [2, 0]], [[0, 1], [1, 2]], [[0, 0], [1, 0], [2, 0]])
    adata.uns["ddrtree"]["attached"] = pd.DataFrame()
    st.tl.order(adata, root=0)
    with pytest.raises(ValueError, match=r"was changed by skeltraj.tl.attach; wanted a tree as fitted"):
        st.tl.stability(adata)


@pytest.mark.filterwarnings("ignore:No cell lies on a stretch")
@pytest.mark.parametrize("n_copies", [0, 9])
def test_cells_too_few_to_be_drawn(n_copies):
    X = np.random.default_rng(0).normal(size=(4, 2))
    adata = ad.AnnData(np.vstack([X, np.tile(X[:1], (n_copies, 1))]))
    st.tl.ddrtree(adata, denoise=False, prune=False, n_starts=1)
    st.tl.order(adata, root=0)
    few = 1 if n_copies else 2
    words = rf"a draw of {4 + n_copies} cells with replacement holds {few} that differ; .* vary=\('rng', 'sigma'\)"
    refused(adata, ValueError, words, lambda: st.tl.stability(adata))
    st.tl.stability(adata, vary=("rng", "sigma"), n_replicates=3)
    assert adata.uns["ddrtree"]["stability"]["n_replicates"] == 3
