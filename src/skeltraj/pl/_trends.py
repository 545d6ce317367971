from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from anndata import AnnData
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Column, OrderEntry, Place
from skeltraj.core import Graph
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.trends import StoredTrends, chosen_genes, lineage_names, stored_trends
from skeltraj.pl._drawing.cell_style import Bounds, CellStyle, Palette
from skeltraj.pl._drawing.cells_behind import CellsBehind
from skeltraj.pl._drawing.gene_axes import apart, count_scale, lineage_colors
from skeltraj.pl._drawing.legends import color_bar, figure_legend, group_handles, legend_beside
from skeltraj.pl._drawing.names_as_written import names_as_written
from skeltraj.pl._drawing.panels import PanelLayout, draw_title, fit_figure, shortened
from skeltraj.pl._drawing.show_or_return import check_show_or_return, show_or_return
from skeltraj.pl._drawing.style import ink, rim
from skeltraj.pl._drawing.values import values_of_panels

# chosen by eye
_PANEL = (2.9, 2.15)  # inches
_MAX_GENES = 6  # that are chosen without names
_TOP = 0.995  # share of the cells that an axis holds
_BESIDE = 0.09  # of the axis: forks nearer than this share a name
_LETTERS = 60  # of a gene's name


@as_declared
@shared_texts
@names_as_written()
def trends(
    adata: AnnData,
    genes: str | Sequence[str] | None = None,
    key: str = "ddrtree",
    *,
    lineages: str | Sequence[str] | None = None,
    color: str | None = None,
    level: float = 0.95,
    cells: bool = True,
    size: float | None = None,
    alpha: float = 0.5,
    groups: str | Sequence[str] | None = None,
    palette: Palette = None,
    na_color: Any = None,
    cmap: Colormap | str | None = None,
    vmin: Bounds = None,
    vmax: Bounds = None,
    vcenter: Bounds = None,
    use_raw: bool | None = None,
    gene_symbols: str | None = None,
    legend: bool = True,
    ncols: int = 3,
    title: str | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
    return_fig: bool | None = None,
) -> list[Axes] | Figure:
    """Draw the curves of genes along lineages, with intervals and the cells behind.

    There is a panel for each gene, with a curve for each lineage in its colour; the part that lineages share is drawn
    once, in the colour of the text. Without lineages, as on a ring, there is a curve for each branch, in both
    directions if the root lies within it. Counts are divided by the cells' size factors, and their axis is that of
    log(1 + count). Dotted lines mark forks. The axis covers the curves and nearly all cells: triangles at its ends are
    cells beyond it.

    Parameters
    ----------
    <adata_trends>
    genes
        Names. None: up to six, those with the smallest p-values of :func:`skeltraj.tl.association`, or else whose
        curves change most.
    <key>
    lineages
        Lineages by their tips ("T1"). None: all.
    color
        Column of `obs` (groups with a legend, numbers with a colour bar) or gene by which to colour the cells. None:
        grey.
    level
        Coverage of the interval at a single place. 0: no intervals.
    cells
        Draw the cells that lie on the lineages.
    <size_alpha>
    <groups>
    <palette>
    <na_color>
    cmap, vmin, vmax, vcenter
        Scale of the numbers by which cells are coloured, as for :func:`skeltraj.pl.graph`.
    use_raw, gene_symbols
        Where to find the gene by which cells are coloured, as for :func:`skeltraj.pl.graph`.
    <legend>
    ncols
        Number of panels in a row.
    title
        Title of the figure. None: which genes were chosen, if none were named.
    ax
        Axes to draw on, for a single gene; the legend is placed beside it, or beside its colour bar.
    <show>

    Returns
    -------
    The Axes, one for each gene; with `return_fig` the Figure.

    Raises
    ------
    KeyError
        If there are no curves, no such gene, lineage or column.
    TypeError, ValueError
        If a gene has no curve, `ax` is given for several, or `level` is no number from 0 to below 1.

    Examples
    --------
    .. plot::
        :include-source:

        <example_picture>
        st.tl.trends(adata, ["Gata1", "Pu.1", "EKLF"])
        st.pl.trends(adata, ["Gata1", "Pu.1", "EKLF"], color="cell_type")
    """
    check_show_or_return(show, return_fig, ax)
    ncols = check.count(ncols, "ncols")
    if check.number(level, "level", at_least=0) >= 1:
        raise ValueError(f"level={level!r} is out of range; wanted a number >= 0 and < 1.")
    cell_style = CellStyle(
        palette=palette,
        groups=groups,
        na_color=na_color,
        cmap=cmap,
        vmin=vmin,
        vmax=vmax,
        vcenter=vcenter,
        size=size,
        alpha=alpha,
    ).of_panel(0, 1)
    record, fit, tree = get.ordered(adata, key), get.stored(adata, key), get.graph(adata, key)
    curves = stored_trends(adata, fit, key)
    along = _Lineages.of(tree, record, lineage_names(lineages, list(curves.lineages), "lineages"))
    rows, which = _chosen_rows(adata, fit, key, curves, genes)
    title = which if genes is None and title is None else title
    if ax is not None and len(rows) > 1:
        raise ValueError(f"ax was given for {len(rows)} genes; wanted one gene with ax, or no ax.")
    wanted = [str(name) for name in adata.var_names[rows]]
    table = get.trends(adata, wanted, along.names, key, level=level or 0.5)
    [values] = values_of_panels(adata, color, None, cell_style, use_raw=use_raw, gene_symbols=gene_symbols)
    behind = None
    if cells:
        behind = CellsBehind.of(adata, tree, key, list(along.paths.values()), curves, rows, values, cell_style)
    of_groups = list(values.colors) if cells and values.colors is not None else []
    tint = lineage_colors(list(curves.lineages), beside=of_groups)
    axes = [ax] if ax is not None else _panels(len(rows), ncols)
    counts = curves.family == "negative_binomial"
    ways = [] if along.paths else _ways(curves.places)
    for j, (panel, gene) in enumerate(zip(axes, wanted, strict=True)):
        of_gene = table[table["gene"] == gene]
        if behind is not None:
            behind.draw(panel, j)
        _curves(panel, of_gene, along, tint, interval=level > 0)
        for way in ways:
            _curve(panel, of_gene.iloc[way], tint["all"], 4, interval=level > 0)
        _frame(panel, of_gene, None if behind is None else behind.heights[behind.shown, j], counts)
        if behind is not None:
            behind.draw_beyond(panel, j)
        draw_title(panel, shortened(gene, _LETTERS), size=10)
        _mark(panel, along.forks)
    if ax is None:
        _label(axes, min(ncols, len(axes)), counts)
    else:
        ax.set_xlabel("pseudotime")
        ax.set_ylabel(_unit(counts))
        if title:
            draw_title(ax, title)
    if legend:
        grid = None if ax is not None else (min(ncols, len(axes)), -(-len(axes) // ncols))
        of_cells, bar = [], None
        if behind is not None:
            of_cells = [] if values.name is None else group_handles(values, behind.shown)
            last = axes[min(ncols, len(axes)) - 1]  # of the first row
            bar = None if behind.scale is None else color_bar(last, behind.scale, values.name)
        _legend(axes[0], grid, {name: tint[name] for name in along.names}, bool(along.until), of_cells, bar)
    if ax is None:
        fit_figure(axes, title=title, title_size=10)
    return show_or_return(axes, show=show, return_fig=return_fig)


def _chosen_rows(
    adata: AnnData, fit: dict[str, Any], key: str, curves: StoredTrends, genes: str | Sequence[str] | None
) -> tuple[np.ndarray, str]:
    """Rows of the genes to draw, and which they are in words."""
    rows, which = chosen_genes(adata, fit, key, curves, genes, None, _MAX_GENES)
    if genes is None and not adata.var_names.is_unique:  # curves are read by name
        single = ~adata.var_names.duplicated(keep=False)[rows]
        rows = rows[single] if single.any() else rows
    return rows, which


@dataclass(frozen=True, eq=False)
class _Lineages:
    """The lineages to draw.

    Parameters
    ----------
    names
        "all" is the curve of a skeleton without lineages.
    paths
        The nodes of each from the root on.
    until
        The pseudotime at which each leaves the last of the others; those that share nothing are not there.
    forks
        Pseudotime of the forks that lie on them, beyond the root, by their names.
    """

    names: list[str]
    paths: dict[str, np.ndarray]
    until: dict[str, float]
    forks: dict[str, float]

    @classmethod
    def of(cls, tree: Graph, record: dict[str, Any], names: list[str]) -> _Lineages:
        """Those of these names, by the record of an order."""
        root, time = int(record[OrderEntry.ROOT]), np.asarray(record[OrderEntry.NODE_PSEUDOTIME])
        tips = {name: int(record[OrderEntry.TIPS]["node"][name]) for name in names if name != "all"}
        paths = {name: tree.path(root, tip) for name, tip in tips.items()}
        return cls(names, paths, _shared_until(paths, time), _forks(tree, paths, time))


def _unit(counts: bool) -> str:
    return "counts / size factor" if counts else "value"


def _panels(n: int, ncols: int) -> list[Axes]:
    columns = min(n, ncols)
    height = -(-n // columns)
    figure = plt.figure(layout=PanelLayout(_PANEL))
    grid = figure.subplots(height, columns, sharex=True, squeeze=False).ravel()
    for i, panel in enumerate(grid):
        if i >= n:
            panel.remove()
        elif i + columns >= n:
            panel.tick_params(labelbottom=True)
    return list(grid[:n])


def _shared_until(paths: dict[str, np.ndarray], time: np.ndarray) -> dict[str, float]:
    """The pseudotime at which each lineage leaves the last of the others; lineages that share nothing are not there."""
    until: dict[str, float] = {}
    for name, path in paths.items():
        common = [_common(path, other) for key, other in paths.items() if key != name]
        if common and max(common) > 0:
            until[name] = float(time[path[max(common)]])
    return until


def _common(one: np.ndarray, other: np.ndarray) -> int:
    """The last place up to which two paths are the same."""
    n = min(len(one), len(other))
    differ = np.flatnonzero(one[:n] != other[:n])
    return int(differ[0]) - 1 if len(differ) else n - 1


def _forks(tree: Graph, paths: dict[str, np.ndarray], time: np.ndarray) -> dict[str, float]:
    """Pseudotime of the forks that lie on the lineages, beyond the root, by their names."""
    on = set(np.concatenate(list(paths.values())).tolist()) if paths else set()
    label = zip(tree.fork_names, tree.forks.tolist(), strict=True)
    return {str(name): float(time[node]) for name, node in label if node in on and time[node] > 0}


def _ways(places: pd.DataFrame) -> list[np.ndarray]:
    """Rows of a gene in the table of curves without lineages, by pseudotime, in parts along which it rises or falls."""
    time, along = (places[name].to_numpy(dtype=np.float64) for name in (Place.PSEUDOTIME, Place.ALONG))
    row = np.argsort(np.argsort(time, kind="stable"), kind="stable")
    ways: list[np.ndarray] = []
    for branch in places[Place.BRANCH].cat.categories:
        own = np.flatnonzero((places[Place.BRANCH] == branch).to_numpy() & np.isfinite(time))
        own = own[np.argsort(along[own], kind="stable")]
        rises = np.diff(time[own]) > 0
        turns = np.flatnonzero(rises[1:] != rises[:-1]) + 1
        for start, end in pairwise([0, *turns.tolist(), len(own) - 1]):
            ways.append(np.sort(row[own[start : end + 1]]))
    return ways


def _curves(
    ax: Axes,
    table: pd.DataFrame,
    lineages: _Lineages,
    tint: dict[str, str],
    *,
    interval: bool,
) -> None:
    """Curves and intervals: what lineages share once, in the colour of the text, then each one's own."""
    drawn: set[tuple[str, float, float]] = set()
    for name in lineages.paths:
        own = table[table["lineage"] == name]
        at, until = own[Place.PSEUDOTIME].to_numpy(), lineages.until.get(name, -np.inf)
        common = own[at <= until + 1e-9]
        places = list(zip(common["branch"], common[Place.PSEUDOTIME], common[Column.MEAN], strict=True))
        new = next((i for i, place in enumerate(places) if place not in drawn), len(places))
        drawn.update(places)
        _curve(ax, common.iloc[max(new - 1, 0) :] if new < len(places) else common[:0], ink(), 3, interval=interval)
        _curve(ax, own[at >= until - 1e-9], tint[name], 4, interval=interval)


def _curve(ax: Axes, part: pd.DataFrame, hue: str, order: float, *, interval: bool) -> None:
    if len(part) < 2:
        return
    at = part[Place.PSEUDOTIME].to_numpy()
    if interval:
        ax.fill_between(at, part["lower"], part["upper"], color=hue, alpha=0.22, linewidth=0, zorder=order - 1.5)
    [line] = ax.plot(at, part[Column.MEAN], color=hue, linewidth=2.0, zorder=order, solid_capstyle="round")
    line.set_path_effects(rim(ax, 3.4))


def _frame(ax: Axes, table: pd.DataFrame, cells: np.ndarray | None, counts: bool) -> None:
    """Axes that hold the curves and nearly all cells, not every interval."""
    mean = table[Column.MEAN].to_numpy()
    y = np.r_[mean, [] if cells is None else cells]
    y = y[np.isfinite(y)]
    low, high = np.quantile(y, [1 - _TOP, _TOP]) if len(y) else (0.0, 1.0)
    low, high = min(low, np.nanmin(mean)), max(high, np.nanmax(mean))
    if counts:
        count_scale(ax, 1.25 * max(high, 1e-9))
    else:
        margin = 0.06 * (high - low or 1.0)
        ax.set_ylim(low - margin, high + 2.2 * margin)
    ax.spines[["top", "right"]].set_visible(False)


def _mark(ax: Axes, forks: dict[str, float]) -> None:
    """Dotted lines at the forks, with their names at the top."""
    for at in forks.values():
        ax.axvline(at, color=ink(), linewidth=0.7, linestyle=(0, (1, 2)), zorder=0.5)
    low, high = ax.get_xlim()
    for at, name in apart(list(forks.values()), list(forks), _BESIDE * (high - low)):
        text = ax.text(at, 0.99, name, fontsize=7, ha="center", va="top", transform=ax.get_xaxis_transform(), zorder=6)
        text.set_path_effects(rim(ax))


def _label(axes: list[Axes], ncols: int, counts: bool) -> None:
    for i, panel in enumerate(axes):
        if i % ncols == 0:
            panel.set_ylabel(_unit(counts))
        if i + ncols >= len(axes):
            panel.set_xlabel("pseudotime")


def _legend(
    ax: Axes,
    grid: tuple[int, int] | None,
    tint: dict[str, str],
    shared: bool,
    of_cells: list[Artist],
    bar: Colorbar | None,
) -> None:
    """The lineages, then the cells' colours: beside all panels, (columns, rows), or beside an Axes not of ours."""
    handles: list[Artist] = (
        []
        if list(tint) == ["all"]
        else [Line2D([], [], color=hue, linewidth=2.4, label=f"to {name}") for name, hue in tint.items()]
    )
    if shared:
        handles.append(Line2D([], [], color=ink(), linewidth=2.4, label="shared"))
    handles += of_cells
    if not handles:
        return
    if grid is None:
        legend_beside(ax, handles, bar=bar, handlelength=1.2)
    else:
        figure = ax.figure
        assert isinstance(figure, Figure)
        figure_legend(figure, handles, (grid[0] * _PANEL[0], grid[1] * _PANEL[1]), handlelength=1.2)
