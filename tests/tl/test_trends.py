"""Curves of genes stored in AnnData: what core fits, in compact form; errors, slicing, files, other orders."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import skeltraj as st
from genes_on_trees import cells_with_genes
from samples import rings
from stored import equal, refused, same, snapshot, written_and_read

pytestmark = pytest.mark.filterwarnings("ignore:1 of . genes have the same value")


@pytest.fixture(scope="module")
def _cells():
    return cells_with_genes()


@pytest.fixture
def adata(_cells):
    return _cells.copy()


def of_core(adata, **options):
    graph = st.get.graph(adata)
    position = st.core.locate(graph, adata.obsm["X_ddrtree"])
    factors = adata.obs["ddrtree_size_factor"].to_numpy(dtype=float)
    used = factors > 0  # cells without counts are left out
    basis = st.core.tree_basis(graph, position.part(used))
    return st.core.trends(adata.X, basis, position, 0, size_factors=factors, used=used, **options)


def test_arrays_hold_what_core_fits_and_nothing_else_changes(adata):
    before = snapshot(adata)
    with pytest.warns(UserWarning, match="1 of 5 genes have the same value in all .* cells used .* and have no curve"):
        assert st.tl.trends(adata) is None
    more = {"obs": {"ddrtree_size_factor"}, "varm": {"ddrtree_trends", "ddrtree_trends_se"}}
    before.uns["ddrtree"]["trends"] = adata.uns["ddrtree"]["trends"]
    same(adata, before, more)
    total = adata.X.sum(axis=1)
    np.testing.assert_allclose(adata.obs["ddrtree_size_factor"], total / np.median(total[total > 0]), rtol=1e-6)
    raw = of_core(adata)
    for key, values in (("ddrtree_trends", raw.curve), ("ddrtree_trends_se", raw.error)):
        assert adata.varm[key].dtype == np.float32
        np.testing.assert_allclose(adata.varm[key], values, rtol=1e-4, atol=1e-5)
    assert np.isnan(adata.varm["ddrtree_trends"][4]).all()
    record = adata.uns["ddrtree"]["trends"]
    assert set(record) == {
        "made_of",
        "places", "family", "use_rep", "size_factors", "covariates", "n_cells", "n_genes", "n_constant", "knots",
        "version",
    }  # fmt: skip
    assert (record["family"], record["use_rep"], record["size_factors"]) == ("negative_binomial", "X", "auto")
    assert (record["n_cells"], record["n_genes"], record["n_constant"]) == ((total > 0).sum(), 5, 1)
    places = record["places"]
    assert list(places.columns) == ["branch", "along", "pseudotime", "support", "n_cells", "T2", "T3"]
    np.testing.assert_array_equal(places["n_cells"], raw.n_points)
    np.testing.assert_allclose(places["support"], raw.support)
    np.testing.assert_array_equal(places[["T2", "T3"]], raw.lineage)
    assert places["n_cells"].sum() == (total > 0).sum()
    assert set(places["branch"][places["T2"]]) == {"B1", "B2"}


def test_some_genes_of_a_layer_with_covariates(adata):
    rng = np.random.default_rng(0)
    adata.obs["batch"] = rng.choice(["a", "b"], 400)
    adata.obs.loc[adata.obs_names[:7], "batch"] = None
    adata.layers["logs"] = np.log1p(adata.X)
    st.tl.trends(adata, ["own", "rise"], layer="logs", covariates="batch")
    record = adata.uns["ddrtree"]["trends"]
    assert (record["family"], record["layer"], record["n_cells"]) == ("gaussian", "logs", 393)
    assert list(record["covariates"]) == ["batch=b"]
    assert "ddrtree_size_factor" not in adata.obs
    fitted = np.isfinite(adata.varm["ddrtree_trends"]).all(axis=1)
    np.testing.assert_array_equal(fitted, [True, False, True, False, False])
    used = np.arange(400) >= 7
    graph = st.get.graph(adata)
    position = st.core.locate(graph, adata.obsm["X_ddrtree"])
    basis = st.core.tree_basis(graph, position.part(used))
    batch = (adata.obs["batch"] == "b").to_numpy(dtype=float)[:, None]
    options = dict(family="gaussian", covariates=batch, used=used)
    raw = st.core.trends(adata.layers["logs"][:, [0, 2]], basis, position, 0, **options)
    np.testing.assert_allclose(adata.varm["ddrtree_trends"][[0, 2]], raw.curve, rtol=1e-5, atol=1e-6)


def test_dispersions_are_those_of_association_if_it_read_the_same(adata):
    st.tl.trends(adata, ["rise"])
    alone = adata.varm["ddrtree_trends_se"][0].copy()
    st.tl.association(adata)
    adata.varm["ddrtree_association"]["dispersion"] *= 3
    st.tl.trends(adata, ["rise"])
    given = adata.varm["ddrtree_association"]["dispersion"].to_numpy()
    raw = of_core(adata, dispersion=given)
    np.testing.assert_allclose(adata.varm["ddrtree_trends_se"][0], raw.error[0], rtol=1e-4)
    assert (raw.error[0] > 1.05 * alone).all()
    # genes that were not tested have none
    st.tl.association(adata, genes=["fall"])
    st.tl.trends(adata, ["rise"])
    np.testing.assert_allclose(adata.varm["ddrtree_trends_se"][0], alone, rtol=1e-6)


def test_dispersions_of_other_counts_are_estimated_anew(adata):
    """Of counts that changed since, and of some of the cells."""
    st.tl.association(adata)
    wrong = adata.varm["ddrtree_association"]["dispersion"] * 3
    for change in (lambda cells: setattr(cells, "X", 2 * cells.X), lambda cells: cells[::2].copy()):
        cells = adata.copy()
        cells = change(cells) or cells
        fresh = cells.copy()
        del fresh.varm["ddrtree_association"], fresh.uns["ddrtree"]["association"]
        cells.varm["ddrtree_association"]["dispersion"] = wrong
        st.tl.trends(cells, ["rise"])
        st.tl.trends(fresh, ["rise"])
        np.testing.assert_array_equal(cells.varm["ddrtree_trends_se"][0], fresh.varm["ddrtree_trends_se"][0])


def test_sparse_and_backed_counts_and_a_copy(adata, tmp_path):
    copied = st.tl.trends(adata, copy=True)
    assert "ddrtree_trends" not in adata.varm
    adata.X = sparse.csr_matrix(adata.X)
    adata.write_h5ad(tmp_path / "a.h5ad")
    st.tl.trends(adata)
    np.testing.assert_allclose(adata.varm["ddrtree_trends"], copied.varm["ddrtree_trends"], rtol=1e-6)
    import anndata as ad

    backed = ad.read_h5ad(tmp_path / "a.h5ad", backed="r")
    st.tl.trends(backed)
    np.testing.assert_allclose(backed.varm["ddrtree_trends"], copied.varm["ddrtree_trends"], rtol=1e-6)
    backed.file.close()


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_files_and_slices_keep_them(adata, kind, tmp_path):
    st.tl.trends(adata)
    st.tl.cluster_trends(adata, 2)
    table = st.get.trends(adata)
    back = written_and_read(adata, kind, tmp_path)
    for slot in ("varm", "uns", "var", "obs"):
        equal(dict(getattr(back, slot)), dict(getattr(adata, slot)))
    pd.testing.assert_frame_equal(st.get.trends(back), table, check_dtype=False)
    part = adata[::2, ["own", "rise"]].copy()
    some = st.get.trends(part)
    assert list(dict.fromkeys(some["gene"])) == ["own", "rise"]
    wanted = table[table["gene"] == "own"].reset_index(drop=True)
    pd.testing.assert_frame_equal(some[some["gene"] == "own"].reset_index(drop=True), wanted)
    assert list(part.var["ddrtree_trend_cluster"]) == list(adata.var["ddrtree_trend_cluster"][["own", "rise"]])


def test_another_order_removes_them_and_another_fit_of_curves_the_groups(adata):
    before = snapshot(adata)
    st.tl.trends(adata)
    st.tl.cluster_trends(adata, 2)
    st.tl.trends(adata)
    assert "ddrtree_trend_cluster" not in adata.var
    assert "clusters" not in adata.uns["ddrtree"]["trends"]
    st.tl.cluster_trends(adata, 2)
    st.tl.order(adata, root=0)
    same(adata, before)
    with pytest.raises(KeyError, match=r"adata.varm has no 'ddrtree_trends'.*Run skeltraj.tl.trends\(adata, key='ddrt"):
        st.get.trends(adata)


def test_a_ring_has_one_line_of_places():
    adata = rings(200)[:100].copy()
    st.tl.principal_graph(adata, use_rep="X", n_nodes=12)
    with pytest.warns(UserWarning, match="lineage"):
        st.tl.order(adata, root=0, key="principal_graph")
    st.tl.trends(adata, family="gaussian", key="principal_graph")
    table = st.get.trends(adata, key="principal_graph")
    if not len(st.get.graph(adata, "principal_graph").tips):
        assert set(table["lineage"]) == {"all"}
    assert np.isfinite(table["mean"]).all()


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"genes": ["rise", "nobody"]}, KeyError, "genes: 'nobody' is neither in adata.var_names"),
        ({"layer": "counts"}, KeyError, "layer='counts'"),
        ({"family": "poisson"}, ValueError, "family='poisson' is not known"),
        ({"covariates": "batch"}, KeyError, "covariates: 'batch' is not in adata.obs"),
        ({"n_knots": 1}, ValueError, "n_knots=1 is out of range"),
        ({"key": "other"}, KeyError, "other"),
    ],
)
def test_errors_come_before_anything_is_stored(adata, options, kind, message):
    refused(adata, kind, message, lambda: st.tl.trends(adata, **options))


def test_fractions_are_no_counts(adata):
    adata.X[3, 1] = 0.5
    refused(
        adata, ValueError, "'fall' holds 0.5; wanted counts", lambda: st.tl.trends(adata, family="negative_binomial")
    )
