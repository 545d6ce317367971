"""
Which branches are found again
==============================

The tree is learned again from twenty bootstrap samples of the cells. Colours and bars show how well each branch is
recovered, marks the share of the samples in which it is found again.
"""

import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

st.tl.stability(adata, n_replicates=20)
st.pl.stability(adata, bars=True)
