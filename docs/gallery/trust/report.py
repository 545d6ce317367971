"""
The HTML report
===============

`pl.report` puts the tree, its groups and genes, all parameters and versions on one page, which is self-contained
and loads nothing from the network.
"""

import tempfile
from pathlib import Path

import scanpy as sc

import skeltraj as st

adata = sc.datasets.krumsiek11()
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})

st.pl.graph(adata, color="ddrtree_branch")

# %%
# The page itself:

page = Path(tempfile.mkdtemp()) / "report.html"
st.pl.report(adata, page, groupby="cell_type", genes=["Gata1", "Pu.1"])
