"""Which cells lie on which lineage."""

from __future__ import annotations

from typing import Any

import numpy as np
from anndata import AnnData

from skeltraj._keys import OrderEntry
from skeltraj.core import Graph

from .positions import positions

WITHOUT_LINEAGES = "all"  # name of what stands for them where a skeleton has none


def on_lineages(adata: AnnData, graph: Graph, order: dict[str, Any], key: str) -> dict[str, np.ndarray]:
    """Which cells lie on the path from the root to each tip, by the lineage's name; without lineages, all cells.

    Parameters
    ----------
    adata
        Annotated data with ordered cells.
    graph, order
        The skeleton, and the record of the order.
    key
        Name of the fit.
    """
    position = positions(adata, graph, key)
    root, tips = int(order[OrderEntry.ROOT]), order[OrderEntry.TIPS]["node"].astype(int)
    reached = np.isfinite(graph.distances_from(root))
    lineages = {
        str(name): position.on_path(graph, graph.path(root, tip))
        for name, tip in tips.items()
        if tip != root and reached[tip]
    }
    return lineages or {WITHOUT_LINEAGES: np.ones(adata.n_obs, dtype=bool)}
