"""
The tree unfolded
=================

A dendrogram shows every branch beside the others. Pseudotime runs from left to right, and cells spread about their
branch, wider where there are more of them. Branches that lie over one another in two dimensions are apart here.
"""

import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

st.pl.dendrogram(adata, color="cell_type")
