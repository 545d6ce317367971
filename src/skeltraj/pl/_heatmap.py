from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from anndata import AnnData
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Keys, Place
from skeltraj._palette import palette as branch_palette
from skeltraj.core._runtime.declared import as_declared
from skeltraj.pl._drawing.cell_style import Bounds, CellStyle, Palette
from skeltraj.pl._drawing.legends import figure_legend
from skeltraj.pl._drawing.names_as_written import names_as_written
from skeltraj.pl._drawing.number_scale import colormap, number_scale
from skeltraj.pl._drawing.panels import PanelLayout, draw_title, fit_around, shortened
from skeltraj.pl._drawing.show_or_return import check_show_or_return, show_or_return
from skeltraj.pl._drawing.style import GAP, changes_map, ground, ink, ink_on, missing
from skeltraj.pl._drawing.values import values_of

# chosen by eye; lengths in inches
_NARROW = 0.1  # share of the columns below which a stretch has room for its bare name alone; chosen by eye
_ROW = 0.15
_HEIGHT = (2.2, 9.0)
_NAME, _HIGHEST = 0.12, 60.0  # height of a row with a name, if many were asked for, and of the matrix at most
_BAR = 0.16
_WIDTH = 5.6
_BESIDE = 1.3  # about, of the names and the colour bar beside the matrix
_MAX_LABELS = 75  # names of genes that fit beside the largest matrix
_FAR = 2.5  # standard deviations at the ends of the colour scale
_LETTERS = 22  # of a gene's name
_NO_CELLS = "0.85"  # the colour of a branch that has none
_IN_BAR = 0.075  # inches of a letter in a bar


@as_declared
@shared_texts
@names_as_written()
def heatmap(
    adata: AnnData,
    genes: str | Sequence[str] | None = None,
    key: str = "ddrtree",
    *,
    lineage: str | None = None,
    fork: str | None = None,
    trunk: bool = True,
    groupby: str | None = None,
    sort: Literal["peak", "cluster"] | None = "peak",
    n_genes: int = 50,
    labels: bool | None = None,
    palette: Palette = None,
    cmap: Colormap | str | None = None,
    vmin: Bounds = None,
    vmax: Bounds = None,
    vcenter: Bounds = None,
    norm: Normalize | None = None,
    legend: bool = True,
    title: str | None = None,
    show: bool | None = None,
    return_fig: bool | None = None,
) -> dict[str, Axes] | Figure:
    """Draw the curves of genes as a matrix, genes by pseudotime.

    Each row is a gene's curve minus its mean, divided by its standard deviation. Bars above the matrix show the branch,
    pseudotime and group of its columns. The numbers are those of :func:`skeltraj.get.heatmap`.

    Parameters
    ----------
    <adata_trends>
    genes
        Names. None: the `n_genes` with the smallest p-values in the test of the `fork`, if it was run, else in
        :func:`skeltraj.tl.association`; without a test, those whose curves change most.
    <key>
    lineage
        A lineage by its tip ("T1"). Without it and without `fork`: every branch, one after another.
    fork
        A fork ("F1"): with two arms, the matrix runs from the middle in both directions; with more, arms follow one
        another.
    trunk
        With `fork`: whether the part between the root and the fork is shown as well.
    groupby
        Categorical column of `obs` for an additional bar: the group of most cells at each column.
    sort
        Order of the genes: "peak", by where they are highest; "cluster", by group
        (:func:`skeltraj.tl.cluster_trends`) with a bar at the left; None: as named, or by p-value.
    n_genes
        Number of genes to choose.
    labels
        Name the genes; with more than 75, the picture grows. None: yes for up to 75.
    palette
        Colours of the groups of `groupby`, as for :func:`skeltraj.pl.graph`.
    cmap
        Colour map. None: blue and red, with the mean as light, or as dark, as the background.
    vmin, vmax
        Standard deviations at the ends of the colour map, as numbers, percentiles ("p99") or functions of the matrix.
        None: -2.5 and 2.5.
    vcenter
        Standard deviations in its middle. None: half way between the ends.
    norm
        A norm of matplotlib, in place of these three.
    legend
        Draw the colour bar and the legend of the groups.
    <figure_title>
        None: which genes they are.
    <show>

    Returns
    -------
    The Axes by what they show: "genes" (the matrix), "branch", "pseudotime"; with `groupby` "group", with
    ``sort="cluster"`` "cluster". With `return_fig` the Figure.

    Raises
    ------
    KeyError
        If there are no curves, no such gene, lineage, fork or column, or genes were not grouped.
    ValueError
        If a gene has no curve, both `lineage` and `fork` are given, or the skeleton has loops.

    Examples
    --------
    .. plot::
        :include-source:

        <example_picture>
        st.tl.trends(adata)
        st.pl.heatmap(adata, groupby="cell_type")
    """
    check_show_or_return(show, return_fig)
    if norm is None:
        vmin, vmax = -_FAR if vmin is None else vmin, _FAR if vmax is None else vmax
    chosen = changes_map() if cmap is None else cmap
    style = CellStyle(palette=palette, cmap=chosen, vmin=vmin, vmax=vmax, vcenter=vcenter, norm=norm).of_panel(0, 1)
    tables = get.heatmap(
        adata, genes, key, lineage=lineage, fork=fork, trunk=trunk, groupby=groupby, sort=sort, n_genes=n_genes
    )
    matrix, columns = tables.matrix.to_numpy(), tables.columns
    scale = number_scale(matrix[np.isfinite(matrix)], style)
    bars = ["branch", "pseudotime", *([] if groupby is None else ["group"])]
    labels = len(matrix) <= _MAX_LABELS if labels is None else labels
    low, high = _HEIGHT
    if labels:  # so that names do not lie on one another
        high = max(high, min(_NAME * len(matrix), _HIGHEST))
    size = _WIDTH, float(np.clip(_ROW * len(matrix), low, high))
    axes = _panels(size, bars, sort == "cluster")
    starts = _starts(columns)
    gaps = starts[1:] - 0.5
    image = _matrix(axes["genes"], matrix, *scale)
    _branches(axes["branch"], adata, key, columns, starts)
    _strip(axes["pseudotime"], columns[Place.PSEUDOTIME].to_numpy()[None], colormap(None), "pseudotime")
    shown: dict[str, str] = {}
    if groupby is not None:
        shown = _groups(axes["group"], adata, groupby, columns, style)
    if "cluster" in axes:
        _clusters(axes["cluster"], tables.genes["cluster"])
    for name, panel in axes.items():
        for gap in gaps if name != "cluster" else ():
            panel.axvline(gap, color=ground(panel), linewidth=2.0, zorder=3, gid=GAP)
    _times(axes["genes"], columns, starts)
    if labels:
        names = [shortened(name, _LETTERS) for name in tables.matrix.index.astype(str)]
        axes["genes"].yaxis.tick_right()
        axes["genes"].set_yticks(range(len(names)), names, fontsize=7 if len(names) > 20 else 8)
        axes["genes"].tick_params(axis="y", labelright=True)
    figure = axes["genes"].figure
    assert isinstance(figure, Figure)
    if legend:
        bar = figure.colorbar(image, ax=list(axes.values()), shrink=min(1.0, 1.4 / size[1]), aspect=12, pad=0.02)
        bar.outline.set_visible(False)
        bar.set_label("standard deviations", fontsize=8)
        bar.ax.tick_params(labelsize=8)
        if shown:
            handles: list[Artist] = [Patch(color=hue, label=name) for name, hue in shown.items()]
            whole = size[0] + _BESIDE, size[1] + len(bars) * _BAR
            figure_legend(figure, handles, whole, below=True, title=groupby, fontsize=8, title_fontsize=8)
    draw_title(axes["branch"], tables.chosen if title is None else title, size=10, pad=7)
    fit_around(figure, axes["genes"], size, 1 + ("cluster" in axes) * _BAR / _WIDTH, 1 + len(bars) * _BAR / size[1])
    return show_or_return(axes, show=show, return_fig=return_fig)


def _panels(size: tuple[float, float], bars: list[str], cluster: bool) -> dict[str, Axes]:
    """The matrix, of a size in inches, the bars above it, and that of the genes' groups at its left."""
    layout = PanelLayout(size)
    layout.set(h_pad=0.015, w_pad=0.02)
    figure = plt.figure(layout=layout)
    widths = [_BAR, _WIDTH] if cluster else [_WIDTH]
    grid = figure.add_gridspec(
        len(bars) + 1,
        len(widths),
        height_ratios=[_BAR] * len(bars) + [size[1]],
        width_ratios=widths,
        hspace=0.0,
        wspace=0.0,
    )
    axes = {"genes": figure.add_subplot(grid[-1, -1])}
    for i, name in enumerate(bars):
        axes[name] = figure.add_subplot(grid[i, -1], sharex=axes["genes"])
    if cluster:
        axes["cluster"] = figure.add_subplot(grid[-1, 0], sharey=axes["genes"])
    for panel in axes.values():
        panel.set_xticks([])
        panel.set_yticks([])
        panel.tick_params(length=0, labelbottom=False, labelleft=False)
        panel.spines[:].set_visible(False)
        panel.grid(False)  # of scanpy's style
    return axes


def _matrix(ax: Axes, matrix: np.ndarray, cmap: Colormap, norm: Normalize) -> object:
    return ax.imshow(matrix, cmap=cmap, norm=norm, aspect="auto", interpolation="nearest", rasterized=True)


def _strip(ax: Axes, values: np.ndarray, cmap: Colormap, name: str, **options: float) -> None:
    """A bar above the matrix, with its name at the right."""
    ax.imshow(values, cmap=cmap, aspect="auto", interpolation="nearest", **options)
    ax.text(1.01, 0.5, name, fontsize=8, ha="left", va="center", transform=ax.transAxes)


def _starts(columns: pd.DataFrame) -> np.ndarray:
    """The first column of each stretch; a branch with the root inside is two of one name, each away from the root."""
    stretch, steps = columns["stretch"].to_numpy(), np.diff(columns[Place.PSEUDOTIME].to_numpy())
    before, after = np.r_[0.0, steps[:-1]], np.r_[steps[1:], 0.0]
    return np.flatnonzero(np.r_[True, (stretch[1:] != stretch[:-1]) | ((steps < 0) & (before > 0) & (after > 0))])


def _branches(ax: Axes, adata: AnnData, key: str, columns: pd.DataFrame, starts: np.ndarray) -> None:
    """The branches' colours, with their names where there is room."""
    known = values_of(adata, Keys(key).branch).color_of
    # of branches without cells, as where some were taken out, AnnData keeps neither name nor colour
    names, code = np.unique(columns["branch"].astype(str), return_inverse=True)
    colors = [known.get(name, _NO_CELLS) for name in names]
    _strip(ax, code[None], ListedColormap(colors), "branch", vmin=-0.5, vmax=len(colors) - 0.5)
    ends = np.flatnonzero(np.r_[code[1:] != code[:-1], True] | np.isin(np.arange(1, len(code) + 1), starts))
    begin = np.r_[0, ends[:-1] + 1]
    for first, last in zip(begin, ends, strict=True):
        name = names[code[first]]
        if (last - first + 1) * _WIDTH / len(code) < _IN_BAR * len(name) + 0.04:
            continue
        ax.text(
            (first + last) / 2,
            0,
            name,
            fontsize=7,
            ha="center",
            va="center_baseline",
            color=ink_on(colors[code[first]]),
        )


def _groups(ax: Axes, adata: AnnData, groupby: str, columns: pd.DataFrame, style: CellStyle) -> dict[str, str]:
    """The groups' bar; returns the colours of the groups that are in it."""
    values = values_of(adata, groupby, argument="groupby", style=style)
    assert values.categories is not None
    assert values.colors is not None
    code = columns[groupby].cat.codes.to_numpy()
    colors = [values.na_color, *values.colors]
    _strip(ax, code[None] + 1, ListedColormap(colors), groupby, vmin=-0.5, vmax=len(colors) - 0.5)
    present = {values.categories[i]: values.colors[i] for i in np.unique(code[code >= 0])}
    return present | ({"no cell": values.na_color} if (code < 0).any() else {})


def _clusters(ax: Axes, cluster: pd.Series) -> None:
    """The genes' groups, with their names where there is room."""
    code = cluster.cat.codes.to_numpy()
    colors = [missing(), *branch_palette(len(cluster.cat.categories))]
    ax.imshow(
        code[:, None] + 1,
        cmap=ListedColormap(colors),
        vmin=-0.5,
        vmax=len(colors) - 0.5,
        aspect="auto",
        interpolation="nearest",
    )
    row = float(np.clip(_ROW * len(code), *_HEIGHT)) / len(code)
    begin = np.flatnonzero(np.r_[True, code[1:] != code[:-1]])
    for first, last in zip(begin, np.r_[begin[1:], len(code)], strict=True):
        if code[first] >= 0 and (last - first) * row > 0.11:
            name = str(cluster.cat.categories[code[first]])
            ax.annotate(
                name,
                (0, (first + last - 1) / 2),
                xycoords=("axes fraction", "data"),
                xytext=(-3, 0),
                textcoords="offset points",
                fontsize=8,
                ha="right",
                va="center",
            )


def _times(ax: Axes, columns: pd.DataFrame, starts: np.ndarray) -> None:
    """Under the matrix, what each stretch is, where it has a name of its own, and the pseudotime at its ends."""
    time, stretch = columns[Place.PSEUDOTIME].to_numpy(), columns["stretch"].astype(str).to_numpy()
    ends = np.r_[starts[1:], len(time)] - 1
    whole = (stretch == columns["branch"].astype(str).to_numpy()).all()
    ticks: list[float] = []
    labels: list[str] = []
    if whole:  # the bar names the branches
        ax.set_xlabel(f"branches outwards from the root, pseudotime {time.min():.3g} to {time.max():.3g}", fontsize=9)
    else:
        for first, last in zip(starts, ends, strict=True):
            arrow = f"{stretch[first]} →" if time[last] >= time[first] else f"← {stretch[first]}"
            if last + 1 - first < _NARROW * len(time):
                arrow = stretch[first].removeprefix("to ")
            ticks.append((first + last) / 2)
            labels.append(arrow if len(starts) > 1 else f"lineage {arrow}")
        span = f"pseudotime {time.min():.3g} to {time.max():.3g}"
        ax.set_xlabel(span, fontsize=9)
    ax.set_xticks(ticks, labels, fontsize=8)
    ax.tick_params(axis="x", labelbottom=True, labelcolor=ink())
