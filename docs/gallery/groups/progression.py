"""
A progression
=============

How groups follow one another, as the paper on DDRTree drew its tumours: the thick line joins the root to the middle of
every group, where its name is.
"""

import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

st.pl.progression(adata, "cell_type")
