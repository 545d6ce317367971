"""
Cells and their tree
====================

Simulated myeloid cells with four fates, in the embedding that the fit learned. Tips are named T1, T2, ..., forks F1,
F2, ...; the star marks the root.
"""

import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

st.pl.graph(adata, color="cell_type")

# %%
# One panel for each colour: groups have a legend, numbers and genes a colour bar.

st.pl.graph(adata, color=["ddrtree_branch", "ddrtree_pseudotime", "Gata1"])
