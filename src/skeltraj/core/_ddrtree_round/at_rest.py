"""Where rows come to rest among nodes that stay."""

from __future__ import annotations

import numpy as np

from skeltraj.core._geometry.assign import Entries, assigned, node_index, places_of
from skeltraj.core._geometry.near_nodes import NO_LISTS, near_nodes
from skeltraj.core._runtime.compile import compiled

from .sweep import mean_in_plane, mean_of_nodes

_AT_REST = 1e-10  # of the nodes' extent: a row that moves less has come to rest
_MAX_MOVES = 500  # of a row; chosen by eye


def at_rest(
    scores: np.ndarray, nodes: np.ndarray, gamma: float, sigma: float, start: np.ndarray | None = None
) -> np.ndarray:
    """Where rows with these scores ``W'x``, (n, d), come to rest among nodes; see `DDRTreeFit.transform`."""
    Z = np.array(scores if start is None else start, dtype=np.float64, order="C")
    scores, nodes = (np.ascontiguousarray(rows, dtype=np.float64) for rows in (scores, nodes))
    tiny = _AT_REST * float(np.abs(nodes).max())
    places, index = places_of(nodes, sigma), node_index(nodes)
    near = near_nodes(nodes, sigma, len(Z)) or NO_LISTS
    moving, hints = np.arange(len(Z)), np.zeros(len(Z), dtype=np.int64)
    for _ in range(_MAX_MOVES):
        *R, _ = assigned(Z[moving], places, index, near, hints)
        stay = _move(Entries(*R), nodes, scores, gamma, tiny, moving, Z, hints)
        moving, hints = moving[~stay], hints[~stay]
        if not len(moving):
            break
    return Z


@compiled
def _move(
    R: Entries,
    nodes: np.ndarray,
    scores: np.ndarray,
    gamma: float,
    tiny: float,
    moving: np.ndarray,
    Z: np.ndarray,
    hints: np.ndarray,
) -> np.ndarray:
    """Move the rows `moving` of Z by their assignment R; write to `hints` their nodes, return which stay, (n_moving,).

    KDD 2015, Proposition 3, of one row.
    """
    stay = np.empty(len(moving), dtype=np.bool_)
    mean = np.empty(nodes.shape[1])
    for at in range(len(moving)):
        i = moving[at]
        if len(mean) == 2:
            hints[at] = mean_in_plane(R, at, nodes, mean)
        else:
            hints[at] = mean_of_nodes(R, at, nodes, mean)
        shift = 0.0
        for a in range(len(mean)):
            new = (scores[i, a] + gamma * mean[a]) / (1 + gamma)
            shift = max(shift, abs(new - Z[i, a]))
            Z[i, a] = new
        stay[at] = shift <= tiny
    return stay
