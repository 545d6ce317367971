"""A tree with two forks, one with a fork at any place, and points along paths."""

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


def forked_at(x):
    """A trunk from (0, 0) to a fork at (x, 0), and two arms from there to (10, 2) and (10, -2)."""
    steps = np.linspace(0, 1, 21)[:, None]
    fork, tips = np.array([x, 0.0]), np.array([[10.0, 2], [10.0, -2]])
    nodes = np.concatenate([steps * fork, *(fork + steps[1:] * (tip - fork) for tip in tips)])
    number = np.arange(1, 61)
    return core.Graph(nodes, np.column_stack([np.where(number == 41, 20, number - 1), number]))
