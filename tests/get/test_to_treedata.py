"""The tree with the cells as leaves, for TreeData."""

from __future__ import annotations

import sys

import networkx as nx
import numpy as np
import pytest

import skeltraj as st
from cell_trees import cells_as_leaves
from samples import rings
from stored import same, snapshot


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_errors(two_trees, monkeypatch):
    adata = two_trees.copy()
    with pytest.raises(KeyError, match="the cells have not been ordered"):
        st.get.to_treedata(adata)
    st.tl.order(adata, root=0)
    twice = adata.copy()
    twice.obs_names = ["cell", "cell", *twice.obs_names[2:]]
    with pytest.raises(ValueError, match="'cell' names several cells"):
        st.get.to_treedata(twice)
    like = adata.copy()
    like.obs_names = ["ddrtree:T1", *like.obs_names[1:]]
    with pytest.raises(ValueError, match="cell 'ddrtree:T1' has a name like those of the tree's nodes"):
        st.get.to_treedata(like)
    monkeypatch.setitem(sys.modules, "treedata", None)
    with pytest.raises(ImportError, match=r"python -m pip install 'skeltraj\[treedata\]'"):
        st.get.to_treedata(adata)
    two = rings(400)
    st.tl.principal_graph(two, n_nodes=40)
    st.tl.order(two, root=0, key="principal_graph")
    with pytest.raises(ValueError, match="TreeData reads one tree only"):
        st.get.to_treedata(two, "principal_graph")


@pytest.mark.filterwarnings("ignore")
def test_treedata(two_trees, tmp_path):
    td = pytest.importorskip("treedata", reason="treedata is not installed (pip install 'skeltraj[treedata]')")
    adata = two_trees.copy()
    for key in ("ddrtree", "drtree"):
        st.tl.order(adata, root={"stage": "stem"}, key=key)
    before = snapshot(adata)
    handed = st.get.to_treedata(adata)
    same(adata, before)
    same(handed, before)
    assert isinstance(handed, td.TreeData)
    assert handed.alignment == "leaves"
    wanted = cells_as_leaves(adata, "ddrtree")
    assert nx.utils.graphs_equal(nx.DiGraph(handed.obst["ddrtree"]), wanted)
    both = st.get.to_treedata(handed, "drtree")
    assert set(both.obst) == {"ddrtree", "drtree"}
    assert set(handed.obst) == {"ddrtree"}
    both.write_h5td(tmp_path / "a.h5td")
    back = td.read_h5td(tmp_path / "a.h5td")
    assert nx.utils.graphs_equal(nx.DiGraph(back.obst["ddrtree"]), wanted)
    part = handed[:20].copy()
    assert {name for name, degree in part.obst["ddrtree"].out_degree if not degree} == set(adata.obs_names[:20])


@pytest.mark.filterwarnings("ignore")
def test_pycea_draws_it(two_trees):
    pytest.importorskip("treedata", reason="treedata is not installed (pip install 'skeltraj[treedata]')")
    pycea = pytest.importorskip("pycea", reason="pycea (pycea-lineage) is not installed; it is not needed")
    adata = two_trees.copy()
    st.tl.order(adata, root={"stage": "stem"})
    handed = st.get.to_treedata(adata)
    ax = pycea.pl.branches(handed, depth_key="depth", color="branch")
    lines = np.concatenate([path.vertices for path in ax.collections[0].get_paths()])
    assert lines[:, 0].max() == pytest.approx(adata.obs["ddrtree_pseudotime"].max())
