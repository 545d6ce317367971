"""Names of forks and tips."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from skeltraj.core import Graph

from .style import rim

_MAX_READABLE_IDS = 14  # of forks and tips that can still be told apart by their names; chosen by eye


def label(ax: Axes, at: np.ndarray, text: str, *, size: float = 8, weight: str = "bold", **options: Any) -> None:
    """A word with a rim."""
    drawn = ax.text(*at, text, fontsize=size, fontweight=weight, zorder=6, **options)
    drawn.set_path_effects(rim(ax))


def draw_node_names(ax: Axes, graph: Graph, at: np.ndarray, *, show: bool | None, skip: int = -1) -> None:
    """Names of forks and tips at the places of their nodes; None: unless there are too many to read."""
    if show is False or (show is None and len(graph.tips) + len(graph.forks) > _MAX_READABLE_IDS):
        return
    for node, name in graph.node_names.items():
        if node != skip and np.isfinite(at[node]).all():
            label(ax, at[node], f"  {name}", size=7, va="center")
