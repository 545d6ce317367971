"""
Time to event along the tree
============================

Patients instead of cells, with simulated times to an event whose hazard grows along the tree. Kaplan-Meier curves by
stretches of pseudotime, with the Cox model of pseudotime beside them.
"""

import numpy as np
import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

rng = np.random.default_rng(0)
hazard = np.exp(0.8 * adata.obs["ddrtree_pseudotime"])
time, censored = rng.exponential(60 / hazard), rng.uniform(12, 120, adata.n_obs)
adata.obs["months"], adata.obs["died"] = np.minimum(time, censored), time <= censored
st.tl.survival(adata, "months", "died")
st.pl.survival(adata, "stretch")
