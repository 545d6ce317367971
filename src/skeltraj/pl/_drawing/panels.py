"""The Axes of a picture with several panels, and what frames each."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.transforms import ScaledTranslation

from skeltraj.core._runtime import check

from .settings import framed, panel_size
from .style import faded
from .values import Values

_GAP = 0.08  # inches between an Axes with its names and the legend below
_PAD_3D = 0.2  # inches at the sides of Axes in three dimensions, for the name of the third
_FEW_ROWS = 3  # of a grid, before there is a further column
_FEWEST_LETTERS = 8  # in a line
_LETTER = 0.58  # mean width of a letter by the size of letters, a little too large, so that lines fit
_ROOM = 20.0  # inches around each Axes, before it is known what stands there
_ROUNDS = 3  # of fitting a figure around its Axes; what stands beside them changes little with the figure's size


class PanelLayout(ConstrainedLayoutEngine):
    """Constrained layout of a figure of our own, around Axes of a known size.

    Parameters
    ----------
    size
        Width and height of each Axes, in inches; of the largest, where they differ.
    """

    def __init__(self, size: tuple[float, float]) -> None:
        super().__init__(w_pad=0.06, h_pad=0.05, wspace=0, hspace=0)
        self.size = size
        self.below: list[tuple[Axes, Legend]] = []  # legends that stand under their Axes, and under what is named there

    def execute(self, fig: Figure) -> None:
        for ax, legend in self.below:
            parts = [other.get_tightbbox() for other in ax.child_axes]  # colour bars
            parts += [ax.xaxis.get_tightbbox()] if ax.axison else []
            lowest = min([ax.bbox.y0, *(part.y0 for part in parts if part is not None)])
            depth = _GAP + (ax.bbox.y0 - lowest) / fig.dpi
            legend.set_bbox_to_anchor((0.5, 0), ax.transAxes + ScaledTranslation(0, -depth, fig.dpi_scale_trans))
        super().execute(fig)


def own_layout(ax: Axes) -> PanelLayout | None:
    """The layout of a figure of our own."""
    engine = ax.figure.get_layout_engine()
    return engine if isinstance(engine, PanelLayout) else None


def axes_size(ax: Axes) -> tuple[float, float]:
    """Width and height of an Axes in inches: in a figure of our own those that it will have."""
    owner = own_layout(ax)
    if owner is not None:
        return owner.size
    box = ax.get_window_extent()
    return box.width / ax.figure.dpi, box.height / ax.figure.dpi


def panels(n: int, *, ax: Axes | None, three: bool, ncols: int, width: float = 4.6, height: float = 4.0) -> list[Axes]:
    """`n` Axes: the one given, or a new figure's."""
    ncols = check.count(ncols, "ncols")
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
    width, height = panel_size(width, height)
    if three:
        width = height = min(width, height)  # matplotlib draws them square
    layout = PanelLayout((width, height))
    figure = plt.figure(figsize=((width + 1) * columns, (height + 1) * rows), layout=layout)
    # drawn in the order of zorder, not by depth; at the corner to which the layout measures what stands around them
    options: dict[str, Any] = {"projection": "3d", "computed_zorder": False, "anchor": "NE"} if three else {}
    axes = [figure.add_subplot(rows, columns, i + 1, **options) for i in range(n)]
    if three:
        layout.set(w_pad=_PAD_3D)
        for panel in axes:
            make_room_3d(panel)
    return axes


def grid_of(n: int) -> tuple[int, int]:
    """Rows and columns of a grid that is filled column by column, as of one panel for each lineage."""
    rows = min(n, max(_FEW_ROWS, math.ceil(math.sqrt(n))))
    return rows, -(-n // rows)


def make_room_3d(ax: Any) -> None:
    """Room for the names of the axes in three dimensions: it does not change with the size of the Axes."""
    ax.set_box_aspect(None, zoom=0.9)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_in_layout(False)


def panel_titles(title: str | Sequence[str] | None, values: Sequence[Values]) -> list[str | None]:
    """What stands above each panel: what was given, for all or for each, or the names of the colours."""
    if title is None:
        return [of.name for of in values]
    titles = [title] * len(values) if isinstance(title, str) else check.texts(title, "title")
    if len(titles) != len(values):
        raise ValueError(f"title has {len(titles)} entries for {len(values)} panel(s); wanted one for each.")
    return [str(one) for one in titles]


def frame(ax: Axes, axis_names: Sequence[str], title: str | None, *, frameon: bool | None = True) -> None:
    """Names of the components, no ticks: their units mean nothing on their own."""
    ax.set_xlabel(axis_names[0])
    ax.set_ylabel(axis_names[1])
    ax.set_xticks([])
    ax.set_yticks([])
    if len(axis_names) == 3:
        for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
            axis.set_pane_color(faded(ax, 0.06))  # matplotlib's own is light grey on dark ground too
        ax.set_zlabel(axis_names[2])
        ax.set_zticks([])
    else:
        ax.spines[["top", "right"]].set_visible(False)
    if title:
        draw_title(ax, title)
    if not framed(frameon):
        ax.set_axis_off()


def draw_title(ax: Axes, title: str, *, size: float | str | None = None, **options: Any) -> None:
    """A title above an Axes, in as many lines as its width asks for; in letters of the usual size, or of this one."""
    size = plt.rcParams["axes.titlesize"] if size is None else size
    ax.set_title(in_lines(title, axes_size(ax)[0], size), fontsize=size, **options)


def in_lines(text: str, width: float, size: float | str) -> str:
    """Text broken into lines about `width` inches wide in letters of this size, at spaces if it can."""
    points = FontProperties(size=size).get_size_in_points()
    most = max(int(72 * width / (_LETTER * points)), _FEWEST_LETTERS)
    return "\n".join(line if len(line) <= most else textwrap.fill(line, most) for line in text.split("\n"))


def shortened(name: str, most: int) -> str:
    """A name of at most so many letters, the last of them dots where others are left out."""
    return name if len(name) <= most else name[: most - 1] + "…"


def fit_figure(axes: Sequence[Axes], *, title: str | None = None, title_size: float | None = None) -> None:
    """Make a figure as large as its Axes, of the size that its layout knows, and what stands beside them need."""
    figure = axes[0].figure
    layout = figure.get_layout_engine()
    if isinstance(figure, Figure) and isinstance(layout, PanelLayout):
        grid = axes[0].get_gridspec()
        fit_around(figure, axes[0], layout.size, grid.ncols, grid.nrows, title=title, title_size=title_size)


def fit_around(
    figure: Figure,
    ax: Axes,
    size: tuple[float, float],
    columns: float,
    rows: float,
    *,
    title: str | None = None,
    title_size: float | None = None,
) -> None:
    """Resize a figure until one of its Axes has a size, in inches; the figure has `columns` and `rows` of them.

    A title above all is broken into as many lines as the width of the figure asks for.
    """
    letters = plt.rcParams["figure.titlesize"] if title_size is None else title_size
    drawn = figure.suptitle(title, fontsize=letters) if title else None
    _fit_around(figure, ax, size, columns, rows)
    if title and drawn is not None:
        lines = in_lines(title, figure.get_size_inches()[0], letters)
        if lines != title:
            drawn.set_text(lines)
            _fit_around(figure, ax, size, columns, rows)


def _fit_around(figure: Figure, ax: Axes, size: tuple[float, float], columns: float, rows: float) -> None:
    width, height = size
    figure.set_size_inches(columns * (width + _ROOM), rows * (height + _ROOM))
    for _ in range(_ROUNDS):
        figure.get_layout_engine().execute(figure)
        place = ax.get_position(original=True)
        width, height = figure.get_size_inches()
        lacking = size[0] - place.width * width, size[1] - place.height * height
        if max(abs(x) for x in lacking) < 0.01:
            return
        figure.set_size_inches(width + columns * lacking[0], height + rows * lacking[1])
    figure.get_layout_engine().execute(figure)
