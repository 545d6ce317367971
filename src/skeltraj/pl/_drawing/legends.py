"""Legends and colour bars, each beside the Axes that it belongs to."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox, ScaledTranslation, TransformedBbox

from .cell_style import ON_DATA, RIGHT, CellStyle
from .panels import axes_size, own_layout
from .values import MOST_LISTED, Values, groups_among

logger = logging.getLogger(__name__)

# chosen by eye; lengths in inches
_GAP = 0.06  # between an Axes and what stands beside it
_GAP_3D = 0.42  # the same, where the name of the third axis stands between
_BAR = 0.13  # width of a colour bar
_BAR_SHARE = 0.7  # height of a colour bar, of its Axes
_BAR_POINTS = 9.0  # of what is written at a colour bar
_FEW = 16  # entries of a legend in letters of the usual size
_SMALL = 8.0  # points, of the names of more
_SIDE = 0.5  # of the width of the Axes: narrower legends stand beside them, whatever their height
_FAR = 1.4  # times larger: too much
_PAGE = 1.6  # width of a page by its height, on which a picture with its legend is to be as large as can be


def group_legend(ax: Axes, values: Values, style: CellStyle, shown: np.ndarray | slice = slice(None)) -> None:
    """Legend of the groups, and of missing values, among the cells shown, if there are some.

    It stands beside the Axes or, as matplotlib has it, inside.
    """
    handles = group_handles(values, shown)
    if not handles:
        return
    size = {} if style.legend_fontsize is None else {"fontsize": in_points(style.legend_fontsize)}
    if style.legend_loc in (RIGHT, ON_DATA):  # no group has a place where there is none
        legend_beside(ax, handles, handletextpad=0.2, **size)
    else:
        ax.legend(handles=handles, loc=style.legend_loc, handletextpad=0.2, **size)


def group_handles(values: Values, shown: np.ndarray | slice = slice(None)) -> list[Artist]:
    """An entry of a legend for each group that has cells among those shown, and for missing values."""
    dot = dict(marker="o", linestyle="", markersize=6)
    missing = Line2D([], [], color=values.na_color, label=values.na_name, **dot)
    if values.categories is None:
        return [] if np.isfinite(values.data[shown]).all() else [missing]
    assert values.colors is not None
    codes = values.data[shown]
    listed = groups_among(codes)
    if len(listed) > MOST_LISTED:
        tell_no_legend(values.name, len(listed))
        listed = []
    groups = [Line2D([], [], color=values.colors[i], label=values.categories[i], **dot) for i in listed]
    return [*groups, missing] if (codes < 0).any() else groups


def tell_no_legend(name: str | None, n_groups: int) -> None:
    """Say that the legend is left out, as there are more than `MOST_LISTED` groups."""
    logger.warning("%r has %d groups, too many for a legend (%d): it is left out.", name, n_groups, MOST_LISTED)


def in_points(size: float | str) -> float:
    """A size of letters in points, given so or as matplotlib's words."""
    return float(FontProperties(size=size).get_size_in_points())


def legend_beside(ax: Axes, handles: Sequence[Artist], *, bar: Colorbar | None = None, **options: Any) -> Legend:
    """A legend at the right of an Axes, in as many columns as its height asks for; below it if that would be too wide.

    Below only in figures of our own: in others there may be something else. There the legend stands beyond the colour
    `bar`, as a part of it: layouts give both room.
    """
    owner = own_layout(ax)
    options = _options(handles, "medium", options)
    n_columns, below = _arranged(ax, options, axes_size(ax))
    if owner is None or not below:
        gap, at = _GAP_3D if hasattr(ax, "get_zlim") else _GAP, ax
        if bar is not None:
            at = bar.ax
            gap = 2 * _GAP + (at.get_tightbbox().x1 - at.get_window_extent().x1) / ax.figure.dpi
        away = ScaledTranslation(gap, 0, ax.figure.dpi_scale_trans)
        beside = dict(loc="center left", bbox_to_anchor=(1, 0.5), bbox_transform=at.transAxes + away)
        return at.legend(borderaxespad=0.0, ncols=n_columns, **beside, **options)
    legend = ax.legend(borderaxespad=0.0, ncols=n_columns, loc="upper center", **options)
    owner.below.append((ax, legend))
    return legend


def figure_legend(
    figure: Figure, handles: Sequence[Artist], size: tuple[float, float], *, below: bool = False, **options: Any
) -> Legend:
    """A legend at the right of all Axes of a figure, of this size in inches together, or below if that is far smaller.

    With `below`, below them unless that makes the picture far larger.
    """
    options = _options(handles, 9, options)
    n_columns, under = _arranged(figure, options, size, below=below)
    loc = "outside lower center" if under else "outside right center"
    return figure.legend(loc=loc, ncols=n_columns, **options)


def color_bar(ax: Axes, drawn: ScalarMappable, label: str | None = None, *, side: str = "right") -> Colorbar:
    """A colour bar at a side of an Axes: beside it in a figure of our own, else in room that this Axes gives up."""
    if own_layout(ax) is None:
        three = hasattr(ax, "get_zlim")
        pad = 0.1 if three else 0.02
        bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.08, aspect=22, shrink=0.7, pad=pad, location=side)
    else:
        beside = ax.inset_axes((1, 0, 1, 1))
        place = _ColorbarLocator(ax, side)
        beside.set_axes_locator(place)
        beside.set_label(place.label)
        upright = side in ("right", "left")
        bar = ax.figure.colorbar(drawn, cax=beside, orientation="vertical" if upright else "horizontal")
        (bar.ax.yaxis if upright else bar.ax.xaxis).set_ticks_position(side)
        (bar.ax.yaxis if upright else bar.ax.xaxis).set_label_position(side)
    bar.outline.set_visible(False)
    bar.ax.grid(False)  # of scanpy's style
    bar.solids.set_alpha(1)
    if label is not None:
        bar.set_label(label, fontsize=_BAR_POINTS)
    return bar


def explain_missing(bar: Colorbar, values: Values, style: CellStyle, shown: np.ndarray | slice = slice(None)) -> None:
    """An entry for cells without a number, if some are shown: under an upright colour bar, at the end of a flat one."""
    handles = group_handles(values, shown)
    if not handles:
        return
    size = _BAR_POINTS if style.legend_fontsize is None else in_points(style.legend_fontsize)
    upright = bar.orientation == "vertical"
    at_left = upright and bar.ax.yaxis.get_ticks_position() == "left"
    away = ScaledTranslation(*((0, -1.5 * _GAP) if upright else (1.5 * _GAP, 0)), bar.ax.figure.dpi_scale_trans)
    bar.ax.legend(
        handles=handles,
        loc=f"upper {'right' if at_left else 'left'}" if upright else "center left",
        bbox_to_anchor=(float(at_left), 0) if upright else (1, 0.5),
        bbox_transform=bar.ax.transAxes + away,
        borderaxespad=0.0,
        borderpad=0.0,
        handlelength=1.0,
        handletextpad=0.2,
        frameon=False,
        fontsize=size,
    )


class _ColorbarLocator:
    """Where a colour bar stands: a known width beside its Axes, or beside the bar before it, in figures of any size."""

    def __init__(self, ax: Axes, side: str) -> None:
        self.ax, self.side = ax, side
        self.label = f"colour bar {side}"  # by which the next one finds it: Colorbar puts its own locator over this
        before = [other for other in ax.child_axes if other.get_label() == self.label]
        self.before = before[-1] if before else None

    def __call__(self, bar: Axes, renderer: RendererBase | None) -> TransformedBbox:
        figure, box, dpi = self.ax.figure, self.ax.bbox, self.ax.figure.dpi
        gap, wide = dpi * (_GAP_3D if hasattr(self.ax, "get_zlim") else _GAP), dpi * _BAR
        around = box if self.side == "right" or not self.ax.axison else self._with_names(renderer)
        if self.before is not None:
            around, gap = self.before.get_tightbbox(renderer), 2 * dpi * _GAP
        across, up = ((1 - _BAR_SHARE) / 2 * length for length in (box.width, box.height))
        x, y = (box.x0 + across, box.x1 - across), (box.y0 + up, box.y1 - up)
        x, y = {
            "right": ((around.x1 + gap, around.x1 + gap + wide), y),
            "left": ((around.x0 - gap - wide, around.x0 - gap), y),
            "top": (x, (around.y1 + gap, around.y1 + gap + wide)),
            "bottom": (x, (around.y0 - gap - wide, around.y0 - gap)),
        }[self.side]
        return TransformedBbox(Bbox.from_extents(x[0], y[0], x[1], y[1]), figure.transSubfigure.inverted())

    def _with_names(self, renderer: RendererBase | None) -> Bbox:
        """The box of the Axes with the names at its sides."""
        parts = [self.ax.bbox, *(axis.get_tightbbox(renderer) for axis in (self.ax.xaxis, self.ax.yaxis))]
        return Bbox.union([part for part in parts if part is not None])


def _options(handles: Sequence[Artist], size: str | float, options: dict[str, Any]) -> dict[str, Any]:
    for handle in handles:
        if str(handle.get_label()).startswith("_"):  # matplotlib leaves such names out
            handle.set_label(f" {handle.get_label()}")
    points = FontProperties(size=size if len(handles) <= _FEW else _SMALL).get_size_in_points()
    font = dict(fontsize=points, title_fontsize=points)
    return dict(handles=handles, frameon=False, columnspacing=1.0) | font | options


def _arranged(
    parent: Axes | Figure, options: dict[str, Any], size: tuple[float, float], *, below: bool = False
) -> tuple[int, bool]:
    """Number of columns of a legend, and whether it stands below Axes of this size in inches."""
    n, (line, columns) = len(options["handles"]), _measured(parent, options)
    n_title = 1 if options.get("title") else 0
    beside = -(-n // max(int(size[1] / line) - n_title, 1))
    under = max((k for k in range(1, n + 1) if columns(k) <= size[0]), default=1)
    if not below and columns(beside) <= _SIDE * size[0]:
        return beside, False
    height = size[1] + (-(-n // under) + n_title) * line
    page_below = max(max(size[0], columns(under)) / _PAGE, height)
    page_beside = max((size[0] + columns(beside)) / _PAGE, size[1])
    better = page_below < (_FAR if below else 1) * page_beside
    return (under, True) if better else (beside, False)


def _measured(parent: Axes | Figure, options: dict[str, Any]) -> tuple[float, Callable[[int], float]]:
    """The height of a line of a legend, and its width by the number of columns, in inches."""
    labels = [str(handle.get_label()) for handle in options["handles"]]
    legend = Legend(parent, labels=labels, loc="center", **options)
    dpi = legend.get_figure().dpi
    texts = np.array([text.get_window_extent().width / dpi for text in legend.get_texts()])
    font = options["fontsize"] / 72
    key = font * (legend.handlelength + legend.handletextpad)
    line = legend.get_window_extent().height / dpi / (len(texts) + (1 if options.get("title") else 0))

    def width(columns: int) -> float:
        parts = [part for part in np.array_split(texts, columns) if len(part)]
        gaps = font * (legend.columnspacing * (len(parts) - 1) + 2 * legend.borderpad)
        return float(sum(part.max() + key for part in parts) + gaps)

    return line, width
