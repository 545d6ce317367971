"""
In space
========

Three components at once, drawn by matplotlib, and as an interactive page in which the tree can be rotated and the name
of a cell appears under the mouse.
"""

import tempfile
from pathlib import Path

import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

st.pl.graph(adata, color="cell_type", components=(0, 1, 2))

# %%
# The page is one file, which asks no other machine for anything. Turn the tree with the mouse.

page = Path(tempfile.mkdtemp()) / "tree.html"
figure = st.pl.graph_3d(adata, color="cell_type", hover="ddrtree_pseudotime", save=page)
