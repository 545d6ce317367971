"""The Axes of a picture with several panels, and what frames each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes


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
