"""
Which nodes are joined
======================

The nodes of the tree, sorted by the group to which most of their cells belong: edges within a group are near the
diagonal, and those between groups show which group leads to which.
"""

import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

st.pl.adjacency(adata, groupby="cell_type")
