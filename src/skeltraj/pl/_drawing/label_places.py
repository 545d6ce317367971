"""Where names stand beside the points that they name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

_ROOM_FACTOR = 1.03  # so many times its size each name has, so that two do not touch; chosen by eye


def label_places(
    ax: Axes, centers: np.ndarray, names: Sequence[str], *, size: float, others: np.ndarray | None = None
) -> np.ndarray:
    """Places for names near their points, in fractions of the Axes; none covers another name or a point.

    A name is wanted beside its point, on the side away from the mean of all points. Each name in turn takes the place
    nearest to that, of a grid over the Axes, which no earlier name and no point needs; if there is none, the nearest.
    `others` are points without names, (n, 2), which names leave free where they can.
    """
    ax.figure.draw_without_rendering()  # legends and colour bars then have their room
    to_axes = ax.transData + ax.transAxes.inverted()
    points = to_axes.transform(centers)
    taken = points if others is None else np.concatenate([points, to_axes.transform(others)])
    sizes = name_sizes(ax, names, size)
    away = points - points.mean(axis=0)
    length = np.linalg.norm(away, axis=1, keepdims=True)
    wanted = points + (0.05 + sizes / 2) * np.where(length > 1e-9, away / np.maximum(length, 1e-9), [0.0, 1.0])
    margin = np.minimum(sizes / 2 + 0.01, 0.49)  # to the edge of the Axes
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 81), np.linspace(0, 1, 101)), axis=-1).reshape(-1, 2)
    places = np.empty_like(points)
    for i in range(len(points)):
        spots = np.clip(np.concatenate([wanted[i : i + 1], grid]), margin[i], 1 - margin[i])
        covered = _within(spots, places[:i], (sizes[:i] + sizes[i]) / 2)
        for near, room in ((points, 0.015), (taken, 0.01)):  # the second in vain where marks are everywhere
            on_points = covered | _within(spots, near, np.broadcast_to(sizes[i] / 2 + room, near.shape))
            covered = covered if on_points.all() else on_points
        if not covered.all():
            spots = spots[~covered]
        places[i] = spots[np.linalg.norm(spots - wanted[i], axis=1).argmin()]
    return places


def name_sizes(ax: Axes, names: Sequence[str], size: float) -> np.ndarray:
    """Width and height of each name in bold letters of this size, in fractions of the Axes as laid out, (n, 2)."""
    texts = [ax.figure.text(0.5, 0.5, name, fontsize=size, fontweight="bold") for name in names]
    boxes = [text.get_window_extent() for text in texts]
    for text in texts:
        text.remove()
    room = ax.get_window_extent()
    return np.minimum(_ROOM_FACTOR * np.array([[b.width / room.width, b.height / room.height] for b in boxes]), 0.9)


def _within(spots: np.ndarray, others: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Whether each spot lies within reach, across and up, of one of the others; each has a reach of its own."""
    return (np.abs(spots[:, None] - others) < reach).all(axis=2).any(axis=1)
