"""Colours of the branches are stored where scanpy looks for them, and go with the order."""

from __future__ import annotations

import numpy as np
import pytest
import scanpy as sc
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

import skeltraj as st
from samples import CROSS, LINES, by_hand
from stored import written_and_read

KEY = "ddrtree_branch_colors"


@pytest.fixture
def adata():
    """Nine cells on a cross of four branches, ordered."""
    adata = by_hand(**CROSS)
    st.tl.order(adata, root=0)
    return adata


def colors_of(collections, adata, basis):
    """The colours in which the cells of each branch are drawn."""
    found = {}
    for drawn in collections:
        places = np.asarray(drawn.get_offsets())
        faces = np.broadcast_to(drawn.get_facecolors(), (len(places), 4))
        for place, face in zip(places, faces, strict=True):
            cell = np.flatnonzero((adata.obsm[basis] == place).all(axis=1))
            for branch in adata.obs["ddrtree_branch"].iloc[cell]:
                found.setdefault(branch, set()).add(to_hex(face))
    return found


def test_our_picture_and_scanpys_have_the_same_colour_for_each_branch(adata):
    ours = st.pl.graph(adata, color="ddrtree_branch", alpha=1)
    theirs = sc.pl.embedding(adata, "ddrtree", color="ddrtree_branch", show=False)
    found = colors_of(ours.collections[:1], adata, "X_ddrtree")
    wanted = dict(zip(["B1", "B2", "B3", "B4"], ([c.lower()] for c in adata.uns[KEY]), strict=True))
    assert found == {name: set(color) for name, color in wanted.items()}
    assert colors_of(theirs.collections[:1], adata, "X_ddrtree") == found
    plt.close("all")


def test_colours_that_were_set_stay_with_the_number_of_branches(adata):
    own = ["#111111", "#222222", "#333333", "#444444"]
    adata.uns[KEY] = own
    st.tl.order(adata, root=4)
    assert list(adata.uns[KEY]) == own
    adata.uns[KEY] = own[:2]
    st.tl.order(adata, root=4)
    assert len(set(adata.uns[KEY])) == 4
    assert own[0] not in adata.uns[KEY]


def test_colours_go_with_the_order():
    adata = by_hand(**LINES)
    with pytest.warns(UserWarning, match="component"):
        st.tl.order(adata, root=0)
    assert len(adata.uns[KEY]) == adata.obs["ddrtree_branch"].cat.categories.size
    st.tl.attach(adata, 0, 3)
    assert "ddrtree_branch" not in adata.obs
    assert KEY not in adata.uns


def test_branches_of_a_path_have_the_colours_of_the_whole(adata):
    path = st.tl.select_path(adata, "T1", ["T3", "T4"])
    branches = list(path.obs["ddrtree_branch"].cat.categories)
    whole = dict(zip(adata.obs["ddrtree_branch"].cat.categories, adata.uns[KEY], strict=True))
    assert len(branches) == 3
    assert list(path.uns[KEY]) == [whole[name] for name in branches]
    single = st.tl.select_path(adata, "T1", "T4")
    [name] = single.obs["ddrtree_branch"].cat.categories
    assert list(single.uns[KEY]) == [whole[name.partition("+")[0]]]


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_colours_survive_files_and_slices(adata, kind, tmp_path):
    read = written_and_read(adata, kind, tmp_path)
    assert list(read.uns[KEY]) == list(adata.uns[KEY])
    part = read[(read.obs["ddrtree_branch"] != "B2").to_numpy()].copy()
    assert list(part.obs["ddrtree_branch"].cat.categories) == ["B1", "B3", "B4"]
    assert list(part.uns[KEY]) == [adata.uns[KEY][i] for i in (0, 2, 3)]
