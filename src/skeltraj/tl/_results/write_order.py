"""How the order of cells along a tree is stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core
from skeltraj._keys import Column, Entry, Keys, OrderEntry, names
from skeltraj._palette import palette

from .changes import Changes
from .forget import forget_order, forget_ranked_genes, without_order


def store_order(adata: AnnData, keys: Keys, graph: core.Graph, ordering: core.Ordering, record: dict[str, Any]) -> None:
    """Store an order, and remove what an earlier one left; `record` is what to note of it beside the tables."""
    changes = Changes()
    entry = without_order(adata.uns[keys.uns])
    colors = adata.uns.get(keys.branch_colors)
    entry[Entry.ORDER] = put_order(changes, adata.obs_names, keys, graph, ordering, record, colors)
    forget_ranked_genes(changes, adata, keys)
    changes.put("uns", keys.uns, entry)
    changes.make(adata)


def put_order(
    changes: Changes,
    cells: pd.Index,
    keys: Keys,
    graph: core.Graph,
    ordering: core.Ordering,
    record: dict[str, Any],
    colors: Any = None,
) -> dict[str, Any]:
    """What is stored of an order with the cells; returns what is stored of it with the skeleton.

    `colors` are those that the branches had; they stay if there are as many branches.
    """
    position = ordering.position
    branches = graph.branch_names
    changes.put("obs", keys.pseudotime, ordering.pseudotime)
    changes.put("obs", keys.branch, pd.Categorical.from_codes(ordering.branch, categories=list(branches)))
    if len(branches):  # where scanpy looks for them, so that its pictures have the same
        kept = colors is not None and np.shape(colors) == (len(branches),)
        changes.put("uns", keys.branch_colors, np.array(colors if kept else palette(len(branches)), dtype=object))
    if graph.n_parts > 1:
        parts = pd.Categorical.from_codes(position.component(graph), categories=list(names("C", graph.n_parts)))
        changes.put("obs", keys.component, parts)
    places = {"edge": position.edge, "fraction": position.fraction, "distance": position.distance}
    changes.put("obsm", keys.position, pd.DataFrame(places, index=cells))
    tip_names = dict(zip(graph.tips.tolist(), graph.tip_names, strict=True))
    columns = [tip_names[tip] for tip in ordering.tips.tolist()]
    changes.put("obsm", keys.lineages, pd.DataFrame(ordering.membership, index=cells, columns=columns))
    forget_order(changes, keys)
    return record | {OrderEntry.NODE_PSEUDOTIME: ordering.node_pseudotime} | _tables(graph, ordering)


def _tables(graph: core.Graph, ordering: core.Ordering) -> dict[str, pd.DataFrame]:
    """Tips, forks and branches by their ids."""
    label = graph.node_names
    ends = [(label.get(int(b[0]), f"node {b[0]}"), label.get(int(b[-1]), f"node {b[-1]}")) for b in graph.branches]
    length = np.bincount(graph.branch_of_edge, graph.edge_length, minlength=len(ends))
    cells = np.bincount(ordering.branch[ordering.branch >= 0], minlength=len(ends))
    return {
        OrderEntry.TIPS: pd.DataFrame({"node": graph.tips}, index=pd.Index(graph.tip_names, name="tip")),
        OrderEntry.FORKS: pd.DataFrame({"node": graph.forks}, index=pd.Index(graph.fork_names, name="fork")),
        OrderEntry.BRANCHES: pd.DataFrame(
            {
                Column.START: [a for a, _ in ends],
                Column.END: [b for _, b in ends],
                "length": length,
                Column.N_CELLS: cells,
            },
            index=pd.Index(graph.branch_names, name="branch"),
        ),
    }
