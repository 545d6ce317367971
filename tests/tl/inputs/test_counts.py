"""A fit warns of raw counts, whatever holds them, by few cells."""

from __future__ import annotations

import warnings

import anndata as ad
import numpy as np
import pytest
import scanpy as sc
from scipy import sparse

import skeltraj as st
from samples import in_halves, shared
from skeltraj.tl._inputs.counts import warn_of_counts
from skeltraj.tl._inputs.pick import pick

COUNTS = np.random.default_rng(0).negative_binomial(0.3, 0.02, (400, 30)).astype(float)
KINDS = {
    "dense": lambda X: X,
    "integers": lambda X: X.astype(np.int32),
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "array": sparse.csr_array,
    "halves": in_halves,
}


def as_cells(X):
    return ad.AnnData(X)


def warned(adata, **named):
    """What is said of an input."""
    options = dict(use_rep=None, layer=None) | named
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warn_of_counts(adata, pick(adata, **options))
    return [str(one.message) for one in said]


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_told_whatever_holds_them(kind):
    adata = as_cells(KINDS[kind](COUNTS))
    [said] = warned(adata)
    assert said.startswith("adata.X looks like raw counts (whole numbers, up to ")
    assert "sc.pp.normalize_total(adata), sc.pp.log1p(adata) and sc.pp.pca(adata)" in said
    adata.layers["counts"], adata.X = adata.X, np.log1p(COUNTS)
    assert warned(adata) == []
    [said] = warned(adata, layer="counts")
    assert said.startswith("adata.layers['counts'] looks like raw counts")


def test_of_principal_components_what_they_were_made_of():
    adata = as_cells(COUNTS.copy())
    sc.pp.pca(adata, n_comps=5)
    [said] = warned(adata)
    assert "adata.X looks like raw counts" in said
    assert "adata.obsm['X_pca'] was made of it" in said
    # of the same cells, X still raw: components of something else
    adata.obsm["X_pca"] = adata.obsm["X_pca"] + 0.1 * np.random.default_rng(1).standard_normal((400, 5))
    assert warned(adata) == []
    good = as_cells(np.log1p(COUNTS))
    sc.pp.pca(good, n_comps=5)
    assert warned(good) == []
    good.X = COUNTS.copy()  # put back after the PCA
    assert warned(good) == []
    del good.varm["PCs"]
    assert warned(good) == []


def test_other_inputs_are_not_asked_about():
    adata = as_cells(COUNTS.copy())
    adata.obsm["X_scvi"] = np.random.default_rng(0).standard_normal((400, 4))
    adata.obsp["kernel"] = COUNTS @ COUNTS.T
    assert warned(adata, use_rep="X_scvi") == []
    assert warned(adata, kernel="kernel") == []


def test_of_a_matrix_that_is_not_in_memory_the_first_cells_are_looked_at(tmp_path):
    adata = as_cells(sparse.csr_matrix(np.vstack([COUNTS] * 4)))
    adata.write_h5ad(tmp_path / "a.h5ad")
    backed = ad.read_h5ad(tmp_path / "a.h5ad", backed="r")
    assert len(warned(backed)) == 1
    backed.file.close()
    da = pytest.importorskip("dask.array")
    computed = []

    def block(part, block_info=None):
        if part.size:
            computed.append(block_info[0]["chunk-location"][0])
        return part

    X = np.vstack([COUNTS] * 10)  # 4,000 cells
    adata.uns.clear()
    lazy = ad.AnnData(da.from_array(X, chunks=(500, 30)).map_blocks(block, dtype=float, meta=np.empty((0, 0))))
    assert len(warned(lazy)) == 1
    assert set(computed) <= {0, 1}


def test_a_fit_warns_at_the_users_line():
    adata = as_cells(COUNTS[:60].copy())
    with pytest.warns(UserWarning, match="looks like raw counts") as said:
        st.tl.principal_tree(adata, n_nodes=10, n_starts=1)
    assert said[0].filename == __file__


def test_counts_of_paul15_are_told():
    import pandas as pd

    table = pd.read_csv(shared("data") / "paul15" / "paul15.csv.gz")
    adata = as_cells(table.iloc[:, 3:].to_numpy(dtype=float))
    assert len(warned(adata)) == 1
    sc.pp.normalize_total(adata)
    sc.pp.log1p(adata)
    assert warned(adata) == []
