"""The table of the edges that `tl.attach` has added, taken over to another skeleton that has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from skeltraj._keys import Entry, names


def renumbered_table(stored: Mapping[str, Any], edges: np.ndarray, nodes: np.ndarray) -> pd.DataFrame | None:
    """The table of a stored skeleton as another has it; None if the other has no edge that was added.

    Parameters
    ----------
    stored
        Dictionary of the fit.
    edges, nodes
        Number on the other skeleton of each edge and node of the stored one, (n_edges,) and (n_nodes,); -1: it has
        none.
    """
    if Entry.ATTACHED not in stored:
        return None
    table = stored[Entry.ATTACHED].copy()
    for column, number in (("edge", edges), ("node_a", nodes), ("node_b", nodes)):
        table[column] = number[table[column].to_numpy()]
    table = table[table["edge"] >= 0]
    table.index = names("A", len(table))
    return table if len(table) else None


def numbers_of(chosen: np.ndarray, n: int) -> np.ndarray:
    """Place of each of `n` things among those `chosen`, (n,); -1: it is none of them."""
    number = np.full(n, -1)
    number[chosen] = np.arange(len(chosen))
    return number
