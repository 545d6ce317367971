"""Whether cells belong to the skeleton with which they are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
from anndata import AnnData
from scipy import sparse

from skeltraj._keys import Entry, Keys, PrunedEntry
from skeltraj.core import Graph
from skeltraj.core._geometry.neighbors import PointTree
from skeltraj.core._runtime.warn import warn

_N_COMPARED = 2000  # cells, evenly spaced: those of another fit come by whole data sets; chosen by eye
# By how much a cell may be farther from its nodes than from the nearest: a share of the spread of nodes or cells, and
# as much as forks are moved that pruning makes one. Of 60 fits on three data sets none had a cell beyond 0.05 of the
# spread; of two fits of other cells under one name 7 to 35 in 100 had.
_MAX_FARTHER, _RESOLUTIONS = 0.2, 3.0
_MAX_OFF, _MAX_SHARE = 5, 0.01  # cells that may be so far, and their share; chosen by eye


def warn_of_cells_of_another_fit(
    adata: AnnData, graph: Graph, points: np.ndarray, assignment: sparse.csr_matrix, key: str
) -> None:
    """Warn if cells lie far from the nodes to which they are assigned: another skeleton had these numbers.

    As after anndata.concat of two fits of one name and as many nodes, of which `uns` holds one.
    """
    rows = np.arange(0, len(points), max(1, len(points) // _N_COMPARED))
    shares: Any = assignment[rows]
    places, at = graph.nodes, points[rows]
    spread = float(np.sqrt(max(places.var(axis=0).sum(), at.var(axis=0).sum())))
    pruned = adata.uns[Keys(key).uns].get(Entry.PRUNED)
    moved = pruned is not None and bool((pruned[PrunedEntry.REPORT]["what"] == "forks").any())
    merged = float(pruned[PrunedEntry.RESOLUTION]) if moved else 0.0
    distance = lambda rows, where: np.sqrt(((at[rows] - where) ** 2).sum(axis=1))
    farther = PointTree(places).nearest(at)[1] + _MAX_FARTHER * spread + _RESOLUTIONS * merged
    # by the nearer of two places: a wide assignment has its mean in the middle, and its largest share anywhere
    off = np.flatnonzero(distance(slice(None), shares @ places) > farther)
    off = off[distance(off, places[np.asarray(shares[off].argmax(axis=1)).ravel()]) > farther[off]]
    if len(off) > max(_MAX_OFF, _MAX_SHARE * len(rows)):
        keys = Keys(key)
        warn(
            f"{len(off)} of {len(rows)} cells examined, such as {str(adata.obs_names[rows[off[0]]])!r}, are far from "
            f"the nodes to which adata.obsm[{keys.assignment!r}] assigns them. If they belong to another fit than the "
            f"skeleton adata.uns[{key!r}], as after anndata.concat of two fits with the same name, their order means "
            "nothing: fit again, or put the cells of one on the skeleton of the other with skeltraj.tl.ingest."
        )
