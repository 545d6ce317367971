"""Graphs with pairs in any order and direction: sparse, dense, in parts."""

from __future__ import annotations

import numpy as np


def random_graph(n, share, seed):
    rng = np.random.default_rng(seed)
    return np.argwhere(np.triu(rng.random((n, n)) < share, 1))


def turned(pairs, n, seed=0):
    """The same graph with its nodes numbered anew, pairs in any order and direction."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(n)[np.asarray(pairs)]
    pairs = pairs[rng.permutation(len(pairs))]
    flip = rng.random(len(pairs)) < 0.5
    pairs[flip] = pairs[flip][:, ::-1]
    return pairs


GRAPHS = {
    "no edges": (5, np.zeros((0, 2), dtype=int)),
    "one edge": (4, np.array([[3, 1]])),
    "path": (30, turned([[i, i + 1] for i in range(29)], 30)),
    "star": (25, turned([[0, i] for i in range(1, 25)], 25)),
    "complete": (18, turned(np.argwhere(np.triu(np.ones((18, 18)), 1)), 18)),
    "ring": (21, turned([[i, (i + 1) % 21] for i in range(21)], 21)),
    "grid": (
        36,
        turned(
            [[6 * i + j, 6 * i + j + 1] for i in range(6) for j in range(5)]
            + [[6 * i + j, 6 * i + j + 6] for i in range(5) for j in range(6)],
            36,
        ),
    ),
    "two parts and a node alone": (
        31,
        turned(np.r_[random_graph(15, 0.3, 0), random_graph(15, 0.3, 1) + 15], 31),
    ),
    **{f"random {share}": (60, turned(random_graph(60, share, 5), 60)) for share in (0.01, 0.03, 0.1, 0.4)},
}
