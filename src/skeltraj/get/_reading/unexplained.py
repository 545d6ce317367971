"""Stretches of a stored skeleton without cells that nobody put there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from skeltraj._keys import Entry
from skeltraj.core import EmptyStretch, Graph, Position, empty_stretches

_TOUCHES = 1e-6  # share of a stretch, up to which an edge ends where it begins, for rounding


def unexplained_stretches(fit: Mapping[str, Any], graph: Graph, position: Position) -> tuple[EmptyStretch, ...]:
    """Long stretches without cells, but for those over an edge that `tl.attach` added: who did so knows."""
    added = set(np.asarray(fit.get(Entry.ATTACHED, {}).get("edge", ())).tolist())
    found = empty_stretches(graph, position)
    return tuple(stretch for stretch in found if not added or not added & _edges_of(graph, stretch))


def _edges_of(graph: Graph, stretch: EmptyStretch) -> set[int]:
    """Numbers of the edges over which a stretch goes."""
    edges = graph.branch_edges[graph.branch_names.tolist().index(stretch.branch)]
    stop = np.cumsum(graph.edge_length[edges])
    shared = np.minimum(stop, stretch.end) - np.maximum(stop - graph.edge_length[edges], stretch.start)
    return set(edges[shared > _TOUCHES * (stretch.end - stretch.start)].tolist())
