"""
On a UMAP
=========

``basis="umap"`` draws the same tree through the cells of another embedding, as smooth curves along the middle of the
cells of each branch. The tree was not learned there: a UMAP tears apart what is continuous and changes lengths.
"""

import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

sc.pp.neighbors(adata, use_rep="X", random_state=0)
sc.tl.umap(adata, random_state=0)
st.pl.graph(adata, color="cell_type", basis="umap")
