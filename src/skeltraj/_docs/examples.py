"""Examples with which those of several functions begin."""

from __future__ import annotations

_DATA = """\
>>> import scanpy as sc
>>> import skeltraj as st
>>> adata = sc.datasets.krumsiek11()  # simulated blood cells
>>> adata.obs_names_make_unique()"""

_FITTED = f"""\
{_DATA}
>>> st.tl.ddrtree(adata, n_starts=1, prune=False)  # quick; for results: st.tl.ddrtree(adata)"""

_ORDERED = f"""\
{_FITTED}
>>> st.tl.order(adata, root={{"cell_type": "progenitor"}})"""

TEXTS = {
    "example_data": _DATA,
    "example_fitted": _FITTED,
    "example_ordered": _ORDERED,
}
