"""How the stability of a tree is stored: tables with the names of branches and forks, and values for each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core
from skeltraj._keys import Column, Entry, Keys, StabilityEntry
from skeltraj.get._reading.entries import mark

from .changes import Changes


def store_stability(
    adata: AnnData, keys: Keys, graph: core.Graph, result: core.Stability, n_replicates: int, vary: Sequence[str]
) -> None:
    """Store what the replicates say of the tree `graph`, and of the cells on it."""
    branches = graph.branch_names
    n_cells = adata.obs[keys.branch].value_counts().reindex(branches, fill_value=0).to_numpy(dtype=np.int64)
    record: dict[str, Any] = {
        Entry.MADE_OF: mark(adata.uns[keys.uns], Entry.STABILITY),
        StabilityEntry.BRANCHES: _of_branches(result, branches, n_cells),
        StabilityEntry.FORKS: _of_forks(result, graph),
        StabilityEntry.EDGES: _of_edges(result, graph, branches),
        StabilityEntry.CONSENSUS: {
            StabilityEntry.NODES: result.consensus.nodes,
            StabilityEntry.EDGES: result.consensus.edges,
            StabilityEntry.PLACE: result.place,
        },
        StabilityEntry.N_REPLICATES: int(n_replicates),
        StabilityEntry.VARY: np.array(list(dict.fromkeys(vary)), dtype=object),
    }
    probability = pd.DataFrame(result.branch_probability, index=adata.obs_names, columns=list(branches))
    changes = Changes()
    changes.put("obs", keys.pseudotime_sd, result.pseudotime_sd)
    changes.put("obsm", keys.branch_probability, probability)
    changes.put("uns", keys.uns, dict(adata.uns[keys.uns]) | {Entry.STABILITY: record})
    changes.make(adata)


def _of_branches(result: core.Stability, branches: np.ndarray, n_cells: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(
        {
            Column.SUPPORT: result.branch_support,
            Column.FOUND_AGAIN: result.branch_found,
            Column.OVERLAP: result.branch_overlap,
            Column.N_CELLS: n_cells,
        },
        index=pd.Index(branches, name="branch"),
    )


def _of_forks(result: core.Stability, graph: core.Graph) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "node": graph.forks,
            "n_sides": graph.degree[graph.forks],
            Column.SUPPORT: result.fork_support,
            Column.TRIPLETS: result.fork_triplets,
        },
        index=pd.Index(graph.fork_names, name="fork"),
    )


def _of_edges(result: core.Stability, graph: core.Graph, branches: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "source": graph.edges[:, 0],
            "target": graph.edges[:, 1],
            "branch": pd.Categorical.from_codes(graph.branch_of_edge, categories=list(branches)),
            Column.SUPPORT: result.edge_support,
        },
        index=pd.Index([str(i) for i in range(len(graph.edges))], name="edge"),
    )
