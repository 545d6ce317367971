"""
A column along the tree
=======================

A value of each cell, with its mean along every lineage: here a simulated score that rises towards two of the fates.
"""

import numpy as np
import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

rng = np.random.default_rng(0)
rises = adata.obs["cell_type"].isin(["Mo", "Neu"])
adata.obs["score"] = adata.obs["ddrtree_pseudotime"] * rises + rng.normal(0, 0.3, adata.n_obs)
st.pl.covariate(adata, "score")
