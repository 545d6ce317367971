"""Cells as points on Axes, in two or three dimensions, with a legend or a colour bar."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .legends import color_bar, group_legend
from .values import MISSING, Values

MAX_VECTOR_POINTS = 20_000  # more cells, or lines of a mesh, are drawn as an image inside vector files; chosen by eye


def point_size(n: int) -> float:
    """Area of a cell's mark in square points: smaller the more there are."""
    return float(np.clip(16_000 / max(n, 1), 1.5, 26))


def draw_cells(
    ax: Axes,
    points: np.ndarray,
    values: Values,
    *,
    size: float | None = None,
    alpha: float = 0.85,
    cmap: str = "viridis",
    legend: bool = True,
    bar_label: str | None = None,
) -> None:
    """Cells as points; groups with a legend, numbers with a colour bar, missing values in grey below the rest."""
    style: dict[str, Any] = dict(
        s=point_size(len(points)) if size is None else size,
        linewidths=0,
        rasterized=len(points) > MAX_VECTOR_POINTS,
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
            color_bar(ax, drawn, bar_label)
        return
    assert values.colors is not None
    shown = np.random.default_rng(0).permutation(shown)  # no group hides another by being drawn last
    colors = np.array(values.colors)[values.data[shown]]
    ax.scatter(*points[shown].T, c=colors, alpha=alpha, **style)
    if legend:
        group_legend(ax, values)
