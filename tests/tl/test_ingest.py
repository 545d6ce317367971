"""New cells on the tree of others: own values for known cells, near ones for alike, errors for what does not fit."""

from __future__ import annotations

import warnings
from functools import cache

import anndata as ad
import numpy as np
import pandas as pd
import pytest
import scanpy as sc
from scipy import sparse
from scipy.stats import spearmanr

import oracles
import skeltraj as st
from samples import by_hand, cells, rings
from skeltraj import core
from skeltraj.tl._inputs.learned_from_genes import learned_from_genes
from skeltraj.tl._inputs.of_new_cells import same_input
from stored import equal, refused, same, snapshot

STORED = {
    "obs": {"ddrtree_pseudotime", "ddrtree_branch", "ddrtree_far", "ddrtree_distance", "ddrtree_likeness"},
    "obsm": {"X_ddrtree", "ddrtree_assignment", "ddrtree_position", "ddrtree_lineages"},
    "uns": {"ddrtree", "ddrtree_branch_colors"},
}


def bare(adata):
    """The cells as they were measured."""
    return ad.AnnData(adata.X.copy(), obs=adata.obs[["stage", "place"]].copy(), var=adata.var[[]].copy())


@cache
def _everyone():
    return cells(1200, seed=1, n_features=12)


def newcomers(n):
    """Cells drawn like those of the reference, none of which is among them."""
    return _everyone()[-n:].copy()


def reference(method="ddrtree", n=300, pca=False, **settings):
    adata = _everyone()[:n].copy()
    if pca:
        adata.X += 5
        sc.pp.pca(adata, n_comps=6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # presets with few rounds
        getattr(st.tl, method)(adata, **settings)
    st.tl.order(adata, root=0, key=method)
    return adata


@pytest.fixture(scope="module")
def fitted():
    return reference()


@pytest.fixture
def ref(fitted):
    return fitted.copy()


@pytest.fixture(scope="module")
def fitted_pca():
    return reference(pca=True)


def assert_own_values(new, ref, key="ddrtree"):
    own = ref[new.obs_names].copy()
    np.testing.assert_allclose(new.obsm[f"X_{key}"], own.obsm[f"X_{key}"], atol=1e-8)
    np.testing.assert_allclose(
        new.obsm[f"{key}_assignment"].toarray(), own.obsm[f"{key}_assignment"].toarray(), atol=1e-8
    )
    np.testing.assert_allclose(new.obs[f"{key}_pseudotime"], own.obs[f"{key}_pseudotime"], atol=1e-8)
    # a slice of the cells drops categories
    pd.testing.assert_series_equal(new.obs[f"{key}_branch"], ref.obs[f"{key}_branch"][new.obs_names])
    for name in ("position", "lineages"):
        pd.testing.assert_frame_equal(new.obsm[f"{key}_{name}"], own.obsm[f"{key}_{name}"], atol=1e-8)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("ddrtree", {}),
        ("ddrtree", {"denoise": False, "prune": False}),
        ("ddrtree", {"denoise": False, "prune": True}),
        ("ddrtree", {"pca": True}),
        ("ddrtree", {"preset": "monocle2"}),
        ("ddrtree", {"assignment": "hard", "center": False}),
        ("ddrtree", {"n_nodes": "all", "n": 120}),
        ("principal_tree", {}),
        ("principal_tree", {"denoise": False, "prune": False}),
        ("principal_tree", {"pca": True}),
    ],
)
def test_cells_of_the_reference_get_their_own_values(method, settings):
    ref = reference(method, **settings)
    before = snapshot(ref)
    shuffle = np.random.default_rng(0).permutation(ref.n_obs)[:90]
    new = bare(ref)[shuffle, np.random.default_rng(1).permutation(ref.n_vars)].copy()
    new.X = new.X.astype(np.float32)
    st.tl.ingest(new, ref, key=method)
    assert_own_values(new, ref, method)
    assert new.uns[method]["ingested"]["n_same"] == 90
    assert new.uns[method]["ingested"]["n_obs"] == ref.n_obs
    for name in ("nodes", "edges", "edge_length", "params", "objective"):
        equal(new.uns[method][name], ref.uns[method][name])
    for name in ("root", "root_rule", "node_pseudotime", "tips", "forks"):
        equal(new.uns[method]["order"][name], ref.uns[method]["order"][name])
    same(ref, before)


@pytest.mark.parametrize("method", ["ddrtree", "principal_tree"])
@pytest.mark.parametrize("equalize", [True, False])
def test_cells_that_are_nearly_those_of_the_reference_are_assigned_as_these(method, equalize):
    ref = reference(method, denoise={"equalize": equalize})
    new = bare(ref)
    new.X = new.X + np.random.default_rng(0).normal(0, 1e-4, new.shape)
    st.tl.ingest(new, ref, key=method)
    assert new.uns[method]["ingested"]["n_same"] == 0
    differ = abs(new.obsm[f"{method}_assignment"] - ref.obsm[f"{method}_assignment"]).max(axis=1).toarray()
    assert np.quantile(differ, 0.98) < 0.002  # rows between two parts may end on the other side


@pytest.mark.parametrize("method", ["ddrtree", "principal_tree"])
def test_after_pruning_and_undoing_it(method):
    ref = reference(method, n_nodes=60, prune=True, denoise=False)
    st.tl.prune(ref, key=method, min_gain=0.05)
    for _ in range(2):
        assert ref.uns[method]["params"]["n_nodes"] == ref.obsm[f"{method}_assignment"].shape[1]
        st.tl.order(ref, root=0, key=method)
        new = bare(ref)
        st.tl.ingest(new, ref, key=method)
        assert_own_values(new, ref, method)
        moved = bare(ref)
        moved.X += 1e-4 * np.random.default_rng(0).standard_normal(moved.shape)
        st.tl.ingest(moved, ref, key=method)
        assert moved.uns[method]["ingested"]["n_same"] == 0
        off = np.abs(moved.obsm[f"X_{method}"] - ref.obsm[f"X_{method}"]).max(axis=1)
        assert np.median(off) < 1e-3
        assert abs(moved.obsm[f"{method}_assignment"] - ref.obsm[f"{method}_assignment"]).max(axis=1).mean() < 0.05
        if "pruned" in ref.uns[method]:
            st.tl.prune(ref, key=method, undo=True)


@pytest.mark.parametrize(
    ("method", "settings", "largest"),
    [
        ("ddrtree", {}, 0.03),
        ("ddrtree", {"denoise": False}, 0.03),
        ("ddrtree", {"pca": True}, 0.03),
        ("principal_tree", {}, 0.03),
        ("ddrtree", {"preset": "monocle2"}, 0.15),  # stops after a few rounds, before the cells are at rest
    ],
)
def test_cells_that_differ_little_land_near(method, settings, largest):
    ref = reference(method, **settings)
    new = bare(ref)
    new.X += 0.005 * np.random.default_rng(0).standard_normal(new.shape)  # the noise is 0.08
    st.tl.ingest(new, ref, key=method)
    assert new.uns[method]["ingested"]["n_same"] == 0
    time, own = (cohort.obs[f"{method}_pseudotime"] for cohort in (new, ref))
    jump = np.abs(time - own) / np.ptp(own)
    assert np.median(jump) < 0.01
    assert np.quantile(jump, 0.98) < largest
    assert spearmanr(time, own).statistic > 0.99
    assert (new.obs[f"{method}_branch"] == ref.obs[f"{method}_branch"]).mean() > 0.95
    assert new.obs[f"{method}_far"].mean() < 0.02
    np.testing.assert_allclose(new.obsm[f"{method}_assignment"].sum(axis=1), 1)


def test_what_is_stored_is_what_it_says(ref):
    new = newcomers(80)
    new.X += 0.01
    before = snapshot(new)
    assert st.tl.ingest(new, ref) is None
    same(new, before, STORED)
    stored, Z = new.uns["ddrtree"], new.obsm["X_ddrtree"]
    assert stored["ingested"]["n_same"] == 0
    nodes, edges = stored["nodes"], stored["edges"]
    position = new.obsm["ddrtree_position"]
    np.testing.assert_allclose(position["distance"], oracles.nearest_on_segments(Z, nodes, edges))
    ends, t = nodes[edges[position["edge"]]], position["fraction"].to_numpy()[:, None]
    place = (1 - t) * ends[:, 0] + t * ends[:, 1]
    W, mean = ref.varm["ddrtree_loadings"], stored["mean"]
    lifted = place @ np.linalg.pinv(W) + mean
    np.testing.assert_allclose(new.obs["ddrtree_distance"], np.linalg.norm(new.X - lifted, axis=1), atol=1e-8)
    np.testing.assert_array_equal(new.obs["ddrtree_far"], new.obs["ddrtree_likeness"] <= 0.01 + 1e-12)
    assert new.obs["ddrtree_likeness"].between(0, 1).all()
    # a fixed point: assigned to the nodes as fitted, pulled to them
    whole, sigma, gamma = stored["pruned"]["nodes"], stored["params"]["sigma"], stored["params"]["gamma"]
    smooth = core.Denoised(None, **stored["denoise"])
    R = np.exp(-((Z[:, None] - whole) ** 2).sum(axis=2) / sigma)
    R /= R.sum(axis=1, keepdims=True)
    scores = (smooth.rows(new.X) - mean) @ W
    np.testing.assert_allclose(Z, (scores + gamma * R @ whole) / (1 + gamma), atol=1e-8)
    counts = new.obs["ddrtree_branch"].value_counts()
    table = stored["order"]["branches"]["n_cells"]
    assert {b: n for b, n in table.items() if n} == {b: n for b, n in counts.items() if n}


@pytest.mark.parametrize("join", ["inner", "outer"])
def test_tests_are_exploratory_once_the_reference_is_among_the_cells(ref, join):
    new = newcomers(80)
    st.tl.ingest(new, ref)
    assert not learned_from_genes(new, "ddrtree")
    both = ad.concat([ref, new], join=join, merge="same", uns_merge="first")
    assert learned_from_genes(both, "ddrtree")
    st.tl.association(both)
    assert both.uns["ddrtree"]["association"]["exploratory"]
    own = bare(ref)
    st.tl.ingest(own, ref)
    assert learned_from_genes(own, "ddrtree")


@pytest.mark.parametrize("method", ["ddrtree", "principal_tree"])
def test_far_cells_are_told_from_those_in_range(method):
    everyone = cells(1600, seed=3, n_features=12)
    ref, new = everyone[:800].copy(), everyone[800:].copy()
    getattr(st.tl, method)(ref)
    st.tl.order(ref, root=0, key=method)
    st.tl.ingest(new, ref, key=method)
    assert new.obs[f"{method}_far"].dtype == bool
    assert new.obs[f"{method}_far"].mean() < 0.025
    st.tl.ingest(new, ref, key=method, quantile=0.9)
    assert 0.07 < new.obs[f"{method}_far"].mean() < 0.13
    assert new.uns[method]["ingested"]["quantile"] == 0.9
    # out of the plane of the tree, out of what the embedding sees
    off = np.linalg.svd(np.asarray(ref.X) - ref.X.mean(axis=0))[2][-1]
    strange = new[:300].copy()
    strange.X[:100] += off
    with pytest.warns(
        UserWarning, match=r"\d+ of 300 cells are unlike the reference's: they stand out more than 99 % of those do"
    ):
        st.tl.ingest(strange, ref, key=method)
    assert strange.obs[f"{method}_far"][:100].all()
    assert strange.obs[f"{method}_far"][100:].mean() < 0.03


def test_held_out_cells_are_as_well_placed_as_fitted_ones():
    everyone = cells(1200, seed=5, n_features=12)
    ref, new = everyone[:600].copy(), everyone[600:].copy()
    st.tl.ddrtree(ref)
    st.tl.order(ref, root={"stage": "stem"})
    st.tl.ingest(new, ref)
    agree = {}
    for name, cohort in (("fitted", ref), ("new", new)):
        stem = (cohort.obs["stage"] == "stem").to_numpy()
        away = np.where(stem, cohort.obs["place"], -1.0 * cohort.obs["place"])
        agree[name] = spearmanr(-away, cohort.obs["ddrtree_pseudotime"]).statistic
    assert agree["fitted"] > 0.8
    assert agree["new"] > agree["fitted"] - 0.03


def as_kind(X, kind):
    """The matrix in sparse rows or columns, or in dask's blocks of either sort."""
    if kind in ("csr", "csc"):
        return sparse.csr_matrix(X) if kind == "csr" else sparse.csc_matrix(X)
    da = pytest.importorskip("dask.array")
    if kind == "dask":
        return da.from_array(X, chunks=(37, 5))
    return da.from_array(X, chunks=(37, 12)).map_blocks(sparse.csr_matrix)


@pytest.mark.parametrize("method", ["ddrtree", "principal_tree"])
@pytest.mark.parametrize("kind", ["csr", "csc", "dask", "dask of csr"])
def test_sparse_and_dask_give_the_same(method, kind):
    ref = reference(method, n=150)
    new = newcomers(60)[:, ::-1].copy()
    st.tl.ingest(new, ref, key=method)
    other, other_ref = bare(new), ref.copy()
    other.X, other_ref.X = (as_kind(np.asarray(cohort.X), kind) for cohort in (new, ref))
    st.tl.ingest(other, other_ref, key=method, batch_size=16)
    for name in (f"X_{method}", f"{method}_lineages"):
        np.testing.assert_allclose(np.asarray(other.obsm[name]), np.asarray(new.obsm[name]), atol=1e-8)
    # a cell at a node lies on any of its edges: where rounding puts it
    within = new.obsm[f"{method}_position"]["fraction"].between(1e-9, 1 - 1e-9).to_numpy()
    positions = [np.asarray(cohort.obsm[f"{method}_position"])[within] for cohort in (other, new)]
    np.testing.assert_allclose(*positions, atol=1e-8)
    assert within.sum() > 20
    for name in (f"{method}_pseudotime", f"{method}_distance"):
        np.testing.assert_allclose(other.obs[name], new.obs[name], atol=1e-6)
    assert abs(other.obsm[f"{method}_assignment"] - new.obsm[f"{method}_assignment"]).max() < 1e-8


@pytest.mark.parametrize("filled", [True, False])
def test_cells_on_disk(ref, tmp_path, filled):
    new = newcomers(60)
    if not filled:
        new.X = sparse.csr_matrix(new.X)
    new.write_h5ad(tmp_path / "new.h5ad")
    st.tl.ingest(new, ref)
    backed = ad.read_h5ad(tmp_path / "new.h5ad", backed="r")
    with pytest.raises(ValueError, match="copy=True for an AnnData on disk"):
        st.tl.ingest(backed, ref, copy=True)
    st.tl.ingest(backed, ref, batch_size=7)
    np.testing.assert_allclose(backed.obsm["X_ddrtree"], new.obsm["X_ddrtree"], atol=1e-8)
    backed.file.close()


@pytest.mark.parametrize("unit", [1e-30, 1e-3, 40.0, 1e30])
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_new_cells_lie_at_the_same_places_in_any_unit(unit, shift):
    def ingested(factor, offset):
        ref, new = _everyone()[:200].copy(), newcomers(40)
        for adata in (ref, new):
            adata.X = factor * (adata.X + offset)
        st.tl.ddrtree(ref, 3, n_starts=1, n_nodes=20)
        st.tl.order(ref, root={"stage": "stem"})
        st.tl.ingest(new, ref)
        return new

    new, other = ingested(1.0, 0.0), ingested(unit, shift)
    np.testing.assert_array_equal(other.obs["ddrtree_branch"], new.obs["ddrtree_branch"])
    np.testing.assert_array_equal(other.obs["ddrtree_far"], new.obs["ddrtree_far"])
    for name in ("pseudotime", "distance"):
        np.testing.assert_allclose(other.obs[f"ddrtree_{name}"], unit * new.obs[f"ddrtree_{name}"], rtol=1e-5)
    np.testing.assert_allclose(other.obs["ddrtree_likeness"], new.obs["ddrtree_likeness"], rtol=1e-5, atol=1e-8)


def test_many_new_cells_come_out_the_same_in_any_order_and_in_any_blocks(ref):
    new = newcomers(90)
    st.tl.ingest(new, ref)
    shuffle = np.random.default_rng(0).permutation(90)
    again, ref = bare(new)[shuffle].copy(), ref[np.random.default_rng(1).permutation(300)].copy()
    st.tl.ingest(again, ref, batch_size=11)
    np.testing.assert_allclose(again.obsm["X_ddrtree"], new.obsm["X_ddrtree"][shuffle], atol=1e-8)
    np.testing.assert_allclose(again.obs["ddrtree_distance"], new.obs["ddrtree_distance"].iloc[shuffle], atol=1e-8)


class TestGenes:
    def test_more_of_them_in_another_order(self, ref):
        new = newcomers(50)
        wide = ad.AnnData(
            np.hstack([np.full((50, 2), 99.0), new.X[:, ::-1], np.full((50, 1), -99.0)]),
            obs=pd.DataFrame(index=new.obs_names),
        )
        wide.var_names = ["x", "x", *new.var_names[::-1], "z"]
        st.tl.ingest(new, ref)
        st.tl.ingest(wide, ref)
        np.testing.assert_allclose(wide.obsm["X_ddrtree"], new.obsm["X_ddrtree"], atol=1e-12)

    def test_of_a_layer(self):
        ref = cells(200, n_features=12)
        ref.layers["log"] = ref.X.copy()
        ref.X = np.zeros_like(ref.X)
        st.tl.ddrtree(ref, layer="log")
        st.tl.order(ref, root=0)
        new = ref[40:80].copy()
        st.tl.ingest(new, ref)
        assert_own_values(new, ref)
        del new.layers["log"]
        with pytest.raises(KeyError, match=r"layer='log' is not in adata.layers. Available: \[\]"):
            st.tl.ingest(new, ref)
        del ref.layers["log"]
        with pytest.raises(KeyError, match=r"layer='log' is not in adata_ref.layers"):
            st.tl.ingest(new, ref)

    def test_missing_and_repeated_ones_are_errors(self, ref):
        few = cells(20, n_features=12)[:, 7:].copy()
        message = (
            "7 of the 12 genes that the reference needs are not in adata.var_names: 'gene0', 'gene1', 'gene2', "
            "'gene3', 'gene4' and 2 more; wanted all of them"
        )
        before = snapshot(few)
        with pytest.raises(ValueError, match=message):
            st.tl.ingest(few, ref)
        same(few, before)
        twice = cells(20, n_features=12)
        twice.var_names = [*twice.var_names[:11], "gene3"]
        with pytest.raises(ValueError, match=r"adata.var_names holds 1 gene\(s\) more than once: 'gene3'; wanted each"):
            st.tl.ingest(twice, ref)
        ref.var_names = twice.var_names
        with pytest.raises(ValueError, match=r"adata_ref.var_names holds 1 gene\(s\) more than once: 'gene3'"):
            st.tl.ingest(cells(20, n_features=12), ref)


class TestPrincipalComponents:
    @pytest.mark.parametrize("zero_center", [True, False])
    @pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
    def test_of_variable_genes_only(self, zero_center, wrap):
        ref = cells(200, n_features=20)
        ref.X = wrap((ref.X + 3).astype(np.float32))
        ref.var["some"] = np.arange(20) % 4 > 0
        sc.pp.pca(ref, n_comps=5, mask_var="some", zero_center=zero_center)
        st.tl.ddrtree(ref)
        st.tl.order(ref, root=0)
        new = ref[:60, ref.var["some"].to_numpy()][:, ::-1].copy()
        del new.obsm["X_pca"], new.varm["PCs"]
        st.tl.ingest(new, ref)
        assert_own_values(new, ref)
        assert new.uns["ddrtree"]["ingested"]["input"] == "adata.X, projected on adata_ref.varm['PCs']"
        with pytest.raises(ValueError, match="1 of the 15 genes that the reference needs are not in"):
            st.tl.ingest(new[:, 1:].copy(), ref)

    def test_given_or_projected_is_the_same(self, fitted_pca):
        ref, new = fitted_pca, newcomers(50)
        new.X += 5
        other = new.copy()
        new.obsm["mine"] = (new.X - ref.X.mean(axis=0)) @ ref.varm["PCs"]
        st.tl.ingest(new, ref, use_rep="mine")
        st.tl.ingest(other, ref)
        np.testing.assert_allclose(new.obsm["X_ddrtree"], other.obsm["X_ddrtree"], atol=1e-5)
        new.obsm["few"] = new.obsm["mine"][:, :3]
        with pytest.raises(ValueError, match=r"adata.obsm\['few'\] has 3 columns, adata_ref.obsm\['X_pca'\] 6; wanted"):
            st.tl.ingest(new, ref, use_rep="few")
        with pytest.raises(KeyError, match=r"use_rep='none' is not in adata.obsm. Available: "):
            st.tl.ingest(new, ref, use_rep="none")

    def test_what_is_not_the_projection_is_refused(self, fitted_pca):
        new = bare(fitted_pca)
        for change in (lambda Z: Z + 1, lambda Z: 2 * Z, lambda Z: Z[:, ::-1]):
            ref = fitted_pca.copy()
            ref.obsm["X_pca"] = np.ascontiguousarray(change(ref.obsm["X_pca"]))
            with pytest.raises(ValueError, match=r"obsm\['X_pca'\] is not what the skeleton 'ddrtree' was fitted on: "):
                st.tl.ingest(new, ref)
        for change in (lambda X: 2 * X, lambda X: X[:, ::-1]):
            ref = fitted_pca.copy()
            ref.X = change(ref.X)
            with pytest.raises(ValueError, match=r"is not what .*'PCs'\] makes of adata_ref.X: of 300 cells"):
                st.tl.ingest(new, ref)
        ref = fitted_pca.copy()
        del ref.varm["PCs"]
        with pytest.raises(ValueError, match=r"adata_ref.varm has no 'PCs', available: \[\]. Wanted use_rep="):
            st.tl.ingest(new, ref)

    def test_axes_that_are_not_finite_are_refused(self, fitted_pca):
        ref, new = fitted_pca.copy(), bare(fitted_pca)
        ref.varm["PCs"] = ref.varm["PCs"].copy()
        ref.varm["PCs"][3, 1:4] = np.nan
        before = snapshot(new)
        with pytest.raises(ValueError, match=r"varm\['PCs'\] has 3 entries that are not finite; wanted .* or use_rep="):
            st.tl.ingest(new, ref)
        same(new, before)

    def test_a_part_of_the_reference_places_cells_as_the_whole_does(self, fitted_pca):
        # the gene means of its cells are not those that were subtracted
        time = fitted_pca.obs["ddrtree_pseudotime"].to_numpy()
        ref = fitted_pca[time > np.median(time)].copy()
        assert np.abs(ref.X.mean(axis=0) - fitted_pca.X.mean(axis=0)).max() > 0.1
        new = newcomers(60)
        new.X = new.X + 5
        known, stream, *_ = same_input(new, ref, "ddrtree", None)
        _, expected, *_ = same_input(new, fitted_pca, "ddrtree", None)
        every = np.arange(60)
        np.testing.assert_allclose(stream.rows(every), expected.rows(every), atol=1e-5)
        np.testing.assert_allclose(known.rows(np.arange(ref.n_obs)), ref.obsm["X_pca"], atol=1e-5)
        with pytest.warns(UserWarning, match="of 60 cells are unlike"):  # those from the other part of the tree
            st.tl.ingest(new, ref)
        assert not new.obs["ddrtree_far"].all()

    def test_another_representation_must_be_named(self):
        ref = cells(150, n_features=12)
        ref.obsm["X_latent"] = ref.X[:, :5].copy()
        st.tl.ddrtree(ref, use_rep="X_latent")
        st.tl.order(ref, root=0)
        new = bare(ref)[:30].copy()
        with pytest.raises(
            ValueError, match=r"fitted on adata_ref.obsm\['X_latent'\], which does not follow .* use_rep="
        ):
            st.tl.ingest(new, ref)
        new.obsm["theirs"] = new.X[:, :5].copy()
        st.tl.ingest(new, ref, use_rep="theirs")
        assert_own_values(new, ref)

    def test_columns_of_tables_are_matched_by_name(self):
        ref = cells(150, n_features=12)
        names = [f"axis{i}" for i in range(5)]
        ref.obsm["latent"] = pd.DataFrame(ref.X[:, :5], index=ref.obs_names, columns=names)
        st.tl.ddrtree(ref, use_rep="latent")
        st.tl.order(ref, root=0)
        new = bare(ref)[:30].copy()
        new.obsm["latent"] = ref[:30].obsm["latent"][names[::-1]].assign(more=1.0)
        st.tl.ingest(new, ref, use_rep="latent")
        assert_own_values(new, ref)
        for nameless in (new.X[:, :5], pd.DataFrame(new.X[:, :5], index=new.obs_names)):  # by their places
            new = bare(ref)[:30].copy()
            new.obsm["latent"] = nameless
            st.tl.ingest(new, ref, use_rep="latent")
            assert_own_values(new, ref)
        new = bare(ref)[:30].copy()
        new.obsm["latent"] = ref[:30].obsm["latent"].rename(columns={"axis3": "axis9"})
        said = r"1 of the 5 columns that the skeleton 'ddrtree' needs are not in adata\.obsm\['latent'\]: 'axis3'"
        refused(new, ValueError, said, lambda: st.tl.ingest(new, ref, use_rep="latent"))


class TestAfterwards:
    def test_it_survives_being_written(self, ref, tmp_path):
        new = newcomers(60)
        st.tl.ingest(new, ref)
        new.write_h5ad(tmp_path / "new.h5ad")
        same(ad.read_h5ad(tmp_path / "new.h5ad"), new)
        ref.write_h5ad(tmp_path / "ref.h5ad")
        again = bare(new)
        st.tl.ingest(again, ad.read_h5ad(tmp_path / "ref.h5ad"))
        np.testing.assert_allclose(again.obsm["X_ddrtree"], new.obsm["X_ddrtree"], atol=1e-10)

    def test_it_can_be_drawn_and_read(self, ref):
        new = newcomers(60)[:, ::-1].copy()
        st.tl.ingest(new, ref)
        st.pl.graph(new, color="ddrtree_far")
        st.pl.dendrogram(new)
        st.pl.progression(new, "stage")
        tables = st.get.trajectory_tables(new)
        equal(tables.milestone_network, st.get.trajectory_tables(ref).milestone_network)
        assert list(tables.progressions["cell_id"]) == list(new.obs_names)
        assert st.get.groups(new, "stage")["n_cells"].sum() == 60
        equal(st.get.graph(new).nodes, st.get.graph(ref).nodes)

    def test_order_and_paths_but_no_pruning(self, ref):
        new = newcomers(60)
        st.tl.ingest(new, ref)
        time = new.obs["ddrtree_pseudotime"].copy()
        st.tl.order(new, root=0)
        np.testing.assert_allclose(new.obs["ddrtree_pseudotime"], time)
        assert "ddrtree_far" in new.obs
        path = st.tl.select_path(new, "T1", "T2")
        assert "ingested" in path.uns["ddrtree"]
        for target in (new, path):
            with pytest.raises(
                ValueError, match="cells were put on the skeleton 'ddrtree' by skeltraj.tl.ingest; wanted"
            ):
                st.tl.prune(target)
            with pytest.raises(ValueError, match="by skeltraj.tl.ingest; wanted those from which it was learned"):
                st.tl.ingest(cells(20, n_features=12), target)
        new.uns["arm"] = ref.uns["ddrtree"]
        with pytest.raises(ValueError, match="by skeltraj.tl.ingest"):
            st.tl.attach(new, branch="arm")

    def test_a_fit_of_that_name_replaces_it_and_is_replaced(self, ref):
        new = newcomers(60)
        fresh = new.copy()
        st.tl.ddrtree(new)
        st.tl.order(new, root=0)
        st.tl.composition(new, "stage", n_permutations=5)
        st.tl.ingest(new, ref)
        same(new, fresh, STORED)
        assert "composition" not in new.uns["ddrtree"]
        st.tl.ddrtree(new)
        assert not {"ddrtree_far", "ddrtree_distance", "ddrtree_likeness"} & set(new.obs)
        assert "ingested" not in new.uns["ddrtree"]

    def test_a_copy_leaves_it_alone_and_shares_nothing(self, ref):
        new = newcomers(60)
        before, kept = snapshot(new), snapshot(ref)
        made = st.tl.ingest(new, ref, copy=True)
        same(new, before)
        made.uns["ddrtree"]["nodes"][:] = 0
        made.uns["ddrtree"]["params"]["sigma"] = -1
        same(ref, kept)
        whole = st.tl.ingest(ref, ref, copy=True)
        assert_own_values(whole, ref)
        assert (whole.obs["ddrtree_likeness"] == 1).all()
        assert not whole.obs["ddrtree_far"].any()


class TestErrors:
    def test_come_before_anything_is_stored(self, ref):
        new = cells(20, n_features=12)
        before, kept = snapshot(new), snapshot(ref)
        for settings, kind, message in [
            (dict(key="other"), KeyError, r"no skeleton is stored as adata.uns\['other'\]"),
            (
                dict(use_rep="X_pca"),
                ValueError,
                "use_rep='X_pca', but the skeleton 'ddrtree' was fitted on adata_ref.X",
            ),
            (dict(quantile=0), ValueError, "quantile=0 is out of range"),
            (dict(quantile=1.5), ValueError, "quantile=1.5 is out of range; wanted a share"),
            (dict(batch_size=0), ValueError, "batch_size=0 is out of range; wanted a whole number from 1 up"),
            (dict(batch_size=2.5), TypeError, "batch_size=2.5 is a float"),
        ]:
            with pytest.raises(kind, match=message):
                st.tl.ingest(new, ref, **settings)
        new.X[3, 4] = np.nan
        before = snapshot(new)
        with pytest.raises(ValueError, match=r"adata.X, rows 0 to 19, holds 1 value\(s\) that are NaN"):
            st.tl.ingest(new, ref)
        same(new, before)
        same(ref, kept)

    def test_of_what_is_given(self, ref):
        new = cells(20, n_features=12)
        with pytest.raises(TypeError, match="adata_ref is a list; wanted an AnnData"):
            st.tl.ingest(new, [])
        with pytest.raises(ValueError, match="adata is adata_ref itself"):
            st.tl.ingest(ref, ref)
        with pytest.raises(ValueError, match="adata is empty: 0 cells"):
            st.tl.ingest(new[:0].copy(), ref)
        new.uns["ddrtree"] = "mine"
        with pytest.raises(ValueError, match=r"would overwrite adata.uns\['ddrtree'\]"):
            st.tl.ingest(new, ref)

    def test_of_the_reference(self, ref):
        new = cells(20, n_features=12)
        path = st.tl.select_path(ref, "T1", "T2")
        with pytest.raises(ValueError, match="was changed by skeltraj.tl.select_path; wanted a tree as fitted"):
            st.tl.ingest(new, path)
        del ref.obs["ddrtree_pseudotime"]
        with pytest.raises(KeyError, match="the cells have not been ordered"):
            st.tl.ingest(new, ref)
        loops = rings(200)
        st.tl.principal_graph(loops, n_nodes=20, key_added="principal_graph")
        with pytest.warns(UserWarning, match="components without the root|No lineage"):
            st.tl.order(loops, root=0, key="principal_graph")
        with pytest.raises(ValueError, match="is of method 'principal_graph', whose .* again; wanted one of"):
            st.tl.ingest(loops.copy(), loops, key="principal_graph")
        kernel = cells(40, n_features=12)
        kernel.obsp["K"] = kernel.X @ kernel.X.T
        st.tl.ddrtree(kernel, kernel="K")
        st.tl.order(kernel, root=0)
        with pytest.raises(ValueError, match=r"fitted on a kernel matrix, adata_ref.obsp\['K'\]"):
            st.tl.ingest(new, kernel)


def test_a_forest_made_by_hand():
    # two lines of nodes and one node alone; hard assignment, so that every cell sits at its node
    nodes = [[0, 0], [1, 0], [2, 0], [0, 9], [1, 9], [9, 9]]
    edges = [[0, 1], [1, 2], [3, 4]]
    ref = by_hand(nodes, edges, np.array(nodes) + np.array([0.0, 0.1]), key="principal_tree", method="principal_tree")
    ref.obsm["X_principal_tree"] = np.array(nodes, dtype=float)
    with pytest.warns(UserWarning, match="components without the root"):
        st.tl.order(ref, root=0, key="principal_tree")
    new = ad.AnnData(np.array([[1.9, 0.5], [0.95, 9.0], [8.0, 9.0]]), var=pd.DataFrame(index=ref.var_names))
    st.tl.ingest(new, ref, key="principal_tree")
    np.testing.assert_allclose(new.obsm["X_principal_tree"], [[2, 0], [1, 9], [9, 9]])
    np.testing.assert_allclose(new.obs["principal_tree_pseudotime"], [2, np.nan, np.nan])
    assert new.obs["principal_tree_component"].tolist() == ref.obs["principal_tree_component"].iloc[[2, 4, 5]].tolist()
    assert new.obs["principal_tree_branch"].isna().tolist() == [False, False, True]
    np.testing.assert_allclose(new.obs["principal_tree_distance"], [np.hypot(0.1, 0.5), 0.05, 1], atol=1e-12)
    assert not new.obs["principal_tree_far"].any()  # the reference's cells lie as far from each other
