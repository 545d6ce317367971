"""A rooted tree that is drawn at random, and cells on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tree:
    """Edges (parent, child), each after the one that leads to it, and their lengths (E,)."""

    edges: tuple[tuple[str, str], ...]
    lengths: np.ndarray


@dataclass(frozen=True)
class Places:
    """Where cells lie: the number of the edge (n,), and how far along it, from 0 to 1 (n,)."""

    edge: np.ndarray
    fraction: np.ndarray


def random_tree(n_forks: int, rng: np.random.Generator) -> Tree:
    """A trunk, and so many forks at open ends, into two (3 of 4) or three; lengths between 0.7 and 1.4."""
    edges, open_ends = [("R", "M0")], ["M0"]
    for _ in range(n_forks):
        fork = open_ends.pop(int(rng.integers(len(open_ends))))
        for _ in range(2 if rng.random() < 0.75 else 3):
            child = f"M{len(edges)}"
            edges.append((fork, child))
            open_ends.append(child)
    return Tree(tuple(edges), rng.uniform(0.7, 1.4, len(edges)))


def cells_on(tree: Tree, n_cells: int, rng: np.random.Generator, *, uneven: bool = False) -> Places:
    """Cells spread uniformly along each edge; the edges' shares differ, by far where ``uneven``.

    Cells stand in random order. No edge is drawn with less than 5 % of the total weight (``uneven``: 2 %), so that each
    can be found at all.
    """
    spread, least = (1.0, 0.02) if uneven else (0.3, 0.05)
    weight = tree.lengths * np.exp(rng.normal(0, spread, len(tree.lengths)))
    weight = np.maximum(weight, least * weight.sum())
    return Places(rng.choice(len(weight), n_cells, p=weight / weight.sum()), rng.random(n_cells))


def along_edges(courses: list[np.ndarray], places: Places) -> np.ndarray:
    """Values at the cells: each edge's course (steps, k), equally spaced from 0 to 1, read between its steps."""
    values = np.empty((len(places.edge), courses[0].shape[1]))
    for edge, course in enumerate(courses):
        on = places.edge == edge
        at = places.fraction[on] * (len(course) - 1)
        step = np.minimum(at.astype(int), len(course) - 2)
        part = (at - step)[:, None]
        values[on] = (1 - part) * course[step] + part * course[step + 1]
    return values
