"""Cells as points on Axes, in two or three dimensions, with a legend or a colour bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba_array

from .cell_style import ON_DATA, CellStyle
from .labels import draw_labels
from .legends import color_bar, explain_missing, group_legend, in_points
from .number_scale import number_scale
from .settings import vector_friendly
from .values import Values

MAX_VECTOR_POINTS = 20_000  # more cells, or lines of a mesh, are drawn as an image inside vector files; chosen by eye


def point_size(n: int) -> float:
    """Area of a cell's mark in square points: smaller the more there are."""
    return float(np.clip(16_000 / max(n, 1), 1.5, 26))


def as_image(n: int, most: int = MAX_VECTOR_POINTS) -> bool:
    """Whether `n` marks are drawn as an image inside vector files: if they are many, or scanpy was told to."""
    return n > most or vector_friendly()


def colors_of_cells(colors: Sequence[Any], group: np.ndarray, alpha: float | None) -> np.ndarray:
    """Red, green, blue and opacity of each cell, (n, 4), by its group: each name of a colour is read once."""
    of_cells: np.ndarray = to_rgba_array(colors, alpha)[group]
    return of_cells


def draw_cells(ax: Axes, points: np.ndarray, values: Values, style: CellStyle, *, bar_label: str | None = None) -> None:
    """Cells as points; groups with a legend, numbers with a colour bar, missing values in grey below the rest.

    Cells that have no place (NaN) are not drawn, and neither the legend nor the colour bar is about them.
    """
    options: dict[str, Any] = dict(
        s=point_size(len(points)) if style.size is None else style.size,
        linewidths=0,
        rasterized=as_image(len(points)),
        **({"depthshade": False} if points.shape[1] == 3 else {}),
    )
    alpha = style.alpha
    if values.categories is not None:
        absent = values.data < 0
    else:
        absent = ~np.isfinite(values.data)
    if absent.any():
        ax.scatter(*points[absent].T, color=values.na_color, alpha=0.6 * alpha, label="_missing", **options)
    shown, placed = np.flatnonzero(~absent), np.isfinite(points).all(axis=1)
    if not len(shown) and values.name is None:  # no colour was asked for
        return
    if values.categories is None and len(shown):
        in_place = shown[placed[shown]]
        cmap, norm = number_scale(values.data[in_place if len(in_place) else shown], style)
        if style.sort_order:
            shown = shown[np.argsort(values.data[shown], kind="stable")]  # the high ones on top
        drawn = ax.scatter(*points[shown].T, c=values.data[shown], cmap=cmap, norm=norm, alpha=alpha, **options)
        if style.legend and style.colorbar_loc is not None:
            bar = color_bar(ax, drawn, bar_label, side=style.colorbar_loc)
            if style.legend_loc is not None:
                explain_missing(bar, values, style, placed)
        return
    if len(shown):
        shown = np.random.default_rng(0).permutation(shown)  # no group hides another by being drawn last
        ax.scatter(*points[shown].T, c=colors_of_cells(values.colors or (), values.data[shown], alpha), **options)
    if style.legend and style.legend_loc == ON_DATA and values.categories is not None:
        _names_on_data(ax, points, values, style)
    elif style.legend and style.legend_loc is not None:
        group_legend(ax, values, style, placed)


def _names_on_data(ax: Axes, points: np.ndarray, values: Values, style: CellStyle) -> None:
    """Each group's name at the median of its cells, or near it if there is another name."""
    assert values.categories is not None
    names, at = [], []
    for code in np.unique(values.data[values.data >= 0]):
        of = points[(values.data == code) & np.isfinite(points).all(axis=1)]
        if len(of):
            names.append(values.categories[code])
            at.append(np.median(of, axis=0))
    if names:
        size = in_points("medium" if style.legend_fontsize is None else style.legend_fontsize)
        draw_labels(ax, np.stack(at), names, size=size, radius=0.0, on=True)
