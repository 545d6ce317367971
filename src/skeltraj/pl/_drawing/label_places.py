"""Where names stand beside the points that they name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

NAME_POINTS = 10.5  # size of the largest names, for which room is made; chosen by eye


def label_places(ax: Axes, centers: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Places for names near their points, in fractions of the Axes; none covers another name or a point.

    A name is wanted beside its point, on the side away from the mean of all points. Each name in turn takes the place
    nearest to that, of a grid over the Axes, which no earlier name and no point needs; if there is none, the nearest.
    """
    ax.autoscale_view()
    points = ax.transAxes.inverted().transform(ax.transData.transform(centers))
    sizes = name_sizes(ax, names)
    away = points - points.mean(axis=0)
    length = np.linalg.norm(away, axis=1, keepdims=True)
    wanted = points + (0.05 + sizes / 2) * np.where(length > 1e-9, away / np.maximum(length, 1e-9), [0.0, 1.0])
    margin = np.minimum(sizes / 2 + 0.01, 0.49)  # to the edge of the Axes
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 81), np.linspace(0, 1, 101)), axis=-1).reshape(-1, 2)
    places = np.empty_like(points)
    for i in range(len(points)):
        spots = np.clip(np.concatenate([wanted[i : i + 1], grid]), margin[i], 1 - margin[i])
        covered = _within(spots, places[:i], (sizes[:i] + sizes[i]) / 2)
        covered |= _within(spots, points, np.broadcast_to(sizes[i] / 2 + 0.015, points.shape))
        if not covered.all():
            spots = spots[~covered]
        places[i] = spots[np.linalg.norm(spots - wanted[i], axis=1).argmin()]
    return places


def name_sizes(ax: Axes, names: Sequence[str]) -> np.ndarray:
    """Width and height of each name, about, in fractions of the Axes, (n, 2)."""
    lines = [name.split("\n") for name in names]
    points = np.array([[0.68 * max(map(len, part)), 1.35 * len(part)] for part in lines]) * NAME_POINTS
    box = ax.get_window_extent()
    # the final layout gives some of the room to a legend
    return np.minimum(points / (np.array([0.85 * box.width, box.height]) * 72 / ax.figure.dpi), 0.9)


def _within(spots: np.ndarray, others: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Whether each spot lies within reach, across and up, of one of the others; each has a reach of its own."""
    return (np.abs(spots[:, None] - others) < reach).all(axis=2).any(axis=1)
