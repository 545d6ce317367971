"""SPL for AnnData."""

from __future__ import annotations

import pytest
import scanpy as sc

import skeltraj as st
from samples import cells


@pytest.fixture
def adata():
    return cells(80)


def test_what_was_given_is_recorded(adata):
    sc.pp.neighbors(adata, use_rep="X", method="gauss")  # the other compiles for long
    st.tl.spl(adata, neighbors="connectivities")
    assert adata.uns["spl"]["params"]["neighbors_key"] == "connectivities"
    assert "n_neighbors" not in adata.uns["spl"]["params"]
