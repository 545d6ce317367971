"""The stored positions of the cells on their skeleton."""

from __future__ import annotations

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._keys import Keys
from skeltraj.core import Graph, Position

from .checks import available, columns_in_memory
from .coordinates import cells_in_embedding

_COLUMNS = ("edge", "fraction", "distance")


def positions(adata: AnnData, graph: Graph, key: str) -> Position:
    """The positions that `tl.order` stored, on the skeleton that is stored.

    Raises
    ------
    KeyError
        If they are gone.
    ValueError
        If some are not on the skeleton: they were lost, or are those of another.
    """
    name = Keys(key).position
    if name not in adata.obsm:
        raise KeyError(
            f"adata.obsm has no {name!r}, which skeltraj.tl.order stored. Available: {available(adata.obsm)}."
        )
    table = adata.obsm[name]
    again = f"Run skeltraj.tl.order(adata, root=..., key={key!r}) again."
    if not isinstance(table, pd.DataFrame) or not set(_COLUMNS) <= set(table.columns):
        raise ValueError(f"adata.obsm[{name!r}] is no table with columns {list(_COLUMNS)}. {again}")
    edge, fraction, distance = (pd.to_numeric(table[column], errors="coerce").to_numpy(float) for column in _COLUMNS)
    there = (edge >= 0) & (edge < len(graph.edges)) & (edge == np.round(edge)) & (fraction >= 0) & (fraction <= 1)
    lost = np.flatnonzero(~(there & (distance >= 0)))
    if len(lost):
        raise ValueError(
            f"{len(lost)} of {adata.n_obs} cells, such as {str(adata.obs_names[lost[0]])!r}, have no place on the "
            f"{len(graph.edges)} edges of adata.uns[{key!r}] in adata.obsm[{name!r}], as after anndata.concat with "
            f"join='outer', or where the skeleton was replaced. {again} Cells that the fit has not seen need "
            "skeltraj.tl.ingest."
        )
    return Position(edge.astype(np.int64), fraction, distance, _single_nodes(adata, graph, key))


def _single_nodes(adata: AnnData, graph: Graph, key: str) -> np.ndarray | None:
    """The node of cells at one without edges, which `tl.order` gave no branch, -1 of others; None: there are none."""
    single, keys = np.flatnonzero(graph.degree == 0), Keys(key)
    if not len(single) or keys.branch not in adata.obs:
        return None
    cells = np.flatnonzero(columns_in_memory(adata.obs, [keys.branch])[keys.branch].isna().to_numpy())
    if not len(cells):
        return None
    alone = np.full(adata.n_obs, -1)
    alone[cells] = graph.nearest_node(cells_in_embedding(adata, key, graph.nodes)[cells], single)
    return alone


def path_lengths(adata: AnnData, graph: Graph, root: int, key: str) -> np.ndarray:
    """Path length from the root to each cell, (n_obs,); NaN for those without a pseudotime.

    The pseudotime that `tl.order` stored is the same, but may have been put into other units since.
    """
    known = adata.obs[Keys(key).pseudotime].notna().to_numpy()
    return np.where(known, positions(adata, graph, key).distances_from(graph, root), np.nan)
