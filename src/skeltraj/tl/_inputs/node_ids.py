"""Nodes by the ids that users see."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from skeltraj.core import Graph


def ids_of(graph: Graph) -> dict[str, int]:
    """The nodes of the tips and forks by their ids ("T1", "F1")."""
    return {name: node for node, name in graph.node_names.items()}


def node_of(graph: Graph, which: Any, argument: str, root: int | None = None) -> int:
    """The node that a tip's or fork's id ("T1", "F1"), a number or "root" names; errors call it by its `argument`."""
    if isinstance(which, Integral) and not isinstance(which, bool):
        node = int(which)
        if not 0 <= node < graph.n_nodes:
            raise ValueError(f"{argument}={which!r} is not a node; wanted a number from 0 to {graph.n_nodes - 1}.")
        return node
    if not isinstance(which, str):
        raise TypeError(f"{argument}={which!r} is a {type(which).__name__}; wanted a tip or fork, as 'T1', or a node.")
    ids = ids_of(graph)
    if root is not None:
        ids["root"] = root
    if which in graph.branch_names:
        raise ValueError(f"{argument}={which!r} is a branch; wanted one of its ends, or another place: {list(ids)}.")
    if which not in ids:
        last = f" (or a node, 0 to {graph.n_nodes - 1})"
        hint = " Cells have no root before skeltraj.tl.order." if which == "root" else ""
        raise ValueError(f"{argument}={which!r} is not on the skeleton. Available: {list(ids)}{last}.{hint}")
    return ids[which]
