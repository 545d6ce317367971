"""The defaults of tl.ddrtree and tl.principal_tree around the fit: denoising, pruning, and how to undo it."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest
import scanpy as sc
from scipy import sparse

import skeltraj as st
from samples import cells, rings
from stored import same, snapshot

METHODS = ["ddrtree", "principal_tree"]


def noisy(n=300, noise=0.35, seed=3):
    """Three arms in noise, so that the fit has spurs."""
    adata = cells(n, seed=seed, n_features=8)
    adata.X = adata.X + noise * np.random.default_rng(seed).standard_normal(adata.shape)
    return adata


@pytest.mark.parametrize("method", METHODS)
def test_the_default_is_to_denoise_fit_and_prune(method):
    adata = noisy()
    getattr(st.tl, method)(adata, n_starts=1)
    stored = adata.uns[method]
    smooth = st.core.denoise(adata.X)
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
    # the rule, on the cells as they were measured
    if method == "ddrtree":
        np.testing.assert_allclose(adata.varm["ddrtree_loadings"], lifted.loadings)
        nodes, points, data = fit.nodes, fit.embedding, lifted.scores_of(adata.X)
    else:
        nodes, points, data = fit.nodes, fit.embedding, (adata.X - smooth.mean) @ smooth.loadings
    expected = st.core.prune(st.core.Graph(nodes, fit.edges), points, data, resolution=3 * np.sqrt(fit.params["sigma"]))
    report = stored["pruned"]["report"]
    assert len(expected.removed) == len(report) > 0
    np.testing.assert_allclose(report["gain"], [r.gain for r in expected.removed], rtol=1e-6)
    assert report["start"].tolist() == [r.start for r in expected.removed]
    np.testing.assert_array_equal(stored["pruned"]["place"], expected.place)
    np.testing.assert_array_equal(stored["edges"], expected.graph.edges)
    assert stored["params"]["n_nodes"] == len(stored["nodes"]) == expected.graph.n_nodes
    R = adata.obsm[f"{method}_assignment"]
    assert R.shape == (300, expected.graph.n_nodes)
    np.testing.assert_allclose(R.sum(axis=1), 1)


@pytest.mark.parametrize("method", METHODS)
def test_undo_brings_the_tree_back_and_pruning_again_takes_it_away(method):
    adata = noisy()
    plain = getattr(st.tl, method)(adata, n_starts=1, prune=False, copy=True)
    assert "pruned" not in plain.uns[method]
    getattr(st.tl, method)(adata, n_starts=1)
    st.tl.order(adata, root=0, key=method)
    before = snapshot(adata)
    back = st.tl.prune(adata, key=method, undo=True, copy=True)
    same(adata, before)
    assert f"{method}_pseudotime" not in back.obs  # the order belonged to the other tree
    for name in ("nodes", "edges", "edge_length"):
        np.testing.assert_array_equal(back.uns[method][name], plain.uns[method][name])
    assert "pruned" not in back.uns[method]
    np.testing.assert_allclose(back.obsm[f"X_{method}"], plain.obsm[f"X_{method}"], atol=1e-9)
    np.testing.assert_allclose(
        back.obsm[f"{method}_assignment"].toarray(), plain.obsm[f"{method}_assignment"].toarray(), atol=1e-9
    )
    st.tl.prune(back, key=method)
    st.tl.order(back, root=0, key=method)
    for name in ("nodes", "edges"):
        np.testing.assert_array_equal(back.uns[method][name], adata.uns[method][name])
    np.testing.assert_allclose(back.obs[f"{method}_pseudotime"], adata.obs[f"{method}_pseudotime"])
    with pytest.raises(KeyError, match="undo=True, but adata.uns"):
        st.tl.prune(plain, key=method, undo=True)


def test_a_higher_price_takes_more_and_begins_with_the_whole_tree():
    adata = cells(300)
    st.tl.ddrtree(adata)
    whole = adata.uns["ddrtree"]["pruned"]["nodes"]
    assert len(st.get.graph(adata).tips) == 3
    st.tl.prune(adata, min_gain=1e6)
    assert len(adata.uns["ddrtree"]["pruned"]["report"]) > 0
    assert len(st.get.graph(adata).tips) == 2
    st.tl.prune(adata)
    assert len(st.get.graph(adata).tips) == 3
    np.testing.assert_array_equal(adata.uns["ddrtree"]["pruned"]["nodes"], whole)


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


def test_the_order_of_the_cells_does_not_matter():
    adata = noisy(300)
    order = np.random.default_rng(0).permutation(300)
    turned = adata[order].copy()
    for each in (adata, turned):
        st.tl.ddrtree(each)
        st.tl.order(each, root={"stage": "stem"})
    same(turned[adata.obs_names].copy(), adata)


@pytest.mark.parametrize("kind", ["sparse", "dask", "backed", "float32"])
def test_other_kinds_of_input_give_the_same(kind, tmp_path):
    adata = noisy(300)
    other = adata.copy()
    tolerance = 1e-6
    if kind == "sparse":
        other.X = sparse.csr_matrix(other.X)
    elif kind == "dask":
        other.X = pytest.importorskip("dask.array").from_array(other.X, chunks=(90, -1))
    elif kind == "backed":
        other.write_h5ad(tmp_path / "a.h5ad")
        other = ad.read_h5ad(tmp_path / "a.h5ad", backed="r")
    else:
        other.X, tolerance = other.X.astype(np.float32), 1e-3
    st.tl.ddrtree(adata, 3)
    st.tl.ddrtree(other, 3)
    assert len(adata.uns["ddrtree"]["pruned"]["report"])
    np.testing.assert_allclose(np.asarray(other.obsm["X_ddrtree"]), adata.obsm["X_ddrtree"], atol=tolerance)
    np.testing.assert_array_equal(other.uns["ddrtree"]["edges"], adata.uns["ddrtree"]["edges"])
    R = st.get.assignment(other)
    np.testing.assert_allclose(R.toarray(), adata.obsm["ddrtree_assignment"].toarray(), atol=20 * tolerance)


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
@pytest.mark.filterwarnings("ignore:Writing zarr v2 data")
def test_what_is_stored_survives_writing(kind, tmp_path):
    adata = noisy()
    st.tl.ddrtree(adata)
    st.tl.ddrtree(adata, key_added="nothing", denoise=False, n_nodes=5, prune=True)  # an empty report
    getattr(adata, f"write_{kind}")(tmp_path / f"a.{kind}")
    back = getattr(ad, f"read_{kind}")(tmp_path / f"a.{kind}")
    same(back, adata)
    st.tl.prune(back, undo=True)
    st.tl.prune(back)
    np.testing.assert_array_equal(back.uns["ddrtree"]["nodes"], adata.uns["ddrtree"]["nodes"])


def test_a_new_fit_forgets_the_old_pruning():
    adata = noisy()
    st.tl.ddrtree(adata)
    st.tl.ddrtree(adata, n_nodes=20, denoise=False)
    assert not {"pruned", "denoise"} & set(adata.uns["ddrtree"])


@pytest.mark.parametrize(
    ("function", "options", "kind", "message"),
    [
        ("ddrtree", dict(denoise=-1), ValueError, "denoise=-1 is out of range"),
        ("ddrtree", dict(denoise=400), ValueError, "n_neighbors=400 is out of range"),
        ("ddrtree", dict(denoise="yes"), TypeError, "denoise='yes' is a str"),
        ("ddrtree", dict(denoise=True, kernel="k"), ValueError, "denoise=True with a kernel matrix; wanted"),
        ("ddrtree", dict(prune="maybe"), ValueError, "prune='maybe' is not known"),
        ("ddrtree", dict(n_components="all"), ValueError, "n_components='all' is not known. Available"),
        ("ddrtree", dict(n_components=9), ValueError, "n_components=9 is out of range"),
        ("principal_tree", dict(init=np.zeros((5, 8)), denoise=True), ValueError, "denoise=True with init"),
        ("prune", dict(), KeyError, "no skeleton is stored as adata.uns"),
        ("prune", dict(key="rings"), ValueError, r"1 loop\(s\)|method 'principal_graph'; wanted one of"),
        ("prune", dict(key="own"), ValueError, "method 'drtree'; wanted one of"),
        ("prune", dict(key="fit", min_gain=-2), ValueError, "min_gain=-2 is out of range"),
        ("prune", dict(key="fit", resolution=np.nan), ValueError, "resolution=nan is out of range"),
    ],
)
def test_errors(function, options, kind, message):
    adata = noisy(200)
    adata.obsp["k"] = adata.X @ adata.X.T
    st.tl.ddrtree(adata, key_added="fit")
    st.tl.drtree(adata, key_added="own")
    st.tl.principal_graph(adata, n_nodes=20, key_added="rings")
    before = snapshot(adata)
    with pytest.raises(kind, match=message):
        getattr(st.tl, function)(adata, **options)
    same(adata, before)


def test_a_tree_that_was_changed_or_whose_input_is_gone():
    adata = noisy(200)
    sc.pp.pca(adata, n_comps=5)
    st.tl.ddrtree(adata)
    st.tl.order(adata, root=0)
    part = st.tl.select_path(adata, "root", "T1" if st.get.graph(adata).tips[0] != 0 else "T2")
    with pytest.raises(ValueError, match=r"was changed by skeltraj\.tl\.select_path"):
        st.tl.prune(part)
    del adata.obsm["X_pca"]
    with pytest.raises(KeyError, match="X_pca"):
        st.tl.prune(adata)


def test_rings_are_not_forced():
    adata = rings(400)
    st.tl.ddrtree(adata)  # a ring has no branch that could go
    assert st.get.graph(adata).is_tree


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
@pytest.mark.filterwarnings("ignore:Writing zarr v2 data", "ignore::FutureWarning", "ignore:Names in the index")
def test_an_object_that_is_read_lazily(kind, tmp_path):
    pytest.importorskip("xarray", reason="anndata reads lazily with xarray")
    if not hasattr(ad.experimental, "read_lazy"):
        pytest.skip("this anndata does not read lazily")
    adata = noisy()
    getattr(adata, f"write_{kind}")(tmp_path / f"a.{kind}")
    lazy = ad.experimental.read_lazy(tmp_path / f"a.{kind}")
    for each in (adata, lazy):
        st.tl.ddrtree(each, 3)
        st.tl.order(each, root=0)
    assert hasattr(lazy.obsm["X_ddrtree"], "compute")  # stays lazy
    np.testing.assert_allclose(np.asarray(lazy.obsm["X_ddrtree"]), adata.obsm["X_ddrtree"], atol=1e-8)
    np.testing.assert_allclose(np.asarray(lazy.obs["ddrtree_pseudotime"]), adata.obs["ddrtree_pseudotime"], atol=1e-8)
    assert lazy.uns["ddrtree"]["pruned"]["report"]["start"].tolist() == (
        adata.uns["ddrtree"]["pruned"]["report"]["start"].tolist()
    )


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


@pytest.mark.filterwarnings("ignore::anndata.ImplicitModificationWarning")
def test_pruning_a_view_leaves_its_parent_alone():
    adata = noisy()
    st.tl.ddrtree(adata)
    st.tl.order(adata, root=0)
    adata.obs = adata.obs[["stage"]].copy()
    del adata.obsm["ddrtree_position"], adata.obsm["ddrtree_lineages"]
    view = adata[:200]
    st.tl.prune(view)
    assert "order" in adata.uns["ddrtree"]
    with pytest.raises(ValueError, match="undo=True with min_gain=3"):
        st.tl.prune(adata, undo=True, min_gain=3)


def test_many_copies_of_few_cells():
    kinds = np.random.default_rng(1).standard_normal((3, 5))
    adata = ad.AnnData(np.repeat(kinds, 9000, axis=0))
    st.tl.ddrtree(adata, n_nodes=3, prune=True, max_iter=5, tol=1)
    places = np.unique(np.round(adata.obsm["X_ddrtree"], 6), axis=0)
    assert len(places) == 3
