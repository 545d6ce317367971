"""A tree with two forks, and points along paths."""

from __future__ import annotations

import numpy as np

from skeltraj import core

TWO_FORKS = core.Graph(  # a fork at node 2 with three arms, and a fork at node 5 on one of them
    np.array([[0.0, 0], [1, 0], [2, 0], [2, 1], [2, 2], [3, 0], [4, 1], [4, -1]]),
    np.array([[0, 1], [1, 2], [3, 2], [3, 4], [2, 5], [6, 5], [5, 7]]),
)


def along(path, n, rng=None):
    """Points evenly along a path of places."""
    path = np.array(path, dtype=float)
    t = np.linspace(0.01, len(path) - 1.01, n)
    points = np.column_stack([np.interp(t, np.arange(len(path)), column) for column in path.T])
    return points if rng is None else points + 0.01 * rng.standard_normal(points.shape)
