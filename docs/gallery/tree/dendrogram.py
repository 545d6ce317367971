"""
The tree unfolded
=================

A dendrogram shows all branches side by side. Pseudotime runs from left to right, and cells are spread around their
branch, wider where there are more of them. Branches that overlap in two dimensions are separate here.
"""

import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

st.pl.dendrogram(adata, color="cell_type")
