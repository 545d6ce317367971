"""Cells, trees and legends on Axes, in two or three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from skeltraj._keys import names
from skeltraj.core import Graph

from .values import MISSING, Values

TREE = "#1A1A1A"  # colour of the skeleton
# chosen by eye
_MAX_READABLE_IDS = 14  # of forks and tips that can still be told apart by their names
_ARROW_SPAN = 0.08  # share of a branch on either side of its middle that says which way an arrow points
_MAX_VECTOR_POINTS = 20_000  # more cells, or lines of a mesh, are drawn as an image inside vector files


def panels(n: int, *, ax: Axes | None, three: bool, ncols: int, width: float = 4.6, height: float = 4.0) -> list[Axes]:
    """`n` Axes: the one given, or a new figure's."""
    if n == 0:
        raise ValueError("color is an empty list; wanted at least one name, or None.")
    if ax is not None:
        if n != 1:
            raise ValueError(f"ax was given for {n} panels; wanted one colour with ax, or no ax.")
        if three != hasattr(ax, "get_zlim"):
            raise ValueError(f"ax is {'not ' if three else ''}three-dimensional; wanted one for the components named.")
        return [ax]
    columns = min(n, ncols)
    rows = -(-n // columns)
    if three:
        width += 1.0
    figure = plt.figure(figsize=(width * columns, height * rows), layout="constrained")
    # drawn in the order of zorder, not by depth; the axes at the left leave room for a legend
    options: dict[str, Any] = {"projection": "3d", "computed_zorder": False, "anchor": "W"} if three else {}
    axes = [figure.add_subplot(rows, columns, i + 1, **options) for i in range(n)]
    if three:
        for panel in axes:
            panel.set_box_aspect(None, zoom=0.9)  # room for the names of the axes
    return axes


def point_size(n: int) -> float:
    """Area of a cell's mark in square points: smaller the more there are."""
    return float(np.clip(16_000 / max(n, 1), 1.5, 26))


def cells(
    ax: Axes,
    points: np.ndarray,
    values: Values,
    *,
    size: float | None = None,
    alpha: float = 0.85,
    cmap: str = "viridis",
    legend: bool = True,
) -> None:
    """Cells as points; groups with a legend, numbers with a colour bar, missing values in grey below the rest."""
    style: dict[str, Any] = dict(
        s=point_size(len(points)) if size is None else size,
        linewidths=0,
        rasterized=len(points) > _MAX_VECTOR_POINTS,
        **({"depthshade": False} if points.shape[1] == 3 else {}),
    )
    if values.categories is not None:
        missing = values.data < 0
    else:
        missing = ~np.isfinite(values.data)
    if missing.any():
        ax.scatter(*points[missing].T, color=MISSING, alpha=0.6 * alpha, label="_missing", **style)
    shown = np.flatnonzero(~missing)
    if not len(shown):
        return
    if values.categories is None:
        shown = shown[np.argsort(values.data[shown], kind="stable")]  # the high ones on top
        drawn = ax.scatter(*points[shown].T, c=values.data[shown], cmap=cmap, alpha=alpha, **style)
        if legend:
            bar = ax.figure.colorbar(drawn, ax=ax, shrink=0.7, aspect=22, pad=0.02 if points.shape[1] == 2 else 0.1)
            bar.outline.set_visible(False)
            bar.solids.set_alpha(1)
        return
    assert values.colors is not None
    shown = np.random.default_rng(0).permutation(shown)  # no group hides another by being drawn last
    colors = np.array(values.colors)[values.data[shown]]
    ax.scatter(*points[shown].T, c=colors, alpha=alpha, **style)
    if legend:
        group_legend(ax, values)


def group_legend(ax: Axes, values: Values) -> None:
    """Legend of the groups that have cells, beside the Axes."""
    assert values.categories is not None
    assert values.colors is not None
    present = np.unique(values.data)
    handles = [
        Line2D([], [], marker="o", linestyle="", color=values.colors[i], label=values.categories[i], markersize=6)
        for i in present[present >= 0]
    ]
    if (present < 0).any():
        handles.append(Line2D([], [], marker="o", linestyle="", color=MISSING, label="missing", markersize=6))
    ax.legend(
        handles=handles,
        loc="center left",
        bbox_to_anchor=(1.1 if hasattr(ax, "get_zlim") else 1.0, 0.5),
        frameon=False,
        handletextpad=0.2,
        ncols=1 + (len(handles) - 1) // 16,
    )


def lines(
    ax: Axes, segments: np.ndarray, *, color: str = TREE, width: float = 1.2, order: float = 3, rim: bool = True
) -> None:
    """Straight lines, (n, 2, 2 or 3), with a thin white rim that keeps them apart from the cells under them."""
    three = segments.shape[2] == 3
    kind = Line3DCollection if three else LineCollection
    collection = kind(segments, colors=color, linewidths=width, capstyle="round", zorder=order)
    if rim:
        white = patheffects.Stroke(linewidth=width + 1.2, foreground="white")
        collection.set_path_effects([white, patheffects.Normal()])
    (ax.add_collection3d if three else ax.add_collection)(collection)


def arrow_head(ax: Axes, path: np.ndarray) -> None:
    """An arrow head at the middle of a line through places, (n, 2), the way they follow one another."""
    at = np.r_[0.0, np.cumsum(np.sqrt((np.diff(path, axis=0) ** 2).sum(axis=1)))]
    if at[-1] == 0:
        return
    # the way from a little before the middle to a little behind it: single edges may point anywhere
    places = at[-1] * np.array([0.5 - _ARROW_SPAN, 0.5, 0.5 + _ARROW_SPAN])
    before, middle, behind = np.column_stack([np.interp(places, at, column) for column in path.T])
    style = dict(arrowstyle="-|>", mutation_scale=16, color=TREE, linewidth=0, shrinkA=0, shrinkB=0)
    ax.annotate("", middle + (behind - before) / 2, middle, arrowprops=style, zorder=4, annotation_clip=False)


def mesh(ax: Axes, segments: np.ndarray, weights: np.ndarray) -> None:
    """Thin lines beneath the cells, (n, 2, 2 or 3), dark where `weights`, (n,), are large: by their rank."""
    three = segments.shape[2] == 3
    rank = np.argsort(np.argsort(weights, kind="stable"), kind="stable") / max(1, len(weights) - 1)
    colors = np.column_stack([np.tile(to_rgb(TREE), (len(weights), 1)), 0.08 + 0.5 * rank])
    kind = Line3DCollection if three else LineCollection
    collection = kind(
        segments, colors=colors, linewidths=0.6, zorder=0.5, rasterized=len(segments) > _MAX_VECTOR_POINTS
    )
    (ax.add_collection3d if three else ax.add_collection)(collection)


def label(ax: Axes, at: np.ndarray, text: str, *, size: float = 8, weight: str = "bold", **options: Any) -> None:
    """A word with a white rim."""
    drawn = ax.text(*at, text, fontsize=size, fontweight=weight, zorder=6, **options)
    drawn.set_path_effects([patheffects.Stroke(linewidth=2.4, foreground="white"), patheffects.Normal()])


def ids(ax: Axes, graph: Graph, at: np.ndarray, *, show: bool | None, skip: int = -1) -> None:
    """Names of forks and tips at the places of their nodes; None: unless there are too many to read."""
    if show is False or (show is None and len(graph.tips) + len(graph.forks) > _MAX_READABLE_IDS):
        return
    for prefix, marked in (("F", graph.forks), ("T", graph.tips)):
        for node, name in zip(marked, names(prefix, len(marked)), strict=True):
            if node != skip and np.isfinite(at[node]).all():
                label(ax, at[node], f"  {name}", size=7, va="center")


def frame(ax: Axes, axis_names: Sequence[str], title: str | None) -> None:
    """Names of the components, no ticks: their units mean nothing on their own."""
    ax.set_xlabel(axis_names[0])
    ax.set_ylabel(axis_names[1])
    ax.set_xticks([])
    ax.set_yticks([])
    if len(axis_names) == 3:
        ax.set_zlabel(axis_names[2])
        ax.set_zticks([])
    else:
        ax.spines[["top", "right"]].set_visible(False)
    if title:
        ax.set_title(title)
