"""How the direction of a tree is stored: tables with the names of branches and nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core
from skeltraj._keys import Column, DirectionEntry, Entry, Keys
from skeltraj.get._reading.entries import mark
from skeltraj.tl._inputs.node_ids import ids_of

from .changes import Changes


def store_direction(
    adata: AnnData,
    keys: Keys,
    graph: core.Graph,
    result: core.Direction,
    params: dict[str, Any],
    left_out: dict[str, int],
) -> None:
    """Store which way the branches of the tree `graph` run, and the roots by how well they agree with that."""
    id_of = {node: name for name, node in ids_of(graph).items()}
    record: dict[str, Any] = {
        Entry.MADE_OF: mark(adata.uns[keys.uns], Entry.DIRECTION),
        DirectionEntry.BRANCHES: _of_branches(result, graph, id_of),
        DirectionEntry.ROOTS: pd.DataFrame(
            {"node": result.roots, Column.AGREEMENT: result.root_agreement, Column.P_VALUE: result.root_p_value},
            index=pd.Index([id_of[node] for node in result.roots.tolist()], name="root", dtype=object),
        ),
        DirectionEntry.MARGIN: result.margin,
        DirectionEntry.PARAMS: params,
        DirectionEntry.N_CELLS: int(result.used.sum()),
        DirectionEntry.LEFT_OUT: left_out,
    }
    changes = Changes()
    changes.put("uns", keys.uns, dict(adata.uns[keys.uns]) | {Entry.DIRECTION: record})
    changes.make(adata)


def _of_branches(result: core.Direction, graph: core.Graph, id_of: dict[int, str]) -> pd.DataFrame:
    called = lambda nodes: ["" if node < 0 else id_of.get(node, f"node {node}") for node in nodes]
    return pd.DataFrame(
        {
            Column.START: called([int(path[0]) for path in graph.branches]),
            Column.END: called([int(path[-1]) for path in graph.branches]),
            "towards": called(result.towards.tolist()),
            Column.AGREEMENT: result.agreement,
            Column.P_VALUE: result.p_value,
            Column.Q_VALUE: result.q_value,
            Column.N_CELLS: result.n_points.astype(np.int64),
        },
        index=pd.Index(graph.branch_names, name="branch"),
    )
