"""How the order of cells along a tree is stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core
from skeltraj._keys import Entry, Keys, OrderEntry, names

from .write_fit import clear_order


def store_order(adata: AnnData, keys: Keys, graph: core.Graph, ordering: core.Ordering, record: dict[str, Any]) -> None:
    """Store an order, and remove what an earlier one left; `record` is what to note of it beside the tables."""
    clear_order(adata, keys)
    index, position = adata.obs_names, ordering.position
    branches = names("B", len(graph.branches))
    adata.obs[keys.pseudotime] = ordering.pseudotime
    adata.obs[keys.branch] = pd.Categorical.from_codes(ordering.branch, categories=list(branches))
    n_parts = int(graph.component.max()) + 1
    if n_parts > 1:
        parts = list(names("C", n_parts))
        adata.obs[keys.component] = pd.Categorical.from_codes(position.component(graph), categories=parts)
    adata.obsm[keys.position] = pd.DataFrame(
        {"edge": position.edge, "fraction": position.fraction, "distance": position.distance}, index=index
    )
    tip_names = dict(zip(graph.tips.tolist(), names("T", len(graph.tips)), strict=True))
    columns = [tip_names[tip] for tip in ordering.tips.tolist()]
    adata.obsm[keys.lineages] = pd.DataFrame(ordering.membership, index=index, columns=columns)
    adata.uns[keys.uns][Entry.ORDER] = (
        record | {OrderEntry.NODE_PSEUDOTIME: ordering.node_pseudotime} | _tables(graph, ordering)
    )


def _tables(graph: core.Graph, ordering: core.Ordering) -> dict[str, pd.DataFrame]:
    """Tips, forks and branches by their ids."""
    label = {int(node): str(name) for node, name in zip(graph.tips, names("T", len(graph.tips)), strict=True)}
    label |= {int(node): str(name) for node, name in zip(graph.forks, names("F", len(graph.forks)), strict=True)}
    ends = [(label.get(int(b[0]), f"node {b[0]}"), label.get(int(b[-1]), f"node {b[-1]}")) for b in graph.branches]
    length = np.bincount(graph.branch_of_edge, graph.edge_length, minlength=len(ends))
    cells = np.bincount(ordering.branch[ordering.branch >= 0], minlength=len(ends))
    return {
        OrderEntry.TIPS: pd.DataFrame({"node": graph.tips}, index=pd.Index(names("T", len(graph.tips)), name="tip")),
        OrderEntry.FORKS: pd.DataFrame(
            {"node": graph.forks}, index=pd.Index(names("F", len(graph.forks)), name="fork")
        ),
        OrderEntry.BRANCHES: pd.DataFrame(
            {"start": [a for a, _ in ends], "end": [b for _, b in ends], "length": length, "n_cells": cells},
            index=pd.Index(names("B", len(ends)), name="branch"),
        ),
    }
