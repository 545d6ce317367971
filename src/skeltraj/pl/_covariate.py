from __future__ import annotations

import textwrap
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from anndata import AnnData
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Keys
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.checks import available
from skeltraj.pl._drawing.cell_style import CellStyle, Palette
from skeltraj.pl._drawing.cells import as_image, colors_of_cells, point_size
from skeltraj.pl._drawing.legends import figure_legend
from skeltraj.pl._drawing.names_as_written import names_as_written
from skeltraj.pl._drawing.panels import PanelLayout, fit_figure, grid_of
from skeltraj.pl._drawing.show_or_return import check_show_or_return, show_or_return
from skeltraj.pl._drawing.style import GAP
from skeltraj.pl._drawing.values import Values, stretch_colors, values_of

# chosen by eye; lengths in inches
_WIDTH = 3.5  # of a panel
_HEIGHT = 1.75
_HEIGHT_ALONE = 2.3  # of one in a single row
_LEVEL = 0.13  # for each level, so that their names keep apart
_SPREAD = 0.28  # half of the height over which the cells of a level, of 1, are strewn
_EDGE = 0.09  # half of that of yes and of no, outside of 0 to 1
_LABEL = 28  # letters of the column's name beside one panel


@as_declared
@shared_texts
@names_as_written()
def covariate(
    adata: AnnData,
    column: str,
    key: str = "ddrtree",
    *,
    lineages: Sequence[str] | None = None,
    n_bins: int = 10,
    shares: bool = False,
    size: float | None = None,
    alpha: float = 0.5,
    palette: Palette = None,
    legend: bool = True,
    title: str | None = None,
    show: bool | None = None,
    return_fig: bool | None = None,
) -> list[Axes] | Figure:
    """Draw a numeric, ordinal or yes-or-no column of `obs` along every lineage.

    Each lineage has a panel over pseudotime, with the cells in the colours of their branches, and the mean of each
    stretch of pseudotime with its 95 % interval (:func:`skeltraj.get.covariate`). Levels of ordered categories are
    numbered from 1, with their cells scattered around them; yes or no becomes a share, with the cells above and below.
    For numbers, the axis covers the cells: intervals from a few cells may extend beyond it.

    Parameters
    ----------
    <adata_ordered>
    column
        Column of `obs`: numbers, booleans, two values (the share of the second is drawn), or ordered categories.
    <key>
    lineages
        Names of the lineages to draw, in that order. None: all.
    n_bins
        Stretches of pseudotime along each lineage, with equal numbers of cells.
    shares
        Draw the shares of the levels in each stretch, stacked, in place of cells and means. Of ordered categories.
    <size_alpha>
    <palette>
    <legend>
    <figure_title>
    <show>

    Returns
    -------
    The Axes, one for each lineage; with `return_fig` the Figure.

    Raises
    ------
    KeyError
        If there is no such column or lineage, or the cells have not been ordered.
    TypeError, ValueError
        If the column holds groups without an order; if `shares` is asked for of other than ordered categories; if
        `lineages` is empty or a number is out of range.

    Examples
    --------
    .. plot::
        :include-source:

        <example_picture>
        adata.obs["Gata1"] = adata.X[:, adata.var_names.get_loc("Gata1")]
        st.pl.covariate(adata, "Gata1", lineages=["T1", "T5"])
    """
    check_show_or_return(show, return_fig)
    CellStyle(size=size, alpha=alpha, palette=palette)  # refuses what is none
    tables = get.covariate(adata, column, key, n_bins=n_bins)
    if shares and tables.kind != "ordinal":
        raise ValueError(f"shares=True wants ordered categories; adata.obs[{column!r}] is {tables.kind}.")
    there = list(tables.on_lineage.columns)
    chosen = there if lineages is None else check.texts(lineages, "lineages")
    unknown = [name for name in chosen if name not in there]
    if unknown:
        raise KeyError(f"lineages: there is no {unknown[0]!r}. Available: {available(there)}.")
    if not chosen:
        raise ValueError("lineages is an empty list; wanted at least one, or None for all.")
    branch = values_of(adata, Keys(key).branch, style=CellStyle(palette=palette))
    pseudotime = adata.obs[Keys(key).pseudotime].to_numpy(dtype=np.float64)
    axes, rows = _panels(len(chosen), len(tables.levels) if tables.kind == "ordinal" and not shares else 0)
    for ax, name in zip(axes, chosen, strict=True):
        if shares:
            _stacked(ax, tables.shares[tables.shares["lineage"] == name], tables.levels)
        else:
            on = tables.on_lineage[name].to_numpy() & np.isfinite(pseudotime)
            _cells(ax, tables, pseudotime, branch, on, size, alpha)
            _means(ax, tables.means[tables.means["lineage"] == name])
        _scale(ax, tables, shares)
        ax.set_title("all cells" if name == "all" else f"lineage to {name}", fontsize=10)
    if tables.kind == "numeric":
        _hold_cells(axes[0], tables, chosen, pseudotime)
    figure = axes[0].figure
    label = f"share of {column}" if tables.kind == "yes or no" or shares else column
    if tables.share_of:
        label += f" = {tables.share_of}"
    figure.supylabel(textwrap.fill(label, _LABEL * rows), fontsize=10)
    if legend:
        _legend(figure, tables, branch, chosen, shares, rows)
    fit_figure(axes, title=title)
    return show_or_return(axes, show=show, return_fig=return_fig)


def _panels(n: int, n_levels: int) -> tuple[list[Axes], int]:
    """`n` Axes, filled column by column, with axes in common; and the number of rows. Levels are named beside them."""
    rows, columns = grid_of(n)
    height = max(_HEIGHT if rows > 1 else _HEIGHT_ALONE, _LEVEL * n_levels)
    figure = plt.figure(layout=PanelLayout((_WIDTH, height)))
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    flat = list(grid.T.ravel())
    for ax in flat[n:]:
        ax.remove()
    for i, ax in enumerate(flat[:n]):
        ax.tick_params(labelbottom=True)
        if i % rows == rows - 1 or i == n - 1:  # not once for the figure, where a legend below would stand on it
            ax.set_xlabel("pseudotime", fontsize=10)
    return flat[:n], rows


def _cells(
    ax: Axes,
    tables: get.CovariateTables,
    pseudotime: np.ndarray,
    branch: Values,
    on: np.ndarray,
    size: float | None,
    alpha: float,
) -> None:
    height = tables.values.to_numpy()
    shown = np.flatnonzero(on & np.isfinite(height))
    shown = np.random.default_rng(0).permutation(shown)  # no branch hides another by being drawn last
    strewn = np.random.default_rng(1).uniform(-1, 1, len(height))  # of all cells: the same in every panel
    if tables.kind == "ordinal":
        height = height + _SPREAD * strewn
    elif tables.kind == "yes or no":
        height = np.where(height > 0, 1 + 1.4 * _EDGE, -1.4 * _EDGE) + _EDGE * strewn
    assert branch.colors is not None
    colors = [*branch.colors, branch.na_color]  # the last for -1
    ax.scatter(
        pseudotime[shown],
        height[shown],
        c=colors_of_cells(colors, branch.data[shown], alpha),
        s=point_size(len(on)) if size is None else size,
        linewidths=0,
        rasterized=as_image(len(on)),
    )


def _means(ax: Axes, means: pd.DataFrame) -> None:
    ink, paper = plt.rcParams["text.color"], plt.rcParams["axes.facecolor"]
    at, mean = means["middle"].to_numpy(), means["mean"].to_numpy()
    below, above = mean - means["low"].to_numpy(), means["high"].to_numpy() - mean
    ax.plot(at, mean, color=paper, linewidth=3.4, zorder=3, gid=GAP)  # a rim that keeps the line apart from the cells
    ax.errorbar(
        at,
        mean,
        yerr=np.maximum(np.nan_to_num([below, above]), 0),
        color=ink,
        linewidth=1.6,
        elinewidth=1.3,
        marker="o",
        markersize=4.2,
        zorder=4,
    )


def _stacked(ax: Axes, shares: pd.DataFrame, levels: list[str]) -> None:
    """Shares of the levels as steps, the first level at the bottom."""
    low: np.ndarray | None = None
    for name, color in zip(levels, stretch_colors(len(levels)), strict=True):
        of = shares[shares["level"] == name]
        bounds = np.concatenate([of[Column.START], of[Column.END].iloc[-1:]])
        low = np.zeros(len(of)) if low is None else low
        top = low + of["share"].to_numpy()
        ax.stairs(top, bounds, baseline=low, fill=True, color=color, linewidth=0)
        low = top


def _scale(ax: Axes, tables: get.CovariateTables, shares: bool) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    if shares:
        ax.grid(False)  # of scanpy's style
        ax.set_ylim(0, 1)
        ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    elif tables.kind == "yes or no":
        ax.set_ylim(-2.6 * _EDGE, 1 + 2.6 * _EDGE)
        ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
        ax.spines["left"].set_bounds(0, 1)
    elif tables.kind == "ordinal":
        n = len(tables.levels)
        ax.set_ylim(0.5, n + 0.5)
        names = [textwrap.shorten(name, 18, placeholder="…") for name in tables.levels]
        ax.set_yticks(range(1, n + 1), names, fontsize=9 if n <= 6 else 7)


def _hold_cells(ax: Axes, tables: get.CovariateTables, lineages: list[str], pseudotime: np.ndarray) -> None:
    """An axis, that of all panels, as long as the cells ask for: an interval of two cells may be many times as long."""
    on = tables.on_lineage[lineages].any(axis=1).to_numpy() & np.isfinite(pseudotime)
    height = tables.values.to_numpy()[on]
    height = height[np.isfinite(height)]
    if len(height) and np.ptp(height) > 0:
        margin = plt.rcParams["axes.ymargin"] * np.ptp(height)
        ax.set_ylim(height.min() - margin, height.max() + margin)


def _legend(
    figure: Figure, tables: get.CovariateTables, branch: Values, lineages: list[str], shares: bool, n_rows: int
) -> None:
    handles: list[Artist]
    if shares:
        colors = stretch_colors(len(tables.levels))
        handles = [Patch(color=c, label=name) for name, c in zip(tables.levels, colors, strict=True)][::-1]
    else:
        assert branch.categories is not None
        assert branch.colors is not None
        on = tables.on_lineage[lineages].any(axis=1).to_numpy() & np.isfinite(tables.values.to_numpy())
        codes = np.unique(branch.data[on])
        handles = [
            Line2D([], [], marker="o", linestyle="", color=branch.colors[i], label=branch.categories[i], markersize=6)
            for i in codes[codes >= 0]
        ]
        line = dict(color=plt.rcParams["text.color"], marker="o", markersize=4.2, linewidth=1.6)
        handles.append(Line2D([], [], label="share, 95 %" if tables.kind == "yes or no" else "mean, 95 %", **line))
    columns, rows = -(-len(lineages) // n_rows), n_rows
    owner = figure.get_layout_engine()
    assert isinstance(owner, PanelLayout)
    title = tables.column if shares and len(tables.column) < 20 else None
    size = columns * owner.size[0], rows * owner.size[1]
    figure_legend(figure, handles, size, title=title, alignment="left", handlelength=1.4)
