"""
Genes that differ between branches
==================================

Counts of 300 genes are simulated along a tree; 60 of them differ between the two branches after a fork. The volcano
shows by how much, and how significant this is.
"""

import numpy as np
import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

# Genes of their own: none of them had a part in making the tree. (The message of the test is cautious: it knows only
# that the tree was learned from genes.)
rng = np.random.default_rng(0)
lineages = adata.obsm["ddrtree_lineages"]
side = (lineages.iloc[:, 0] - lineages.iloc[:, 1]).to_numpy() * adata.obs["ddrtree_pseudotime"].to_numpy()
effect = np.r_[rng.normal(0, 1, 60), np.zeros(240)]
mean = np.exp(rng.normal(1, 0.7, 300) + side[:, None] * effect)
genes = sc.AnnData(rng.negative_binomial(3, 3 / (3 + mean)).astype(float), adata.obs, uns=adata.uns, obsm=adata.obsm)
genes.var_names = [f"gene {i}" for i in range(300)]

st.tl.branch_test(genes, size_factors=None)  # all cells were counted equally deep
st.pl.volcano(genes, "F1")
