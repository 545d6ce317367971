"""
Which branches are found again
==============================

The tree is learned again from cells drawn anew, twenty times. Colours say in which share of these trees a branch is
found, and bars how far the trees place it.
"""

import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

st.tl.stability(adata, n_replicates=20)
st.pl.stability(adata, bars=True)
