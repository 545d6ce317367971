"""Examples with which those of several functions begin."""

from __future__ import annotations

_DATA = """\
>>> import scanpy as sc
>>> import skeltraj as st
>>> adata = sc.datasets.krumsiek11()  # simulated blood cells
>>> adata.obs_names_make_unique()"""

_FITTED = f"""\
{_DATA}
>>> # quick; for results: st.tl.ddrtree(adata)
>>> st.tl.ddrtree(adata, n_starts=1, prune=False)"""

_ORDERED = f"""\
{_FITTED}
>>> st.tl.order(adata, root={{"cell_type": "progenitor"}})"""

_PICTURE = """\
import scanpy as sc
import skeltraj as st

adata = sc.datasets.krumsiek11()  # simulated blood cells
adata.obs_names_make_unique()
st.tl.ddrtree(adata)
st.tl.order(adata, root={"cell_type": "progenitor"})"""

_TREE = """\
>>> import numpy as np
>>> from skeltraj import core
>>> nodes = np.array([[0, 0], [2, 0], [3, 1], [3, -1]])
>>> graph = core.Graph(nodes, np.array([[0, 1], [1, 2], [1, 3]]))
>>> along, side = np.linspace(0, 3, 300), np.tile([1, -1], 150)
>>> points = np.column_stack([along, side * np.maximum(along - 2, 0)])"""

_COUNTS = f"""\
{_TREE}
>>> position = core.locate(graph, points)
>>> basis = core.tree_basis(graph, position)
>>> one_branch = np.where(side > 0, 0, np.maximum(along - 2, 0))
>>> rate = np.column_stack([np.full(300, 4), 1 + 3 * along, 4 + 20 * one_branch])
>>> # genes: constant, rising, rising along one branch
>>> counts = np.random.default_rng(0).poisson(rate)"""

TEXTS = {
    "example_data": _DATA,
    "example_fitted": _FITTED,
    "example_ordered": _ORDERED,
    "example_picture": _PICTURE,
    "example_tree": _TREE,
    "example_counts": _COUNTS,
}
