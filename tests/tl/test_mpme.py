"""MPME for AnnData: order along similar cells, parts, names in use."""

from __future__ import annotations

import anndata as ad
import networkx as nx
import numpy as np
import pandas as pd
import pytest

import skeltraj as st
from samples import cells
from stored import refused, same, snapshot


@pytest.fixture
def adata():
    return cells(80)


def test_the_root_is_the_cell_nearest_to_a_category(adata):
    st.tl.mpme(adata)
    st.tl.order(adata, {"stage": "left"}, key="mpme")
    graph = st.get.networkx(adata, "mpme")
    there = np.flatnonzero(adata.obs["stage"] == "left")
    mean = [np.mean([nx.shortest_path_length(graph, i, j, weight="length") for j in there]) for i in range(adata.n_obs)]
    assert adata.uns["mpme"]["order"]["root"] == int(np.argmin(mean))
    with pytest.warns(UserWarning, match="No root was given: node"):
        st.tl.order(adata, key="mpme")


def test_parts_and_cells_alone(adata):
    far = adata.X.copy()
    far[:30] += 100.0
    far[30] -= 1000.0
    parts = ad.AnnData(far)
    with pytest.warns(UserWarning, match="the 80 rows in 3 parts"):
        st.tl.mpme(parts, 4, lam=5.0)
    with pytest.warns(UserWarning, match="31 of 80 cells lie on components without the root"):
        st.tl.order(parts, root=40, key="mpme")
    time = parts.obs["mpme_pseudotime"]
    assert time[:31].isna().all()
    assert time[31:].notna().all()
    assert parts.obs["mpme_component"].nunique() == 3
    assert parts.obs["mpme_branch"].isna().tolist() == [i == 30 for i in range(80)]
    assert parts.obs["mpme_branch"].nunique() == 2
    with pytest.warns(UserWarning, match="in 80 parts"):
        st.tl.mpme(parts, lam=1e9)
    with pytest.raises(ValueError, match="no edges"):
        st.tl.order(parts, root=0, key="mpme")


def test_a_tree_is_learned_in_the_embedding(adata):
    st.tl.mpme(adata, 3)
    st.tl.principal_tree(adata, use_rep="X_mpme", n_nodes=20)
    st.tl.order(adata, {"stage": "stem"}, key="principal_tree")
    table = pd.crosstab(adata.obs["stage"], adata.obs["principal_tree_branch"])
    assert table.shape[1] >= 3


def test_a_part_that_is_one_point_is_not_ordered():
    rng = np.random.default_rng(0)
    groups = ad.AnnData(np.vstack([rng.standard_normal((20, 3)) + c for c in (0, 60, 120, 180)]))
    with pytest.warns(UserWarning, match="80 rows in 4 parts.*in 2 dimensions most parts may be single points"):
        st.tl.mpme(groups)
    with pytest.raises(
        ValueError, match="a part of 20 cells that is a single point of the embedding of 'mpme'.*4 parts"
    ):
        st.tl.order(groups, root=0, key="mpme")
    with pytest.warns(UserWarning, match="in 4 parts"):
        st.tl.mpme(groups, 9)
    with pytest.warns(UserWarning, match="60 of 80 cells"):
        st.tl.order(groups, root=0, key="mpme")
    assert groups.obs["mpme_pseudotime"][:20].nunique() == 20


def test_what_is_no_fits_is_not_overwritten(adata):
    adata.obsp["cell_similarity"] = adata.X @ adata.X.T
    for given in (dict(kernel="cell_similarity"), {}):
        refused(
            adata,
            ValueError,
            r"key_added='cell' would overwrite adata.obsp\['cell_similarity'\]",
            lambda given=given: st.tl.mpme(adata, **given, key_added="cell"),
        )
    st.tl.mpme(adata, kernel="cell_similarity")
    first = snapshot(adata)
    st.tl.mpme(adata, kernel="cell_similarity")  # its own may be
    same(adata, first)
