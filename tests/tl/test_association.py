"""Genes and columns that change along a tree, stored in AnnData: keys, choices, what is left out, errors."""

from __future__ import annotations

import warnings

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import skeltraj as st
from samples import by_hand, in_halves, rings, swapped
from stored import equal, refused, same, snapshot, written_and_read
from tested_genes import GENES, cells_on_two_forks
from two_forks import TWO_FORKS

pytestmark = pytest.mark.filterwarnings("ignore:1 of . genes have the same value")
ZERO = "1 of 8 genes have the same value in all 400 cells used .* and have no p-value"
COLUMNS = [
    "score", "p_value", "q_value", "change", "peak_branch", "peak_pseudotime", "deviance_explained", "mean", "n_cells",
    "dispersion", "change_T2", "change_T3", "change_T4",
    *(f"{name}_B{i}" for i in range(1, 6) for name in ("change", "sign")),
]  # fmt: skip


@pytest.fixture(scope="module")
def cells():
    return cells_on_two_forks()


@pytest.fixture
def adata(cells):
    return cells.copy()


def basis_of(adata, used=slice(None), n_knots="auto"):
    graph = st.get.graph(adata)
    position = st.core.locate(graph, adata.obsm["X_ddrtree"])
    return st.core.tree_basis(graph, position.part(used), n_knots), position


def test_the_table_holds_what_core_finds(adata):
    with pytest.warns(UserWarning, match=ZERO):
        assert st.tl.association(adata) is None
    table = adata.varm["ddrtree_association"]
    assert set(table.columns) == set(COLUMNS)
    assert list(table.index) == GENES
    basis, position = basis_of(adata)
    total = adata.X.sum(axis=1).astype(float)
    raw = st.core.association(adata.X, basis, position, 0, size_factors=total / np.median(total))
    for name in ("score", "p_value", "change", "peak_pseudotime", "deviance_explained", "mean"):
        np.testing.assert_array_equal(table[name], getattr(raw, name))
    np.testing.assert_array_equal(table["n_cells"], (adata.X > 0).sum(axis=0))
    np.testing.assert_array_equal(table["dispersion"], raw.dispersions.final)
    np.testing.assert_array_equal(table[["change_T2", "change_T3", "change_T4"]], raw.change_to_tip)
    np.testing.assert_array_equal(table[[f"change_B{i}" for i in range(1, 6)]], raw.change_over_branch)
    np.testing.assert_array_equal(table[[f"sign_B{i}" for i in range(1, 6)]], raw.sign)
    assert list(table["peak_branch"].cat.categories) == [f"B{i}" for i in range(1, 6)]
    np.testing.assert_array_equal(table["peak_branch"].cat.codes, raw.peak_branch)
    # what it says of these genes; of eight genes the cells' totals are not their size
    st.tl.association(adata, size_factors="factor")
    table = adata.varm["ddrtree_association"]
    assert table.loc[["rise", "arm", "late"], "q_value"].max() < 0.01
    assert table.loc["flat0":"flat3", "p_value"].min() > 0.001
    assert table.loc["rise", "change"] > 0
    assert table.loc["arm", "sign_B2"] == -1
    assert table.loc["late", "peak_branch"] == "B4"
    assert table.loc["zero"].drop(["peak_branch"]).astype(float).isna().sum() >= 10
    assert (table.loc["zero", "n_cells"], table.loc["zero", "sign_B1"]) == (0, 0)
    p = table["p_value"].dropna().sort_values()
    np.testing.assert_allclose(
        table.loc[p.index, "q_value"], np.minimum.accumulate((p * 7 / np.arange(1, 8))[::-1])[::-1].clip(upper=1)
    )


def test_exactly_the_documented_keys(adata):
    before = snapshot(adata)
    st.tl.association(adata)
    record = adata.uns["ddrtree"].pop("association")
    same(adata, before, {"varm": {"ddrtree_association"}})
    assert set(record) == {
        "made_of",
        "family", "use_rep", "size_factors", "covariates", "n_cells", "n_genes", "n_constant", "knots", "degrees",
        "version", "exploratory", "digest",
    }  # fmt: skip
    assert (record["family"], record["use_rep"], record["size_factors"]) == ("negative_binomial", "X", "auto")
    assert (record["n_cells"], record["n_genes"], record["n_constant"]) == (400, 8, 1)
    assert len(record["covariates"]) == 0
    basis, _ = basis_of(adata)
    assert record["degrees"] == basis.n_columns - 1
    np.testing.assert_array_equal(record["knots"]["along"], np.concatenate([s.knots for s in basis.splines]))
    assert list(record["knots"]["branch"].cat.categories) == [f"B{i}" for i in range(1, 6)]


def test_copies_and_keys_do_not_touch_one_another(adata):
    before = snapshot(adata)
    new = st.tl.association(adata, copy=True)
    same(adata, before)
    assert "ddrtree_association" in new.varm
    st.tl.association(adata)
    first = adata.varm["ddrtree_association"].copy()
    other = by_hand(TWO_FORKS.nodes, TWO_FORKS.edges, adata.obsm["X_ddrtree"], key="other")
    adata.obsm.update(other.obsm)
    adata.uns.update(other.uns)
    st.tl.order(adata, root=4, key="other")
    st.tl.association(adata, key="other")
    equal(adata.varm["ddrtree_association"], first)
    np.testing.assert_allclose(adata.varm["other_association"]["p_value"], first["p_value"])
    assert adata.varm["other_association"].loc["arm", "sign_B2"] == 1


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_everything_survives_writing(adata, tmp_path, kind):
    st.tl.association(adata, covariates="batch")
    st.tl.association(adata, columns=["score", "grade"])
    back = written_and_read(adata, kind, tmp_path)
    equal(adata.varm["ddrtree_association"], back.varm["ddrtree_association"])
    for name in ("association", "column_association"):
        equal(adata.uns["ddrtree"][name], back.uns["ddrtree"][name])
    equal(st.get.association(adata), st.get.association(back))
    equal(st.get.association(adata, columns=True), st.get.association(back, columns=True))
    st.tl.association(back)


def test_slices_of_genes_and_a_new_order(adata):
    st.tl.association(adata)
    part = adata[:, ["late", "flat1"]].copy()
    sliced, whole = part.varm["ddrtree_association"], adata.varm["ddrtree_association"].loc[["late", "flat1"]]
    assert list(sliced["peak_branch"]) == list(whole["peak_branch"])  # AnnData drops categories that are not there
    equal(sliced.drop(columns="peak_branch"), whole.drop(columns="peak_branch"))
    st.tl.order(adata, root=4)
    assert "ddrtree_association" not in adata.varm
    assert "association" not in adata.uns["ddrtree"]
    with pytest.raises(KeyError, match=r"Run skeltraj.tl.association\(adata, key='ddrtree'\) first"):
        st.get.association(adata)


@pytest.mark.parametrize(
    "genes",
    [
        ["late", "rise", "flat0"],
        "chosen",
        np.isin(GENES, ["rise", "late", "flat0"]),
        pd.Index(["flat0", "rise", "late"]),
    ],
)
def test_some_genes(adata, genes):
    """Those that are not tested are missing; size factors are those of all genes."""
    st.tl.association(adata, genes=genes)
    table = adata.varm["ddrtree_association"]
    tested = table["p_value"].notna()
    assert list(table.index[tested]) == ["rise", "late", "flat0"]
    assert adata.uns["ddrtree"]["association"]["n_genes"] == 3
    assert table.loc[~tested, "peak_branch"].isna().all()
    assert table.loc[~tested, ["score", "change", "dispersion"]].isna().all(axis=None)
    assert (table.loc[~tested, ["n_cells", "sign_B1"]] == 0).all(axis=None)
    assert table["n_cells"].dtype.kind == "i"
    basis, position = basis_of(adata)
    total = adata.X.sum(axis=1).astype(float)
    raw = st.core.association(adata.X[:, tested], basis, position, 0, size_factors=total / np.median(total))
    np.testing.assert_array_equal(table.loc[tested, "p_value"], raw.p_value)
    np.testing.assert_array_equal(table.loc[tested, "sign_B2"], raw.sign[:, 1])
    st.tl.association(adata, genes="late")  # one by its name
    assert adata.varm["ddrtree_association"]["p_value"].notna().sum() == 1


def test_size_factors(adata):
    results = {}
    for chosen in ("auto", "factor", None):
        st.tl.association(adata, size_factors=chosen)
        results[chosen] = adata.varm["ddrtree_association"]["p_value"].to_numpy()
        record = adata.uns["ddrtree"]["association"]["size_factors"]
        assert record == ("none" if chosen is None else chosen)
    basis, position = basis_of(adata)
    raw = st.core.association(adata.X, basis, position, 0, size_factors=adata.obs["factor"].to_numpy())
    np.testing.assert_array_equal(results["factor"], raw.p_value)
    raw = st.core.association(adata.X, basis, position, 0)
    np.testing.assert_array_equal(results[None], raw.p_value)
    # cells without counts, or without a size factor, are left out
    adata.X[:7] = 0
    st.tl.association(adata)
    assert adata.uns["ddrtree"]["association"]["n_cells"] == 393
    adata.obs.loc[adata.obs_names[10:15], "factor"] = [0, np.nan, np.nan, np.nan, np.nan]
    st.tl.association(adata, size_factors="factor")
    assert adata.uns["ddrtree"]["association"]["n_cells"] == 395


def test_families(adata):
    counts = adata.X.copy()
    adata.layers["logs"] = np.log1p(counts)
    st.tl.association(adata, layer="logs")
    record = adata.uns["ddrtree"]["association"]
    assert (record["family"], record["layer"]) == ("gaussian", "logs")
    assert not {"size_factors", "use_rep"} & set(record)
    assert "dispersion" not in adata.varm["ddrtree_association"]
    basis, position = basis_of(adata)
    raw = st.core.association(np.log1p(counts), basis, position, 0, family="gaussian")
    np.testing.assert_array_equal(adata.varm["ddrtree_association"]["p_value"], raw.p_value)
    st.tl.association(adata, family="gaussian")  # counts as numbers, if one wants to
    assert adata.uns["ddrtree"]["association"]["family"] == "gaussian"
    # X holds no counts, and a layer does
    adata.layers["counts"], adata.X = counts, np.log1p(counts)
    words = r"adata.X does not hold counts.*There is adata.layers\['counts'\]: pass layer='counts'"
    with pytest.warns(UserWarning, match=words):
        st.tl.association(adata)
    st.tl.association(adata, layer="counts")
    assert adata.uns["ddrtree"]["association"]["family"] == "negative_binomial"
    for wrong in (np.nan, -1.0, 0.5):  # one entry makes them no counts
        adata.layers["counts"] = counts.astype(float)
        adata.layers["counts"][0, 0] = wrong
        with pytest.warns(
            UserWarning, match=r"adata.layers\['counts'\] holds entries that are not counts .* Round them"
        ):
            st.tl.association(adata, layer="counts")
        assert adata.uns["ddrtree"]["association"]["family"] == "gaussian"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "1 of 8 genes")
        st.tl.association(adata, family="gaussian")
        adata.layers["whole"] = counts.astype(np.uint8)
        st.tl.association(adata, layer="whole")


@pytest.mark.parametrize("kind", ["csr", "csc", "halves", "halves, by columns", "swapped", "dask", "backed"])
def test_any_kind_of_matrix_gives_the_same(adata, kind, tmp_path):
    st.tl.association(adata, genes=["rise", "flat0", "flat1"])
    wanted = adata.varm["ddrtree_association"]
    if kind == "backed":
        adata.X = sparse.csr_matrix(adata.X)
        adata.write_h5ad(tmp_path / "a.h5ad")
        adata = ad.read_h5ad(tmp_path / "a.h5ad", backed="r")
    elif kind == "dask":
        adata.X = pytest.importorskip("dask.array").from_array(adata.X, chunks=(90, 8))
    elif kind.startswith("halves"):
        adata.X = in_halves(adata.X, sparse.csc_matrix if "columns" in kind else sparse.csr_matrix)
    elif kind == "swapped":
        adata.X = swapped(sparse.csr_matrix(adata.X))
    else:
        adata.X = sparse.csr_matrix(adata.X) if kind == "csr" else sparse.csc_matrix(adata.X)
    given = adata.X.data.copy() if sparse.issparse(adata.X) else None
    st.tl.association(adata, genes=["rise", "flat0", "flat1"])
    equal(adata.varm["ddrtree_association"], wanted)
    if given is not None:
        assert adata.X.data.dtype == given.dtype
        np.testing.assert_array_equal(adata.X.data, given)


def test_covariates(adata):
    """Categories as columns without the first; cells without a value are left out."""
    st.tl.association(adata, covariates=["batch", "score"])
    assert adata.uns["ddrtree"]["association"]["covariates"].tolist() == ["batch=b", "batch=c", "score"]
    basis, position = basis_of(adata)
    total = adata.X.sum(axis=1).astype(float)
    C = np.column_stack([adata.obs["batch"] == "b", adata.obs["batch"] == "c", adata.obs["score"]]).astype(float)
    raw = st.core.association(adata.X, basis, position, 0, size_factors=total / np.median(total), covariates=C)
    np.testing.assert_array_equal(adata.varm["ddrtree_association"]["p_value"], raw.p_value)
    adata.obs.loc[adata.obs_names[:30], "batch"] = np.nan
    adata.obs["ok"] = np.arange(400) % 2 == 0
    st.tl.association(adata, covariates=["batch", "ok"])
    record = adata.uns["ddrtree"]["association"]
    assert record["n_cells"] == 370
    assert record["covariates"].tolist() == ["batch=b", "batch=c", "ok"]


def test_cells_without_a_place_are_left_out(adata):
    adata.obs.loc[adata.obs_names[:25], "ddrtree_pseudotime"] = np.nan
    st.tl.association(adata)
    assert adata.uns["ddrtree"]["association"]["n_cells"] == 375
    adata.obs["ddrtree_pseudotime"] = np.nan
    refused(
        adata, ValueError, "none of 400 cells can be used: each has no pseudotime, or no value of the covariates",
        lambda: st.tl.association(adata),
    )  # fmt: skip


def test_of_donors_the_p_value_of_a_column_does_not_depend_on_the_others(adata):
    rng = np.random.default_rng(4)
    adata.obs["donor"] = np.array([f"d{i}" for i in np.arange(400) % 6])
    for name, scale in (("one", 1.0), ("two", 30.0), ("three", 0.01)):
        own = rng.normal(0, 1, 6)[np.arange(400) % 6]
        adata.obs[name] = scale * (own * adata.obs["ddrtree_pseudotime"] + rng.normal(0, 1, 400))
    st.tl.association(adata, columns=["one", "two", "three"], sample="donor")
    together = adata.uns["ddrtree"]["column_association"]["p_value"]
    for name in together.index:
        st.tl.association(adata, columns=name, sample="donor")
        alone = adata.uns["ddrtree"]["column_association"]["p_value"]
        np.testing.assert_allclose(alone, together[name], rtol=1e-9)


def test_columns(adata):
    before = snapshot(adata)
    adata.obs["rare"] = pd.array([True, pd.NA] + [False, True] * 199, dtype="boolean")
    adata.obs["half"] = np.where(np.arange(400) % 2, "x", "y")
    adata.obs.loc[adata.obs_names[:40], "score"] = np.nan
    st.tl.association(adata, columns=["grade", "mutated", "score", "rare", "half", "score"])
    assert "ddrtree_association" not in adata.varm
    table = adata.uns["ddrtree"]["column_association"]
    assert list(table.index) == ["grade", "mutated", "score", "rare", "half"]
    assert table["family"].tolist() == ["gaussian", "binomial", "gaussian", "binomial", "binomial"]
    assert table["n_cells"].tolist() == [400, 400, 360, 399, 400]
    assert set(table.columns) == {"family", "level", *COLUMNS} - {"dispersion"}
    assert table["level"].tolist() == ["", str(sorted(adata.obs["mutated"].unique())[1]), "", "True", "y"]
    assert table.loc[["mutated", "score"], "q_value"].max() < 1e-4
    assert table.loc[["grade", "rare", "half"], "p_value"].min() > 0.001
    assert table.loc["score", "sign_B1"] == 1
    basis, position = basis_of(adata)
    codes = adata.obs["grade"].cat.codes.to_numpy()
    share = np.bincount(codes) / 400
    ranks = (np.cumsum(share) - share / 2)[codes]  # mid-ranks
    for name, values, family in [
        ("grade", ranks, "gaussian"),
        ("score", adata.obs["score"].to_numpy(), "gaussian"),
        ("mutated", adata.obs["mutated"].to_numpy(float), "binomial"),
    ]:
        raw = st.core.association(values[:, None], basis, position, 0, family=family)
        np.testing.assert_allclose(table.loc[name, "p_value"], raw.p_value[0], rtol=1e-9)
        np.testing.assert_allclose(table.loc[name, "change"], raw.change[0], rtol=1e-9)
    st.tl.association(adata, columns="mutated", covariates="batch")
    assert list(adata.uns["ddrtree"]["column_association"].index) == ["mutated"]
    st.tl.association(adata)  # beside the table of genes
    assert {"association", "column_association"} <= set(adata.uns["ddrtree"])
    st.tl.order(adata, root=0)
    assert not {"association", "column_association"} & set(adata.uns["ddrtree"])
    assert set(before.uns["ddrtree"]) == set(adata.uns["ddrtree"])


def test_loops_and_parts():
    adata = rings(400)
    key = "principal_graph"
    st.tl.principal_graph(adata, n_nodes=30)
    with pytest.warns(UserWarning, match="components without the root|No lineage was found"):
        st.tl.order(adata, root=0, key=key)
    angle = adata.obs["angle"].to_numpy()
    adata.layers["counts"] = np.random.default_rng(0).poisson(np.exp(1 + np.column_stack([np.cos(angle), 0 * angle])))
    st.tl.association(adata, layer="counts", size_factors=None, key=key)
    table = adata.varm[f"{key}_association"]
    assert table["p_value"].iloc[0] < 1e-6 < table["p_value"].iloc[1]
    assert adata.uns[key]["association"]["n_cells"] == adata.obs[f"{key}_pseudotime"].notna().sum() == 200


def test_progress_and_hints(adata, capsys, caplog):
    st.tl.association(adata, progress=True)
    assert "16 of 16 fits" in capsys.readouterr().err
    with caplog.at_level("WARNING", logger="skeltraj"):
        st.tl.association(adata, progress=False)
    assert capsys.readouterr().err == ""
    assert "exploratory" in caplog.text
    assert adata.uns["ddrtree"]["association"]["exploratory"]


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"family": "poisson"}, ValueError, "family='poisson'"),
        ({"layer": "counts"}, KeyError, "layer='counts'"),
        ({"size_factors": "depth"}, KeyError, "size_factors='depth' is not in adata.obs. Available: .*'factor'"),
        ({"size_factors": "batch"}, TypeError, r"size_factors: adata.obs\['batch'\] has type category"),
        ({"size_factors": "negative"}, ValueError, r"size_factors: adata.obs\['negative'\] holds -1; wanted finite"),
        ({"size_factors": "endless"}, ValueError, r"size_factors: adata.obs\['endless'\] holds inf; wanted finite"),
        ({"family": "gaussian", "size_factors": "factor"}, ValueError, "size_factors='factor' was given, and adata.X"),
        ({"covariates": "donor"}, KeyError, "covariates: 'donor' is not in adata.obs. Available: "),
        (
            {"covariates": ["batch", "one"]},
            ValueError,
            "covariates: 'one' is 'a' for all 397 cells used; wanted one that varies",
        ),
        (
            {"covariates": "one or endless"},
            ValueError,
            r"covariates: adata.obs\['one or endless'\] holds infinite values",
        ),
        ({"genes": ["late", "Klf1"]}, KeyError, r"genes: 'Klf1' is neither in adata.var_names .* \(1 of 2 are not\)"),
        ({"genes": "symbol"}, TypeError, r"genes: adata.var\['symbol'\] has type .*; wanted True or False"),
        ({"genes": np.zeros(8, bool)}, ValueError, "genes: none of 8 genes is chosen"),
        ({"layer": "halves", "family": "negative_binomial"}, ValueError, "holds 0.5; wanted counts"),
        ({"layer": "nothing"}, ValueError, r"adata.layers\['nothing'\] is 0 everywhere; wanted counts"),
        ({"n_knots": 1}, ValueError, "n_knots=1 is out of range"),
        ({"columns": "stage"}, KeyError, "columns: 'stage' is not in adata.obs"),
        ({"columns": []}, ValueError, "columns is an empty list"),
        ({"columns": "one"}, ValueError, r"columns: adata.obs\['one'\] has 1 value\(s\)"),
        ({"columns": "batch"}, TypeError, r"holds 3 categories without an order; .* skeltraj.tl.composition"),
        ({"columns": "endless"}, ValueError, r"columns: adata.obs\['endless'\] holds infinite values"),
        ({"columns": "one or endless"}, ValueError, r"columns: adata.obs\['one or endless'\] holds infinite values"),
        ({"columns": ["score", "elsewhere"]}, ValueError, r"adata.obs\['elsewhere'\] has one value in all cells used"),
        (
            {"columns": ["score", "twice"], "covariates": "score"},
            ValueError,
            r"nothing is left of adata.obs\['score'\] to be tested: covariates explain it.*: \['score', 'twice'\]",
        ),
        (
            {"columns": ["score", "late"], "sample": "of three"},
            ValueError,
            r"nothing is left of adata.obs\['late'\] to be tested: it hardly varies within donors, or",
        ),
        (
            {"layer": "negative", "family": "negative_binomial"},
            ValueError,
            "'negative'.* holds negative values",
        ),
        ({"columns": "score", "genes": ["late"]}, ValueError, "columns= was given with genes= or layer="),
        ({"columns": "score", "layer": "halves"}, ValueError, "columns= was given with genes= or layer="),
        ({"key": "tree"}, KeyError, "no skeleton is stored as adata.uns"),
    ],
)
def test_errors_leave_everything_as_it_was(adata, given, error, words):
    adata.obs["negative"], adata.obs["one"] = -1.0, "a"
    adata.obs["endless"] = np.where(np.arange(400) % 3, np.inf, np.arange(400))
    adata.obs["one or endless"] = np.where(np.arange(400) % 3, np.inf, 1.0)
    adata.obs["elsewhere"] = np.where(np.arange(400) < 3, "x", "y")
    adata.obs["twice"], adata.obs["of three"] = 2 * adata.obs["score"], np.arange(400) // 140
    adata.obs["late"] = adata.obs["of three"] > 1
    adata.obs.loc[adata.obs_names[:3], "ddrtree_pseudotime"] = np.nan
    adata.layers["halves"], adata.layers["nothing"] = adata.X / 2, np.zeros(adata.shape)
    adata.layers["negative"] = -adata.X
    refused(adata, error, words, lambda: st.tl.association(adata, **given))


def test_errors_of_the_order_and_the_matrix(adata):
    fresh = by_hand(TWO_FORKS.nodes, TWO_FORKS.edges, adata.obsm["X_ddrtree"])
    refused(fresh, KeyError, "the cells have not been ordered", lambda: st.tl.association(fresh))
    few = adata[:6].copy()
    refused(
        few, ValueError, "none of the 6 points .* lies on branch|6 points are used for", lambda: st.tl.association(few)
    )
    none = adata[:0].copy()
    refused(none, ValueError, "adata is empty: 0 cells", lambda: st.tl.association(none))
    bare = ad.AnnData(obs=adata.obs, var=adata.var, obsm=dict(adata.obsm), uns=adata.uns.copy(), layers={"c": adata.X})
    refused(bare, ValueError, r"adata.X is None. Name a layer: \['c'\]", lambda: st.tl.association(bare))
    no_genes = adata[:, :0].copy()
    refused(no_genes, ValueError, "adata is empty: 400 cells x 0 genes", lambda: st.tl.association(no_genes))
    before = snapshot(adata)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=ZERO):
            st.tl.association(adata)
    same(adata, before)


def test_names_of_genes_need_not_be_unique(adata):
    adata.var_names = ["a", "a", *GENES[2:]]
    st.tl.association(adata)
    assert adata.varm["ddrtree_association"]["p_value"].notna().sum() == 7
    st.tl.association(adata, genes="a")
    assert adata.varm["ddrtree_association"]["p_value"].notna().tolist() == [True, True] + [False] * 6
    assert st.get.association(adata, gene_symbols="symbol")["symbol"].tolist()[:2] == ["RISE", "ARM"]


def test_columns_of_complex_numbers_are_refused(adata):
    """None is taken without its imaginary part."""
    adata.obs["c"] = np.exp(1j * np.arange(adata.n_obs))
    calls = [
        lambda: st.tl.association(adata, covariates="c"),
        lambda: st.tl.association(adata, columns="c"),
        lambda: st.tl.direction(adata, score="c"),
        lambda: st.get.covariate(adata, "c"),
    ]
    for call in calls:
        refused(adata, TypeError, "complex128", call)


def test_covariates_that_are_neither_numbers_nor_groups_are_refused(adata):
    """Of dates, each would be a group of its own; names of cells are no groups."""
    adata.obs["sampled"] = pd.date_range("2020-01-01", periods=adata.n_obs)
    adata.obs["name"] = adata.obs_names.to_numpy()
    for test in (st.tl.association, st.tl.branch_test):
        refused(adata, TypeError, "datetime64", lambda test=test: test(adata, covariates="sampled"))
        refused(adata, ValueError, "at most 100 groups", lambda test=test: test(adata, covariates="name"))


def test_size_factors_of_half_precision_counts(adata):
    """Their sums are not of half precision, which ends at 65,504."""
    counts = adata.X.toarray() if hasattr(adata.X, "toarray") else np.asarray(adata.X)
    many = np.minimum(counts, 8) * 4096  # each exact, not so their sums
    st_of = []
    for kind in (np.float64, np.float16):
        cells = adata.copy()
        cells.X = many.astype(kind)
        st.tl.association(cells)
        st_of.append(cells.varm["ddrtree_association"])
    pd.testing.assert_frame_equal(*st_of)


def test_one_gene_is_not_its_own_size_factor(adata):
    one = adata[:, :1].copy()
    refused(one, ValueError, "size_factors='auto' with 1 gene in adata.X, whose", lambda: st.tl.association(one))
    st.tl.association(one, size_factors="factor")
    assert np.isfinite(one.varm["ddrtree_association"]["p_value"]).all()


def test_totals_over_few_genes_are_told(adata, caplog):
    with caplog.at_level("WARNING", logger="skeltraj"):
        st.tl.association(adata, size_factors="factor")
        assert "totals over" not in caplog.text
        st.tl.association(adata)
    assert "Size factors are totals over only 8 genes" in caplog.text
