"""
Conditions and their donors
===========================

Twelve donors, six of them treated. In treated donors fewer cells became erythrocytes. The unit of the test is the
donor, not the cell: labels of whole donors are permuted.
"""

import numpy as np
import pandas as pd
import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

rng = np.random.default_rng(0)
donor = rng.integers(0, 12, adata.n_obs)
lost = (donor >= 6) & (adata.obs["cell_type"] == "Ery") & (rng.random(adata.n_obs) < 0.7)
adata.obs["donor"] = pd.Categorical([f"donor {i + 1}" for i in donor])
adata.obs["condition"] = pd.Categorical(np.where(donor < 6, "control", "treated"))
adata = adata[~lost].copy()

st.tl.composition(adata, "condition", sample="donor")
st.pl.composition(adata, "condition")
