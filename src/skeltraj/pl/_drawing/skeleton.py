"""A skeleton on Axes, in two or three dimensions: its lines, its root, the way its branches run."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from .cells import as_image
from .labels import keep_free
from .style import ground, ink, rim

_ARROW_SPAN = 0.08  # share of a branch on either side of its middle that says which way an arrow points; chosen by eye


def draw_lines(
    ax: Axes,
    segments: np.ndarray,
    *,
    color: str | None = None,
    width: float = 1.2,
    order: float = 3,
    rimmed: bool = True,
) -> None:
    """Lines, (n, n_places, 2 or 3), with a thin rim that keeps them apart from the cells under them; in ink."""
    three = segments.shape[2] == 3
    kind = Line3DCollection if three else LineCollection
    collection = kind(segments, colors=color or ink(), linewidths=width, capstyle="round", zorder=order)
    if rimmed:
        collection.set_path_effects(rim(ax, width + 1.2))
    add_lines(ax, collection)


def draw_mesh(ax: Axes, segments: np.ndarray, weights: np.ndarray) -> None:
    """Thin lines beneath the cells, (n, 2, 2 or 3), dark where `weights`, (n,), are large: by their rank."""
    three = segments.shape[2] == 3
    rank = np.argsort(np.argsort(weights, kind="stable"), kind="stable") / max(1, len(weights) - 1)
    colors = np.column_stack([np.tile(to_rgb(ink()), (len(weights), 1)), 0.08 + 0.5 * rank])
    kind = Line3DCollection if three else LineCollection
    collection = kind(segments, colors=colors, linewidths=0.6, zorder=0.5, rasterized=as_image(len(segments)))
    add_lines(ax, collection)


def add_lines(ax: Axes, collection: LineCollection | Line3DCollection) -> None:
    """Add lines, and make the view hold them: older releases of matplotlib leave it as it is."""
    (ax.add_collection3d if isinstance(collection, Line3DCollection) else ax.add_collection)(collection)
    ax.autoscale_view()


def draw_root(ax: Axes, at: np.ndarray, *, size: float = 130, hollow: bool = False, order: float = 6) -> None:
    """A star at the root, (2,) or (3,); hollow: in the colour of the ground, to be seen on a mark of any colour."""
    face, edge = (ground(ax), ink()) if hollow else (ink(), ground(ax))
    ax.scatter(*at[:, None], marker="*", s=size, color=face, edgecolors=edge, zorder=order)
    keep_free(ax, at, np.sqrt(size) / 2)


def draw_arrow_head(ax: Axes, path: np.ndarray) -> None:
    """An arrow head at the middle of a line through places, (n, 2), the way they follow one another."""
    at = np.r_[0.0, np.cumsum(np.sqrt((np.diff(path, axis=0) ** 2).sum(axis=1)))]
    if at[-1] == 0:
        return
    # the way from a little before the middle to a little behind it: single edges may point anywhere
    places = at[-1] * np.array([0.5 - _ARROW_SPAN, 0.5, 0.5 + _ARROW_SPAN])
    before, middle, behind = np.column_stack([np.interp(places, at, column) for column in path.T])
    style = dict(arrowstyle="-|>", mutation_scale=16, color=ink(), linewidth=0, shrinkA=0, shrinkB=0)
    keep_free(ax, middle, 6.0)
    ax.annotate("", middle + (behind - before) / 2, middle, arrowprops=style, zorder=4, annotation_clip=False)
