"""Which way a skeleton runs in the space of vectors, and how far vectors point along it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.position import Position

_SPREAD = 0.15  # of the weights of nodes around an edge, as a share of the branch's length; chosen by eye
_MAX_VALUES = 1 << 22  # of vectors that are held at a time in float64, 32 MB; chosen by eye


def edge_directions(graph: Graph, position: Position, node_places: np.ndarray) -> np.ndarray:
    """The way each edge runs among the nodes' places, as a unit vector, (n_edges, n_dimensions).

    It points along the branch as this is numbered. It is the slope of a straight line through the places of the
    branch's nodes, which weigh the more the nearer they are to the middle of the edge and the more points they hold:
    places are means over few points, and the differences between two neighbours of these mostly noise. Zeros where the
    places do not move.
    """
    n_held = np.bincount(position.nearest_end(graph), minlength=graph.n_nodes)
    slopes = np.zeros((len(graph.edges), node_places.shape[1]))
    for path in graph.branches:
        edges = graph.edges_along(path)
        at = np.r_[0.0, np.cumsum(graph.edge_length[edges])]
        if at[-1] == 0:
            continue
        middle = (at[1:] + at[:-1])[:, None] / 2
        weight = (1 + n_held[path]) * np.exp(-(((at - middle) / (_SPREAD * at[-1])) ** 2) / 2)
        mean = (weight @ at)[:, None] / weight.sum(axis=1, keepdims=True)
        slopes[edges] = (weight * (at - mean)) @ (node_places[path] - node_places[path].mean(axis=0))
    length = np.sqrt((slopes**2).sum(axis=1, keepdims=True))
    return np.divide(slopes, length, out=np.zeros_like(slopes), where=length > 0)


def cosines(vectors: Any, directions: np.ndarray, edge: np.ndarray) -> np.ndarray:
    """The cosine of each vector with the direction of its edge, (n,).

    NaN for vectors that hold NaN or infinite values, or have no length, and where the direction has none.
    """
    along, length = np.empty(len(edge)), np.empty(len(edge))
    step = max(1, _MAX_VALUES // max(1, directions.shape[1]))
    for start in range(0, len(edge), step):
        rows = slice(start, start + step)
        part = vectors[rows].toarray() if sparse.issparse(vectors) else vectors[rows]
        part = np.asarray(part, dtype=np.float64)
        largest = np.abs(part).max(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            part = part / largest[:, None]  # so that no square overflows; NaN if there is no length
        part[~np.isfinite(largest)] = np.nan
        along[rows] = np.einsum("ij,ij->i", part, directions[edge[rows]])
        length[rows] = np.sqrt((part**2).sum(axis=1))
    moves = (directions != 0).any(axis=1)
    return np.where(moves[edge], np.clip(along / length, -1, 1), np.nan)
