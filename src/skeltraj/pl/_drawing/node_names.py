"""Names of forks and tips."""

from __future__ import annotations

import logging

import numpy as np
from matplotlib.axes import Axes

from skeltraj.core import Graph

from .labels import draw_labels

logger = logging.getLogger(__name__)

# chosen by eye, on panels as they are by default
_LARGE, _SMALL = 8.0, 6.0  # points: of up to 14 names, and of 40 and more
_MAX_LARGE, MAX_NAMES = 14, 40


def names_to_draw(graph: Graph, labels: bool | None) -> dict[int, str]:
    """The names of nodes: of all forks and tips, of tips alone or of none; None: as many as can be read."""
    every = dict(graph.node_names)
    tips = {node: every[node] for node in graph.tips.tolist()}
    if labels is False:
        return {}
    if labels or len(every) <= MAX_NAMES:
        return every
    drawn = tips if len(tips) <= MAX_NAMES else {}
    logger.warning(
        "%d forks and %d tips have more names than can be read (%d): %s. Give labels=True to draw all names, "
        "labels=False to draw none.",
        len(graph.forks),
        len(tips),
        MAX_NAMES,
        "the tips alone are named" if drawn else "none is named",
    )
    return drawn


def draw_node_names(ax: Axes, at: np.ndarray, named: dict[int, str]) -> None:
    """Names of nodes beside them, smaller where there are many; `at` are the places of all nodes."""
    nodes = np.array([node for node in named if np.isfinite(at[node]).all()], dtype=np.int64)
    if len(nodes):
        share = np.clip((len(nodes) - _MAX_LARGE) / (MAX_NAMES - _MAX_LARGE), 0, 1)
        size = _LARGE + share * (_SMALL - _LARGE)
        draw_labels(ax, at[nodes], [named[node] for node in nodes.tolist()], size=size)
