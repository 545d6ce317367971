"""
Learned similarities
====================

MPME learns which cells are similar, over all pairs, and proves that no other similarities explain them better. Cells
are in the order of their groups: two moons are two blocks.
"""

import skeltraj as st

adata = st.datasets.two_moons(120, noise=0.05, rng=0)
st.tl.mpme(adata)
st.pl.similarity(adata, groupby="part")
