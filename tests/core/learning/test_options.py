"""The defaults around a fit: denoising, several starts, pruning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args, get_type_hints

import anndata as ad
import numpy as np
import pytest
import scanpy as sc

import skeltraj as st
from samples import noisy

pytestmark = pytest.mark.compiled("whole recipes, with fits from several starts")

METHODS = ["ddrtree", "principal_tree"]


@pytest.mark.parametrize("method", METHODS)
def test_the_default_is_to_denoise_fit_and_prune(method):
    adata = noisy()
    getattr(st.tl, method)(adata, n_starts=1)
    stored = adata.uns[method]
    smooth = st.core.denoise(adata.X, equalize=True)
    fit = st.core.ddrtree(smooth.values, 8) if method == "ddrtree" else st.core.principal_tree(smooth.values)
    np.testing.assert_array_equal(stored["objective"], fit.objective)
    assert stored["params"]["denoise"] == 15
    for name in ("reference", "means", "axes", "loadings", "mean"):
        np.testing.assert_array_equal(stored["denoise"][name], getattr(smooth, name))
    lifted = smooth.lifted(fit)
    held = lifted.embedding if method == "ddrtree" else adata.obsm["principal_tree_assignment"] @ stored["nodes"]
    np.testing.assert_allclose(adata.obsm[f"X_{method}"], held, atol=1e-12)
    np.testing.assert_array_equal(stored["pruned"]["nodes"], lifted.nodes)
    np.testing.assert_array_equal(stored["pruned"]["edges"], fit.edges)
    # as many tips as were chosen, by the rule on the cells as they were measured
    n_tips = int(stored["tip_choice"]["value"].idxmax())
    if method == "ddrtree":
        np.testing.assert_allclose(adata.varm["ddrtree_loadings"], lifted.loadings)
        nodes, points, data = fit.nodes, fit.embedding, lifted.scores_of(adata.X)
    else:
        nodes, points, data = fit.nodes, fit.embedding, (adata.X - smooth.mean) @ smooth.loadings
    resolution = 3 * np.sqrt(fit.params["sigma"])
    expected = st.core.prune(st.core.Graph(nodes, fit.edges), points, data, n_tips=n_tips, resolution=resolution)
    report = stored["pruned"]["report"]
    assert len(expected.removed) == len(report) > 0
    np.testing.assert_allclose(report["gain"], [r.gain for r in expected.removed], rtol=1e-6)
    assert report["start"].tolist() == [r.start for r in expected.removed]
    np.testing.assert_allclose(stored["pruned"]["min_gain"], expected.min_gain, rtol=1e-6)
    np.testing.assert_array_equal(stored["pruned"]["place"], expected.place)
    np.testing.assert_array_equal(stored["edges"], expected.graph.edges)
    assert stored["params"]["n_nodes"] == len(stored["nodes"]) == expected.graph.n_nodes
    R = adata.obsm[f"{method}_assignment"]
    assert R.shape == (300, expected.graph.n_nodes)
    np.testing.assert_allclose(R.sum(axis=1), 1)


def test_when_nothing_is_done_by_default():
    adata = noisy(150)
    for options in (dict(preset="monocle2"), dict(preset="kdd2015"), dict(n_nodes=20, denoise=False)):
        st.tl.ddrtree(adata, max_iter=300, **options)
        stored = adata.uns["ddrtree"]
        assert "pruned" not in stored
        assert "denoise" not in stored
        assert stored["params"]["n_components"] == (2 if "preset" in options else 8)
    st.tl.ddrtree(adata, n_nodes=20)
    assert "denoise" in adata.uns["ddrtree"]
    assert len(adata.uns["ddrtree"]["nodes"]) == 20  # as many as were asked for
    whole = st.tl.ddrtree(noisy(noise=0.25), n_nodes=60, prune=True, copy=True)
    assert len(whole.uns["ddrtree"]["nodes"]) < 60
    st.tl.ddrtree(adata, preset="monocle2", denoise=True, prune=True)
    assert {"denoise", "pruned"} <= set(adata.uns["ddrtree"])


@pytest.mark.filterwarnings("ignore:.*parts of the cells (differ|lack|order)")
def test_numbers_of_neighbours_and_components():
    adata = noisy(200)
    sc.pp.pca(adata, n_comps=7)
    st.tl.ddrtree(adata, denoise=6)
    assert adata.uns["ddrtree"]["params"]["denoise"] == 6
    assert adata.obsm["X_ddrtree"].shape == (200, 7)
    st.tl.ddrtree(adata, 2, denoise=False, key_added="two")
    assert adata.obsm["X_two"].shape == (200, 2)
    # a share is one of the input as it is
    share = st.core.ddrtree(adata.obsm["X_pca"], 0.8, max_iter=1, tol=1)
    st.tl.ddrtree(adata, 0.8, key_added="share")
    assert adata.obsm["X_share"].shape[1] == share.params["n_components"] > 1


@pytest.mark.parametrize("shape", [(3, 5), (4, 50), (10, 50), (20, 50), (3, 2), (30, 1)])
def test_few_cells_under_the_defaults(shape):
    adata = ad.AnnData(np.random.default_rng(0).standard_normal(shape))
    st.tl.ddrtree(adata, max_iter=1000)
    assert adata.obsm["X_ddrtree"].shape == (shape[0], min(20, shape[0] - 1, shape[1]))


def test_more_components_than_denoised_cells_have():
    adata = ad.AnnData(np.random.default_rng(0).standard_normal((10, 50)))
    with pytest.raises(ValueError, match="n_components=10 for 10 denoised cells; wanted at most one less"):
        st.tl.ddrtree(adata, 10)
    st.tl.ddrtree(adata, 10, denoise=False, max_iter=1000)
    assert adata.obsm["X_ddrtree"].shape == (10, 10)


def test_starts_are_what_the_docs_say():
    adata = noisy(150)
    seen = []

    def start(X):
        seen.append(X.shape)
        return X[:, :3] - X[:, :3].mean(axis=0)

    st.tl.ddrtree(adata, 3, init=start)
    assert seen == [adata.shape]  # the input, not what denoising made of it
    Z = start(adata.X)
    st.tl.ddrtree(adata, init=(Z, Z[:10]))
    assert "denoise" not in adata.uns["ddrtree"]
    assert len(adata.uns["ddrtree"]["nodes"]) == 10


def test_many_copies_of_few_cells():
    kinds = np.random.default_rng(1).standard_normal((3, 5))
    adata = ad.AnnData(np.repeat(kinds, 9000, axis=0))
    st.tl.ddrtree(adata, n_nodes=3, prune=True, max_iter=5, tol=1)
    places = np.unique(np.round(adata.obsm["X_ddrtree"], 6), axis=0)
    assert len(places) == 3


def test_when_there_is_one_start():
    adata = noisy(noise=0.15, seed=0)
    st.tl.ddrtree(adata)
    assert adata.uns["ddrtree"]["agreement"].shape == (5,)
    for options in (dict(preset="monocle2"), dict(n_nodes=30)):  # as many nodes as asked for: nothing is compared
        st.tl.ddrtree(adata, **options)
        assert not {"agreement", "tip_choice"} & set(adata.uns["ddrtree"])
    st.tl.ddrtree(adata, init=adata.X[:, :2], n_components=2)
    assert adata.uns["ddrtree"]["agreement"].shape == (1,)  # with the trees of parts of the cells
    st.tl.ddrtree(adata, n_nodes=30, n_starts=2)
    assert adata.uns["ddrtree"]["agreement"].shape == (2,)
    assert np.ptp(adata.uns["ddrtree"]["agreement"]) == 0
    # a number of tips that is given is not chosen; where a limit is given, nothing is compared with the one tree
    st.tl.ddrtree(adata, prune=dict(n_tips=3), n_starts=1)
    assert adata.uns["ddrtree"]["agreement"].shape == (1,)
    assert "pruned" in adata.uns["ddrtree"]
    assert "tip_choice" not in adata.uns["ddrtree"]
    st.tl.ddrtree(adata, prune=dict(min_gain=0.01), n_starts=1)
    assert not {"agreement", "tip_choice"} & set(adata.uns["ddrtree"])
    assert "pruned" in adata.uns["ddrtree"]


@pytest.mark.filterwarnings("ignore:.*the number of tips, .* is in doubt")
def test_errors():
    adata = noisy(60, noise=0.15, seed=0)
    with pytest.raises(ValueError, match="n_starts=0 is out of range; wanted a whole number from 1 to 1000"):
        st.tl.ddrtree(adata, n_starts=0)
    with pytest.raises(ValueError, match=r"n_starts='many' is not known\. Available: \['auto'\], or a number\."):
        st.tl.ddrtree(adata, n_starts="many")
    with pytest.raises(ValueError, match=r"denoise='k' is not known\. Available"):
        st.tl.ddrtree(adata, denoise={"k": 5})
    with pytest.raises(ValueError, match="n_neighbors=99 is out of range"):
        st.tl.ddrtree(adata, denoise={"n_neighbors": 99})
    with pytest.raises(ValueError, match=r"prune=\{'n_tips': 3, 'min_gain': 0\.1\} has both min_gain and n_tips"):
        st.tl.ddrtree(adata, prune={"n_tips": 3, "min_gain": 0.1})
    with pytest.raises(ValueError, match=r"prune='tips' is not known\. Available: \['min_gain', 'n_tips'"):
        st.tl.ddrtree(adata, prune={"tips": 3})
    with pytest.raises(ValueError, match="n_tips=1 is out of range; wanted a whole number from 2 up"):
        st.tl.ddrtree(adata, prune={"n_tips": 1})
    assert not adata.uns
    st.tl.ddrtree(adata, denoise={"n_neighbors": 4, "n_tangents": 0})
    assert adata.uns["ddrtree"]["denoise"]["axes"].shape == (60, 8, 0)


@pytest.mark.parametrize(
    "function", [st.core.learn_tree, st.tl.ddrtree, st.tl.principal_tree, st.estimators.TreeLearner.__init__]
)
def test_types_allow_an_option_to_be_left_to_the_data(function):
    # denoise={"compress": "auto"}
    assert Mapping[str, int | Literal["auto"]] in get_args(get_type_hints(function)["denoise"])
