from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
from skeltraj.get._reading.checks import available, with_key
from skeltraj.pl._drawing.cell_style import CellStyle, Palette
from skeltraj.pl._drawing.legends import figure_legend, legend_beside
from skeltraj.pl._drawing.names_as_written import names_as_written
from skeltraj.pl._drawing.panels import PanelLayout, axes_size, draw_title, fit_around, grid_of, panels
from skeltraj.pl._drawing.show_or_return import check_show_or_return, show_or_return
from skeltraj.pl._drawing.style import GAP, ground, ink
from skeltraj.pl._drawing.values import values_of

# chosen by eye; lengths in inches
_SHARES = 3.0  # height of the bars
_MARK_HEIGHT = 0.055  # of a row of triangles, of that of the bars
_BAR = 0.5  # width for each branch
_LINEAGE = 2.9  # width of a lineage's panel
_LINEAGE_HEIGHT = (1.5, 3.0)
_FEW = 7  # groups that are told apart by their colours
_ROW_LETTERS, _LEAST_ROW_LETTERS = 7.0, 5.0  # points; lower rows of marks have no names
_LEGEND: dict[str, Any] = dict(alignment="left", handlelength=1.2)


@as_declared
@shared_texts
@names_as_written()
def composition(
    adata: AnnData,
    groupby: str,
    key: str = "ddrtree",
    *,
    lineages: Sequence[str] | None = None,
    level: float = 0.05,
    palette: Palette = None,
    legend: bool = True,
    title: str | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
    return_fig: bool | None = None,
) -> list[Axes] | Figure:
    """Draw the groups' shares of every branch, and along every lineage.

    On the left there is one bar for each branch, with the groups' shares. Above it, a triangle marks each group that is
    enriched (pointing up) or depleted (down) there, in the group's colour and in a row of its own, which is labelled if
    there are more than seven groups. Under each bar is the number of cells of its branch or, if some have no value in
    the column, the number of those with one out of all. On the right are the shares along pseudotime, one panel for
    each lineage; the steps are the bins, which have about equal numbers of cells.

    Parameters
    ----------
    adata
        Annotated data for which :func:`skeltraj.tl.composition` was run.
    groupby
        Column of `obs` for which it was run. Colours are those of :func:`skeltraj.pl.graph`.
    <key>
    lineages
        Names of the lineages to draw, in that order, or one name. None: all.
    level
        Largest q-value (Benjamini-Hochberg) that gets a triangle.
    palette
        Colours of the groups, as for :func:`skeltraj.pl.graph`.
    <legend>
    <figure_title>
    ax
        Axes to draw the bars of the branches on, alone.
    <show>

    Returns
    -------
    The Axes: that of the branches, then, without `ax`, one for each lineage. With `return_fig` the Figure.

    Raises
    ------
    KeyError
        If nothing is stored for `groupby`, or there is no such lineage.
    ValueError
        If the column has lost groups since, if `level` or `lineages` is out of range, or `lineages` is given with `ax`.

    Warns
    -----
    UserWarning
        As :func:`skeltraj.get.composition` does.

    Examples
    --------
    .. plot::
        :include-source:

        <example_picture>
        st.tl.composition(adata, "cell_type")
        st.pl.composition(adata, "cell_type")
    """
    check_show_or_return(show, return_fig, ax)
    style = CellStyle(palette=palette)
    tables = get.composition(adata, groupby, key)
    level = check.number(level, "level", at_least=0)
    there = list(tables.bins["lineage"].cat.categories[np.unique(tables.bins["lineage"].cat.codes)])
    chosen = there if lineages is None else check.texts(lineages, "lineages")
    unknown = [name for name in chosen if name not in there]
    if unknown:
        raise KeyError(f"lineages: there is no {unknown[0]!r}. Available: {available(there)}.")
    if not chosen:
        raise ValueError("lineages is an empty list; wanted at least one, or None for all.")
    groups = list(tables.pseudotime["group"].astype(str))
    if ax is not None and lineages is not None:
        raise ValueError(
            f"lineages={chosen} was given with ax, on which the bars of the branches are drawn alone; wanted no ax, or "
            "no lineages."
        )
    if ax is not None:
        panels(1, ax=ax, three=False, ncols=1)  # refuses one in three dimensions
    color = _colors(adata, groupby, key, groups, style)
    branches = list(tables.branches["branch"].cat.categories)
    n_all = adata.obs[Keys(key).branch].value_counts()

    marked = [
        name for name in groups if name in set(tables.branches["group"][tables.branches[Column.Q_VALUE] <= level])
    ]
    handles = _handles(groups, color, bool(marked), level)
    weighted = ", samples alike" if tables.permuted in ("samples", "groups within samples") else ""
    if ax is not None:
        _branches(ax, axes_size(ax)[1], tables.branches, n_all, groups, color, level, weighted)
        if legend:
            legend_beside(ax, handles, title=groupby, **_LEGEND)
        if title:
            draw_title(ax, title)
        return show_or_return([ax], show=show, return_fig=return_fig)
    axes, size, around = _panels(len(branches), len(marked), len(chosen))
    figure = axes[0].figure
    assert isinstance(figure, Figure)
    high = _SHARES * (1.02 + _MARK_HEIGHT * len(marked))
    _branches(axes[0], high, tables.branches, n_all, groups, color, level, weighted)
    for panel, name in zip(axes[1:], chosen, strict=True):
        _lineage(panel, tables.bins[tables.bins["lineage"] == name], groups, color)
        panel.set_title("all cells" if name == "all" else f"lineage to {name}", fontsize=10)
    if legend:
        figure_legend(figure, handles, (around[0] * size[0], around[1] * size[1]), title=groupby, **_LEGEND)
    fit_around(figure, axes[1], size, *around, title=title)
    return show_or_return(axes, show=show, return_fig=return_fig)


def _colors(adata: AnnData, groupby: str, key: str, groups: list[str], style: CellStyle) -> dict[str, str]:
    color = values_of(adata, groupby, argument="groupby", style=style).color_of
    lost = [name for name in groups if name not in color]
    if lost:
        raise ValueError(
            f"adata.obs[{groupby!r}] has no group {lost[0]!r} any more, for which a composition is stored. Available: "
            f"{available(color)}. Run skeltraj.tl.composition(adata, {groupby!r}{with_key(key)}) again, or draw it "
            "from the cells for which it was made, as where one group is left."
        )
    return color


def _panels(
    n_branches: int, n_marked: int, n_lineages: int
) -> tuple[list[Axes], tuple[float, float], tuple[float, float]]:
    """The Axes of the branches and those of the lineages; the size of the latter, and how often it is in the figure.

    Lineages go column by column, with axes of pseudotime and of shares in common.
    """
    rows, columns = grid_of(n_lineages)
    high = _SHARES * (1.02 + _MARK_HEIGHT * n_marked)
    width, height = _LINEAGE, float(np.clip(high / rows, *_LINEAGE_HEIGHT))
    spare = max(high - rows * height, 0.0)  # above the lineages, beside many rows of marks
    layout = PanelLayout((width, height))
    figure = plt.figure(layout=layout)
    bars = 0.3 + _BAR * max(n_branches, 3)
    grid = figure.add_gridspec(
        rows + 1,
        columns + 1,
        width_ratios=[bars] + columns * [width],
        height_ratios=[max(spare, 1e-3)] + rows * [height],
    )
    axes = [figure.add_subplot(grid[:, 0])]
    for i in range(n_lineages):
        row, column = i % rows, i // rows
        first = axes[1] if i else None
        panel = figure.add_subplot(grid[row + 1, column + 1], sharex=first, sharey=first)
        lowest = row == rows - 1 or i == n_lineages - 1
        panel.tick_params(labelbottom=lowest, labelleft=column == 0)
        if lowest:
            panel.set_xlabel("pseudotime")
        if column == 0:
            panel.set_ylabel("share of the bin")
        axes.append(panel)
    return axes, layout.size, (columns + bars / width, rows + spare / height)


def _branches(
    ax: Axes,
    high: float,
    table: pd.DataFrame,
    n_all: pd.Series,
    groups: list[str],
    color: dict[str, str],
    level: float,
    weighted: str,
) -> None:
    """Stacked bars, and over them the marks, on Axes of this height in inches; `n_all` are the cells of each branch."""
    branches = list(table["branch"].cat.categories)
    at = table["branch"].cat.codes.to_numpy()
    name = table["group"].astype(str).to_numpy()
    low = np.zeros(len(branches))
    significant = (table[Column.Q_VALUE] <= level).to_numpy()
    n_rows = len(set(name[significant]))
    row = 72 * high * _MARK_HEIGHT / (1.02 + _MARK_HEIGHT * n_rows)  # height in points
    rows: dict[str, float] = {}
    edge = dict(edgecolor=ground(ax), linewidth=0.6 if len(groups) <= _FEW else 0.3)
    for group in groups:
        of = table[name == group]
        share = of["share_of_branch"].to_numpy()
        ax.bar(at[name == group], share, bottom=low, width=0.82, color=color[group], **edge)
        low += share
        hits = (name == group) & significant
        if not hits.any():
            continue
        height = rows[group] = 1.05 + _MARK_HEIGHT * len(rows)
        more = (table["log2_enrichment"] > 0).to_numpy()
        for marker, which in (("^", hits & more), ("v", hits & ~more)):
            ax.scatter(
                at[which],
                np.full(which.sum(), height),
                marker=marker,
                s=min(30.0, (0.8 * row) ** 2),
                color=color[group],
                edgecolors=ink(),
                linewidths=0.6,
                zorder=3,
            )
    cells = table.groupby("branch", observed=True)[Column.N_CELLS].sum().reindex(branches)
    n_all = n_all.reindex(branches, fill_value=0)
    names, what = [f"{b}\n{n:,}" for b, n in cells.items()], "number of cells"
    if (n_all >= cells).all() and (n_all > cells).any():  # fewer where cells were taken out since
        names = [f"{name}\nof {n:,}" for name, n in zip(names, n_all, strict=True)]
        what = "cells with a value,\nof all cells"
    ax.set_xticks(range(len(branches)), names, fontsize=8 if len(branches) > 6 else 9)
    ax.set_xlabel(f"branch, {what}")
    top = 1.02 + _MARK_HEIGHT * len(rows)
    _shares(ax, top)
    if len(groups) > _FEW and row >= _LEAST_ROW_LETTERS:  # whose colours do not tell them apart
        ax.set_yticks([0, 0.5, 1, *rows.values()], ["0", "0.5", "1", *rows])
        for tick in ax.yaxis.get_major_ticks()[3:]:
            tick.label1.set_fontsize(min(_ROW_LETTERS, row))
            tick.tick1line.set_visible(False)
    ax.set_ylabel(f"share of the branch{weighted}", y=0.5 / top)
    ax.set_xlim(-0.6, len(branches) - 0.4)
    ax.tick_params(axis="x", length=0)


def _lineage(ax: Axes, bins: pd.DataFrame, groups: list[str], color: dict[str, str]) -> None:
    """Stacked steps."""
    share = bins.pivot(index="group", columns="bin", values="share").loc[groups].to_numpy()
    first = bins[bins["group"] == groups[0]].sort_values("bin")
    bounds = np.r_[first[Column.START].to_numpy(), first[Column.END].to_numpy()[-1]]
    top = np.vstack([np.zeros(share.shape[1]), np.cumsum(share, axis=0)])
    for i, group in enumerate(groups):
        ax.stairs(top[i + 1], bounds, baseline=top[i], fill=True, color=color[group], linewidth=0)
    for height in top[1:-1]:  # thin, so that neighbours of like colours stay apart
        width = 0.6 if len(groups) <= _FEW else 0.3
        ax.stairs(height, bounds, baseline=None, color=ground(ax), linewidth=width, gid=GAP)
    _shares(ax, 1.0)


def _shares(ax: Axes, top: float) -> None:
    ax.grid(False)  # of scanpy's style
    ax.set_ylim(0, top)
    ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines["left"].set_bounds(0, 1)


def _handles(groups: list[str], color: dict[str, str], marked: bool, level: float) -> list[Artist]:
    """The groups in the order in which they are stacked, then the marks."""
    handles: list[Artist] = [Patch(color=color[name], label=name) for name in groups[::-1]]
    if marked:
        for marker, word in (("^", "enriched"), ("v", "depleted")):
            label = f"{word}, q ≤ {level:g}"
            style = dict(marker=marker, linestyle="", color="none", markeredgecolor=ink(), markersize=6)
            handles.append(Line2D([], [], label=label, **style))
    return handles
