"""Edges in the order of their ends."""

from __future__ import annotations

import numpy as np


def in_order(edges: np.ndarray) -> np.ndarray:
    """By which `edges`, (n_edges, 2), rise: by their first end, then by their second, (n_edges,)."""
    return np.lexsort((edges[:, 1], edges[:, 0]))


def renumbered(edges: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges whose ends get other numbers, each with its smaller end first, rising; and where each stood before.

    Parameters
    ----------
    edges
        (n_edges, 2).
    numbers
        The new number of each node, (n_nodes,).
    """
    edges = np.sort(numbers[edges], axis=1)
    order = in_order(edges)
    return edges[order], order
