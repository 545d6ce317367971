"""
Genes on both sides of a fork
=============================

All genes along the tree from one fork: pseudotime runs from the middle outwards, one lineage to each side, and genes
are in the order in which they peak.
"""

import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

st.tl.trends(adata)
st.pl.heatmap(adata, fork="F1", groupby="cell_type")
