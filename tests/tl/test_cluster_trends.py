"""Genes grouped by the shape of their curves: which genes, groups by peak, what is stored, errors."""

from __future__ import annotations

import numpy as np
import pytest

import skeltraj as st
from genes_on_trees import cells_with_genes
from skeltraj.core._curves.shapes import cluster_curves, heights, standardized
from stored import refused, same, snapshot

pytestmark = pytest.mark.filterwarnings("ignore:1 of .* genes have the same value")


@pytest.fixture(scope="module")
def _cells():
    adata = cells_with_genes(n_more=12)
    st.tl.trends(adata, size_factors="factor")
    return adata


@pytest.fixture
def adata(_cells):
    return _cells.copy()


def test_groups_are_those_of_core_in_the_order_of_their_peaks(adata):
    before = snapshot(adata)
    assert st.tl.cluster_trends(adata, 3) is None
    before.uns["ddrtree"]["trends"]["clusters"] = adata.uns["ddrtree"]["trends"]["clusters"]
    same(adata, before, {"var": {"ddrtree_trend_cluster"}})
    column = adata.var["ddrtree_trend_cluster"]
    assert list(column.cat.categories) == ["1", "2", "3"]
    assert column.isna().sum() == 1
    assert column.isna()["none"]
    places = adata.uns["ddrtree"]["trends"]["places"].sort_values("pseudotime", kind="stable")
    order = places.index.astype(int)
    rows = np.flatnonzero(column.notna())
    curve = adata.varm["ddrtree_trends"][rows].astype(float)[:, order]
    weight = places["n_cells"].to_numpy(dtype=float)
    shape = standardized(heights(curve, places["support"].to_numpy(), "negative_binomial"), weight)
    found = cluster_curves(shape, weight, 3)
    np.testing.assert_array_equal(column.cat.codes.to_numpy()[rows], found.label)
    peak = [places["pseudotime"].to_numpy()[shape[found.label == k].mean(axis=0).argmax()] for k in range(3)]
    assert peak == sorted(peak)
    assert int(column["fall"]) < int(column["rise"])
    assert adata.uns["ddrtree"]["trends"]["clusters"] == {"explained": found.explained, "n_genes": 16}
    st.tl.trends(adata, size_factors="factor")
    assert "ddrtree_trend_cluster" not in adata.var  # they were of other curves


def test_genes_with_a_small_q_value_or_those_named(adata):
    st.tl.association(adata, size_factors="factor")
    q = adata.varm["ddrtree_association"]["q_value"]
    st.tl.cluster_trends(adata)
    grouped = adata.var["ddrtree_trend_cluster"].notna()
    np.testing.assert_array_equal(grouped, q <= 0.05)
    assert 5 < grouped.sum() < 17
    assert not grouped["even"]
    assert adata.uns["ddrtree"]["trends"]["clusters"]["q_max"] == 0.05
    copied = st.tl.cluster_trends(adata, 2, genes=["even", "rise", "fall"], copy=True)
    assert list(copied.var_names[copied.var["ddrtree_trend_cluster"].notna()]) == ["rise", "fall", "even"]
    assert "q_max" not in copied.uns["ddrtree"]["trends"]["clusters"]
    assert adata.var["ddrtree_trend_cluster"].notna().sum() == grouped.sum()


def test_the_order_of_the_genes_does_not_matter(adata):
    st.tl.cluster_trends(adata, 4)
    turned = adata[:, ::-1].copy()
    st.tl.cluster_trends(turned, 4)
    label = adata.var["ddrtree_trend_cluster"]
    assert (
        turned.var["ddrtree_trend_cluster"][label.index].astype(object).fillna("") == label.astype(object).fillna("")
    ).all()


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"n_clusters": 17}, ValueError, r"n_clusters=17 is out of range; wanted a whole number from 1 to 16 \(16 cur"),
        ({"genes": ["nobody"]}, KeyError, r"genes: 'nobody' is not in adata.var_names \(1 of 1 are not\)"),
        ({"genes": ["none"]}, ValueError, "genes: 'none' has no curve"),
        ({"genes": []}, ValueError, "genes is an empty list"),
        ({"q_max": -1}, ValueError, "q_max=-1 is out of range"),
    ],
)
def test_errors_come_before_anything_is_stored(adata, options, kind, message):
    refused(adata, kind, message, lambda: st.tl.cluster_trends(adata, **options))


def test_nothing_to_group(adata):
    st.tl.association(adata, genes=["even"])
    message = "none of the 16 genes with a curve has a q-value of at most q_max=1e-09"
    refused(adata, ValueError, message, lambda: st.tl.cluster_trends(adata, q_max=1e-9))
    del adata.varm["ddrtree_trends"]
    refused(adata, KeyError, "adata.varm has no 'ddrtree_trends'", lambda: st.tl.cluster_trends(adata))
