"""Copies of data on disk are refused before anything is done."""

import anndata as ad
import numpy as np
import pytest

import skeltraj as st
from genes_on_trees import cells_with_genes

CALLS = {
    "order": dict(root=0),
    "association": {},
    "branch_test": {},
    "trends": {},
    "cluster_trends": {},
    "rank_genes_groups": {},
    "composition": dict(groupby="stage"),
    "direction": dict(score="factor"),
    "stability": {},
    "prune": {},
    "attach": dict(a=0, b=1),
    "survival": dict(time="factor", event="stage"),
    "ddrtree": {},
    "principal_tree": {},
}


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory):
    adata = cells_with_genes()
    path = tmp_path_factory.mktemp("copies") / "cells.h5ad"
    adata.write(path)
    return ad.read_h5ad(path, backed="r")


@pytest.mark.parametrize("name", CALLS)
def test_a_copy_of_data_on_disk_is_refused(on_disk, name):
    before = np.array(on_disk.obs["ddrtree_pseudotime"])
    with pytest.raises(ValueError, match=r"copy=True for an AnnData on disk \(backed\); wanted copy=False"):
        getattr(st.tl, name)(on_disk, **CALLS[name], copy=True)
    np.testing.assert_array_equal(on_disk.obs["ddrtree_pseudotime"], before)


@pytest.mark.parametrize("name", CALLS)
def test_a_view_of_data_on_disk_is_refused_before_anything_is_done(on_disk, name):
    view = on_disk[::2]
    with pytest.raises(ValueError, match=r"adata is a view of an AnnData on disk .* wanted adata.to_memory\(\)"):
        getattr(st.tl, name)(view, **CALLS[name])
    assert view.is_view
