"""
Genes along pseudotime
======================

Fitted curves with their intervals along each lineage, over the cells.
"""

import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

st.tl.trends(adata)
st.pl.trends(adata, ["Gata1", "Pu.1", "Gfi1"])
