"""A tree that is learned from the counts that are tested along it: what is said of it, and `split=`."""

import logging

import anndata as ad
import numpy as np
import pandas as pd
import pytest
import scanpy as sc
from scipy import sparse

import skeltraj as st
from samples import in_halves
from skeltraj.tl._fitting.learn_part import _total_variance
from stored import equal, same, snapshot, written_and_read

pytestmark = pytest.mark.compiled("scanpy.pp.normalize_total fails without compilation")
N, GENES = 240, 50
COUNTS = {"layer": "counts", "split": 2}


def prepare(adata):
    """As the data were prepared."""
    sc.pp.normalize_total(adata, target_sum=500)
    sc.pp.log1p(adata)
    sc.pp.pca(adata, n_comps=8)


@pytest.fixture(scope="module")
def learned():
    """Cells along a line, with a tree that was learned from their principal components."""
    rng = np.random.default_rng(1)
    time = rng.random(N)
    slope = np.where(np.arange(GENES) < 15, rng.choice([-2.5, 2.5], GENES), 0.0)
    mean = rng.uniform(0.7, 1.5, N)[:, None] * np.exp(rng.uniform(0, 2, GENES) + slope * (time[:, None] - 0.5))
    counts = sparse.csr_matrix(rng.negative_binomial(2, 1 / (1 + mean / 2)).astype(np.float32))
    adata = ad.AnnData(counts, obs=pd.DataFrame({"time": time}, index=[f"cell{i}" for i in range(N)]))
    adata.var_names = [f"gene{j}" for j in range(GENES)]
    adata.layers["counts"] = counts.copy()
    prepare(adata)
    st.tl.ddrtree(adata, n_starts=1)
    st.tl.order(adata, root={"time": "min"})
    return adata


@pytest.fixture
def adata(learned):
    return learned.copy()


def test_without_a_remedy_the_result_is_exploratory_and_says_so(adata, caplog):
    with caplog.at_level(logging.WARNING, logger="skeltraj"):
        st.tl.association(adata, layer="counts")
    assert "ddrtree was learned from the genes that were tested along it" in caplog.text
    assert bool(adata.uns["ddrtree"]["association"]["exploratory"])
    assert st.get.association(adata).attrs["exploratory"] is True
    assert "naive_p_value" not in adata.varm["ddrtree_association"]


def test_a_test_between_places_says_so_too(adata, caplog):
    end = "T1" if "T1" in adata.obsm["ddrtree_lineages"] else "T2"
    with caplog.at_level(logging.WARNING, logger="skeltraj"):
        st.tl.branch_test(adata, between=("root", end), layer="counts")
    assert "p-values are too small, and stored as exploratory.\n" in caplog.text
    (record,) = adata.uns["ddrtree"]["branch_test"].values()
    assert bool(record["exploratory"])


@pytest.mark.parametrize("rep", ["protein", "X_ddrtree"])
def test_a_tree_of_something_else_is_given(adata, caplog, rep):
    """Of proteins, say; or its own coordinates, where it was stored by hand."""
    adata.obsm["protein"] = adata.obsm["X_pca"]
    adata.uns["ddrtree"]["params"]["use_rep"] = rep
    st.tl.association(adata, layer="counts")
    assert st.get.association(adata).attrs["exploratory"] is False
    assert caplog.text == ""


def test_split_stores_what_core_finds(adata, caplog):
    st.tl.association(adata, layer="counts")
    naive = adata.varm["ddrtree_association"].copy()
    caplog.clear()
    before = snapshot(adata)
    assert st.tl.association(adata, **COUNTS, rng=4) is None
    assert caplog.text == ""
    table, record = adata.varm["ddrtree_association"], adata.uns["ddrtree"]["association"]
    del adata.varm["ddrtree_association"], before.varm["ddrtree_association"]
    del adata.uns["ddrtree"]["association"], before.uns["ddrtree"]["association"]
    same(adata, before)
    assert record["n_splits"] == 2
    assert not record["exploratory"]
    assert list(table) == [*naive, "naive_p_value"]
    replaced = ["score", "p_value", "q_value"]
    pd.testing.assert_frame_equal(table.drop(columns=[*replaced, "naive_p_value"]), naive.drop(columns=replaced))
    np.testing.assert_array_equal(table["naive_p_value"], naive["p_value"])

    from skeltraj.tl._fitting.learn_part import PartLearner

    graph, position = st.get.graph(adata), st.core.locate(st.get.graph(adata), np.asarray(adata.obsm["X_ddrtree"]))
    total = np.asarray(adata.layers["counts"].sum(axis=1)).ravel().astype(float)
    raw = st.core.split_association(
        adata.layers["counts"],
        st.core.tree_basis(graph, position),
        position,
        PartLearner(adata, "ddrtree", "counts", None),
        n_splits=2,
        size_factors=total / np.median(total),
        rng=4,
    )
    np.testing.assert_allclose(table["p_value"], raw.p_value, rtol=1e-6)
    np.testing.assert_allclose(table["score"], raw.score, rtol=1e-6)


@pytest.mark.parametrize("what", ["counts", "X"])
def test_several_entries_at_a_place_count_as_their_sum(adata, what):
    st.tl.association(adata, **COUNTS)
    wanted = adata.varm["ddrtree_association"]
    if what == "counts":
        adata.layers["counts"] = in_halves(adata.layers["counts"])
    else:  # by which it is found how the components were made
        adata.X = in_halves(adata.X)
    st.tl.association(adata, **COUNTS)
    pd.testing.assert_frame_equal(adata.varm["ddrtree_association"], wanted, rtol=1e-5)


def test_any_order_of_the_cells_gives_the_same_splits(adata):
    """But for what rounding does to the principal components."""
    other = adata[np.random.default_rng(0).permutation(N)].copy()
    for cells in (adata, other):
        st.tl.association(cells, **COUNTS)
    one, two = (cells.varm["ddrtree_association"] for cells in (adata, other))
    np.testing.assert_allclose(two["p_value"], one["p_value"], rtol=1e-4)
    np.testing.assert_allclose(two["score"], one["score"], rtol=1e-4)


def test_a_remedy_is_named_where_there_are_counts(adata, caplog):
    st.tl.association(adata, layer="counts")
    assert "split=5" in caplog.text
    caplog.clear()
    st.tl.association(adata, family="gaussian")
    assert "stored as exploratory" in caplog.text
    assert "split=5" not in caplog.text


def test_the_remedy_that_is_named_is_one_that_is_taken(adata, caplog):
    path = st.tl.select_path(adata, "root", adata.obsm["ddrtree_lineages"].columns[0])
    with pytest.raises(ValueError, match="changed by skeltraj.tl.select_path"):
        st.tl.association(path, layer="counts", split=1)
    st.tl.association(path, layer="counts")
    assert "stored as exploratory." in caplog.text
    assert "split=5" not in caplog.text
    caplog.clear()
    adata.obsm["X_corrected"] = adata.obsm["X_pca"].copy()
    st.tl.ddrtree(adata, use_rep="X_corrected", n_starts=1)
    st.tl.order(adata, root={"time": "min"})
    with pytest.raises(ValueError, match="wanted prepare="):
        st.tl.association(adata, layer="counts", split=1)
    st.tl.association(adata, layer="counts")
    assert "split=5, with prepare= for a function that makes the input of the fit, tests counts that" in caplog.text


def test_finds_the_genes_that_change_and_not_the_others(adata):
    st.tl.association(adata, layer="counts", split=3)
    table = adata.varm["ddrtree_association"]
    assert (table["q_value"][:15] < 0.05).mean() > 0.8
    assert (table["p_value"][15:] < 0.05).mean() < 0.15


def test_the_recipe_that_is_found_is_that_of_scanpy(adata):
    """A user's function that does the same gives the same tree, whether in place, in AnnData, or as a matrix."""
    from skeltraj.tl._fitting.learn_part import PartLearner

    part, _ = st.core.thin_counts(adata.layers["counts"], 0.5, rng=1)

    def copied(given):
        made = given.copy()
        prepare(made)
        return made

    ways = (None, prepare, copied, lambda given: copied(given).obsm["X_pca"])
    graphs = [PartLearner(adata, "ddrtree", "counts", way)(part) for way in ways]
    first, position = graphs[0]
    for graph, other in graphs[1:]:
        assert graph.n_nodes == first.n_nodes
        np.testing.assert_allclose(graph.edge_length.sum(), first.edge_length.sum(), rtol=1e-3)
        time, again = (at.distances_from(of, int(of.tips[0])) for at, of in ((position, first), (other, graph)))
        assert abs(np.corrcoef(time, again)[0, 1]) > 0.999


def test_the_function_gets_part_of_the_counts_and_all_that_the_cells_have(adata):
    seen = []

    def look(given):
        seen.append(given.copy())
        prepare(given)

    st.tl.association(adata, **COUNTS, prepare=look)
    assert len(seen) == 3
    for given in seen:
        equal(given.obs["time"], adata.obs["time"])
        assert given.var_names.equals(adata.var_names)
        equal(given.X, given.layers["counts"])
        share = given.X.sum() / adata.layers["counts"].sum()
        assert 0.45 < share < 0.55


@pytest.mark.filterwarnings("ignore:No cell lies on a stretch")
@pytest.mark.parametrize("source", ["X", "lognorm", "counts"])
@pytest.mark.filterwarnings("ignore:.*looks like raw counts")
def test_trees_of_genes_themselves(adata, source):
    """Fitted on `X`, a layer of logarithms, or the counts; genes in another order since."""
    adata.layers["lognorm"] = adata.X
    where = {"use_rep": "X"} if source == "X" else {"layer": source}
    # noise as it is: in raw counts it grows with expression, so the line itself would be drawn together
    st.tl.ddrtree(adata, n_starts=1, denoise={"equalize": False}, **where)
    st.tl.order(adata, root={"time": "min"})
    adata = adata[:, ::-1].copy()
    st.tl.association(adata, **COUNTS)
    table = adata.varm["ddrtree_association"]
    assert (table.loc[[f"gene{j}" for j in range(15)], "q_value"] < 0.05).mean() > 0.6


def test_principal_tree_some_genes_and_covariates(adata):
    adata.obs["batch"] = np.where(np.arange(N) % 2, "a", "b")
    st.tl.principal_tree(adata, key_added="ppt", n_starts=1)
    st.tl.order(adata, root={"time": "min"}, key="ppt")
    st.tl.association(adata, **COUNTS, key="ppt", genes=["gene2", "gene40"], covariates="batch")
    table = adata.varm["ppt_association"]
    assert table["p_value"].notna().sum() == table["naive_p_value"].notna().sum() == 2
    assert table.loc["gene2", "p_value"] < 0.01


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_survives_a_file(adata, kind, tmp_path):
    st.tl.association(adata, **COUNTS)
    again = written_and_read(adata, kind, tmp_path)
    pd.testing.assert_frame_equal(
        st.get.association(again), st.get.association(adata), check_dtype=False, check_column_type=False
    )
    assert st.get.association(again).attrs["exploratory"] is False


def integrated(adata):
    adata.obsm["X_pca"] = adata.obsm["X_pca"] * np.linspace(1, 2, 8)
    st.tl.ddrtree(adata, n_starts=1)
    st.tl.order(adata, root=0)


def scaled(adata):
    sc.pp.scale(adata, zero_center=False)
    sc.pp.pca(adata, n_comps=8)
    st.tl.ddrtree(adata, n_starts=1)
    st.tl.order(adata, root=0)


def embedded(adata):
    adata.obsm["X_own"] = adata.obsm["X_pca"]
    st.tl.ddrtree(adata, n_starts=1, use_rep="X_own")
    st.tl.order(adata, root=0)


def changed(adata):
    adata.obsm["X_pca"] = adata.obsm["X_pca"][:, ::-1] + 1


def without_x(adata):
    adata.X = None


def left_to_dask(adata):
    adata.X = pytest.importorskip("dask.array").from_array(adata.X.toarray(), chunks=(100, GENES))


def attached(adata):
    adata.uns["ddrtree"]["attached"] = pd.DataFrame()


@pytest.mark.parametrize(
    ("change", "more", "error", "words"),
    [
        (None, {"split": 0}, ValueError, "split=0 is out of range; wanted a whole number from 1 up"),
        (None, {"split": 2.5}, TypeError, "split=2.5 is a float"),
        (None, {"split": None, "prepare": prepare}, ValueError, "prepare= was given without split="),
        (None, {"prepare": "pca"}, TypeError, "prepare='pca' is a str; wanted a function that takes AnnData"),
        (None, {"layer": None, "family": "gaussian"}, ValueError, "adata.X is not tested as counts"),
        (None, {"layer": None, "columns": ["time"]}, ValueError, "split= was given with columns="),
        (
            None,
            {"prepare": lambda a: a[:-1].copy()},
            ValueError,
            f"prepare gave {N - 1} cells; wanted the {N}",
        ),
        (None, {"prepare": lambda a: None}, KeyError, r"use_rep='X_pca' is not in adata.obsm. Available: \[\]"),
        (
            None,
            {"prepare": lambda a: a.to_df()[::-1]},
            ValueError,
            f"prepare gave {N} cells, with other names or in another order; wanted the {N}",
        ),
        (None, {"prepare": lambda a: "done"}, TypeError, "prepare gave a str"),
        (None, {"prepare": lambda a: np.ones((N, 3))}, ValueError, "the same for all cells"),
        (None, {"prepare": lambda a: np.full((N, 3), np.nan)}, ValueError, "holds NaN or infinite values"),
        (integrated, {}, ValueError, r"adata.obsm\['X_pca'\] is not what adata.varm\['PCs'\] makes of adata.X"),
        (scaled, {}, ValueError, r"adata.X is neither adata.layers\['counts'\] divided by the cells' totals"),
        (embedded, {}, ValueError, r"fitted on adata.obsm\['X_own'\], and how that was made of"),
        (changed, {}, ValueError, r"adata.obsm\['X_pca'\] is not what the skeleton 'ddrtree' was fitted on"),
        (without_x, {}, ValueError, r"adata.X is None, so how adata.obsm\['X_pca'\] was made of .*; wanted prepare="),
        (left_to_dask, {}, TypeError, r"split= with adata.X, a Array, of which the input of the fit was made; wanted"),
        (attached, {}, ValueError, "was changed by skeltraj.tl.attach; wanted a tree as fitted"),
    ],
)
def test_what_is_refused_leaves_adata_as_it_was(adata, change, more, error, words):
    if change is not None:
        change(adata)
    before = snapshot(adata)
    with pytest.raises(error, match=words):
        st.tl.association(adata, **COUNTS | more)
    same(adata, before)


def test_an_interrupt_leaves_adata_as_it_was(adata):
    calls = []

    def interrupted(given):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        prepare(given)

    before = snapshot(adata)
    with pytest.raises(KeyboardInterrupt):
        st.tl.association(adata, **COUNTS, prepare=interrupted)
    same(adata, before)


def test_copy(adata):
    before = snapshot(adata)
    copy = st.tl.association(adata, **COUNTS, copy=True)
    same(adata, before)
    assert "naive_p_value" in copy.varm["ddrtree_association"]


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float32])
def test_variances_of_any_type_and_offset(kind):
    counts = np.random.default_rng(0).poisson(10, (50, 4)) + 100
    wanted = counts.var(axis=0).sum()
    for X in (counts.astype(kind), sparse.csr_matrix(counts.astype(kind)), sparse.csc_matrix(counts.astype(kind))):
        np.testing.assert_allclose(_total_variance(X), wanted, rtol=1e-9)
    far = np.random.default_rng(1).normal(size=(50, 3))
    np.testing.assert_allclose(_total_variance(far + 1e8), far.var(axis=0).sum(), rtol=1e-6)
