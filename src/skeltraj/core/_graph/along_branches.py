"""Where points lie along the branches of a skeleton."""

from __future__ import annotations

import numpy as np

from .graph import Graph
from .position import Position, locate


def along_branches(graph: Graph, position: Position) -> tuple[np.ndarray, np.ndarray]:
    """The branch of each point, and the path length to it from that end of the branch at which its nodes begin.

    Returns
    -------
    Positions in ``graph.branches``, -1 for points at a node without edges, and path lengths, each (n,).
    """
    offset, is_turned = np.zeros(len(graph.edges)), np.zeros(len(graph.edges), dtype=bool)
    for path, edges in zip(graph.branches, graph.branch_edges, strict=True):
        offset[edges] = np.r_[0.0, np.cumsum(graph.edge_length[edges])][:-1]
        is_turned[edges] = graph.edges[edges, 0] != path[:-1]
    edge = position.edge
    fraction = np.where(is_turned[edge], 1 - position.fraction, position.fraction)
    branch = graph.branch_of_edge[edge]
    if position.alone is not None:
        branch = np.where(position.alone < 0, branch, -1)
    return branch, offset[edge] + fraction * graph.edge_length[edge]


def is_line(graph: Graph) -> bool:
    """Whether a skeleton is a single line: no fork, no loop, one part."""
    return len(graph.branches) == 1 and len(graph.tips) == 2 and graph.n_parts == 1


def along_line(graph: Graph, points: np.ndarray) -> np.ndarray | None:
    """Path length from one end of a line to each of some points, (n,); None if the skeleton is no single line."""
    return along_branches(graph, locate(graph, points))[1] if is_line(graph) else None
