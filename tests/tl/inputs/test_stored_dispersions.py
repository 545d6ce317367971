"""Dispersions of an earlier test are those of the same counts, size factors and covariates, or estimated anew."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest
from scipy import sparse

import skeltraj as st
from skeltraj._keys import Keys
from skeltraj.tl._inputs.covariates import covariates_of
from skeltraj.tl._inputs.genes_along import ordered_cells
from skeltraj.tl._inputs.stored_dispersions import stored_dispersions
from skeltraj.tl._inputs.tested_genes import read_genes
from tested_genes import cells_on_two_forks

pytestmark = pytest.mark.filterwarnings("ignore:1 of . genes have the same value")


@pytest.fixture(scope="module")
def tested():
    adata = cells_on_two_forks()
    st.tl.association(adata, covariates=["batch", "score"], size_factors="factor")
    return adata


def known(adata, genes=None):
    usable = ordered_cells(adata, Keys("ddrtree"))
    covariates = covariates_of(adata, ["batch", "score"], usable)
    what = read_genes(adata, layer=None, family="auto", size_factors="factor", genes=genes)
    return stored_dispersions(adata, Keys("ddrtree"), what, covariates, usable)


def turned(adata):
    rng = np.random.default_rng(0)
    return adata[rng.permutation(adata.n_obs), rng.permutation(adata.n_vars)].copy()


def test_they_are_taken_whatever_the_order_and_the_form(tested, tmp_path):
    genes = ["late", "rise"]
    wanted = tested.varm["ddrtree_association"].loc[["rise", "late"], "dispersion"].to_numpy()
    np.testing.assert_array_equal(known(tested, genes), wanted)
    other = turned(tested)
    wanted_there = other.varm["ddrtree_association"]["dispersion"][other.var_names.isin(genes)]
    np.testing.assert_array_equal(known(other, genes), wanted_there)
    other = tested.copy()
    other.X = sparse.csc_matrix(other.X)
    np.testing.assert_array_equal(known(other, genes), wanted)
    other.X = tested.X.astype(np.int16)
    np.testing.assert_array_equal(known(other, genes), wanted)
    tested.write_h5ad(tmp_path / "a.h5ad")
    backed = ad.read_h5ad(tmp_path / "a.h5ad", backed="r")
    np.testing.assert_array_equal(known(backed, genes), wanted)
    backed.file.close()


def permuted(adata):
    adata.X = np.random.default_rng(0).permutation(adata.X)


def one_count(adata):
    adata.X[7, 3] += 1


def other_covariate(adata):
    adata.obs["score"] = adata.obs["score"].to_numpy()[::-1]


def other_groups(adata):
    adata.obs["batch"] = adata.obs["batch"].to_numpy()[::-1]


def other_factors(adata):
    adata.obs["factor"] = adata.obs["factor"].to_numpy()[::-1]


def other_cells(adata):
    adata.obs.loc[adata.obs_names[3], "score"] = np.nan
    adata.uns["ddrtree"]["association"]["n_cells"] -= 1


def an_earlier_version(adata):
    del adata.uns["ddrtree"]["association"]["digest"]


@pytest.mark.parametrize(
    "change",
    [permuted, one_count, other_covariate, other_groups, other_factors, other_cells, an_earlier_version],
)
def test_they_are_not_taken_for_anything_else(tested, change):
    adata = tested.copy()
    assert known(adata, ["rise"]) is not None
    change(adata)
    assert known(adata, ["rise"]) is None


def test_curves_of_counts_that_were_replaced_are_those_of_a_new_start(tested):
    adata = tested.copy()
    permuted(adata)
    given = dict(covariates=["batch", "score"], size_factors="factor")
    st.tl.trends(adata, **given)
    fresh = adata.copy()
    del fresh.varm["ddrtree_association"], fresh.uns["ddrtree"]["association"]
    st.tl.trends(fresh, **given)
    np.testing.assert_array_equal(adata.varm["ddrtree_trends_se"], fresh.varm["ddrtree_trends_se"])
