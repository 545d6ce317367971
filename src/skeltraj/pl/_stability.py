from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from anndata import AnnData
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.figure import Figure

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Keys, OrderEntry
from skeltraj.core import PlacedSkeleton
from skeltraj.core._runtime.declared import as_declared
from skeltraj.pl._drawing.branch_support import LITTLE, draw_gaps, draw_supported, is_little
from skeltraj.pl._drawing.cell_style import CellStyle
from skeltraj.pl._drawing.cells import draw_cells
from skeltraj.pl._drawing.coordinates import coordinates
from skeltraj.pl._drawing.labels import draw_labels
from skeltraj.pl._drawing.names_as_written import names_as_written
from skeltraj.pl._drawing.number_scale import colormap
from skeltraj.pl._drawing.panels import PanelLayout, fit_around, fit_figure, frame, in_lines, make_room_3d, panels
from skeltraj.pl._drawing.show_or_return import check_show_or_return, show_or_return
from skeltraj.pl._drawing.skeleton import draw_root
from skeltraj.pl._drawing.style import ground, ink, rim
from skeltraj.pl._drawing.support_colors import spread_cmap, support_cmap
from skeltraj.pl._drawing.values import values_of

_NAME_POINTS = 8.5  # size of the names of branches; chosen by eye
_GREY = "#8A8A8A"
_TREE, _BARS = 4.8, 2.7  # width of the tree and of the bars beside it, in inches
_ROW = 0.24  # inches, of a bar


@as_declared
@shared_texts
@names_as_written()
def stability(
    adata: AnnData,
    key: str = "ddrtree",
    *,
    support: Literal["branch", "edge"] = "branch",
    basis: str | None = None,
    smooth: bool = True,
    components: Sequence[int] = (0, 1),
    spread: bool = False,
    bars: bool = False,
    labels: bool = True,
    size: float | None = None,
    alpha: float = 0.6,
    cmap: str | Colormap | None = None,
    frameon: bool | None = None,
    title: str | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
    return_fig: bool | None = None,
) -> Axes | list[Axes] | Figure:
    """Draw the tree in the colours of its support.

    Each branch has the colour of its support, is labelled with its name and support in per cent, and is dashed if that
    is below 50 %. For the meaning of the numbers, see :func:`skeltraj.tl.stability`.

    Parameters
    ----------
    adata
        Annotated data for which :func:`skeltraj.tl.stability` was run.
    <key>
    support
        "branch": the support of each branch. "edge": that of each edge, with only the names of the branches; it shows
        which parts of a branch are in doubt.
    <basis>
    <smooth>
    <components>
    spread
        Colour the cells by the standard deviation of their pseudotime over the replicates; else they are grey.
    bars
        Draw a second panel, with a bar for the support of each branch, and a mark for the share of replicates in which
        it is found again.
    labels
        Name the branches.
    <size_alpha>
    cmap
        Colour map for the support, from 0 to 1. None: orange for 0, blue for 1, which can be distinguished with any
        colour vision and are visible on light and on dark background.
    <frameon>
    title
        Above the tree.
    ax
        Axes to draw on, without `bars`.
    <show>

    Returns
    -------
    The Axes; with `bars` a list of both; with `return_fig` the Figure.

    Raises
    ------
    KeyError
        If nothing is stored, or there is no such basis.
    ValueError
        If a component does not exist, `support` is not known, or `ax` is given with `bars`.

    Examples
    --------
    .. plot::
        :include-source:

        <example_picture>
        st.tl.stability(adata, n_replicates=10)  # more for results: the default is 50
        st.pl.stability(adata, bars=True)
    """
    check_show_or_return(show, return_fig, ax, fits=True)
    marks = CellStyle(size=size, alpha=alpha, cmap=cmap)
    tables = get.stability(adata, key)
    if support not in ("branch", "edge"):
        raise ValueError(f"support={support!r} is not known. Available: ['branch', 'edge'].")
    points, placed, axis_names = coordinates(adata, key, basis, components, smooth=smooth)
    tree = placed.graph
    three = len(axis_names) == 3
    color = Keys(key).pseudotime_sd if spread else None
    values = values_of(adata, color)
    if bars and ax is not None:
        raise ValueError("ax was given for two panels; wanted bars=False with ax, or no ax.")
    axes = _panels(len(tables.branches), three) if bars else panels(1, ax=ax, three=three, ncols=1, width=6.0)
    shades = support_cmap() if cmap is None else colormap(cmap)
    of_branch = tables.branches[Column.SUPPORT]
    by_branch = support == "branch"
    shown = of_branch.to_numpy()[tree.branch_of_edge] if by_branch else tables.edges[Column.SUPPORT].to_numpy()
    panel = axes[0]
    draw_cells(
        panel,
        points,
        values,
        replace(marks, alpha=marks.alpha if spread else 0.5 * marks.alpha, cmap=spread_cmap(panel)),
        bar_label="sd of pseudotime",
    )
    draw_supported(panel, placed.courses, shown, f"support of the {support}", cmap=shades)
    doubtful = zip(tree.branches, of_branch, strict=True) if by_branch else ()
    draw_gaps(panel, [placed.along(path) for path, value in doubtful if is_little(value)])
    root = placed.nodes[int(get.ordered(adata, key)[OrderEntry.ROOT])]
    draw_root(panel, root)
    frame(panel, axis_names, title, frameon=frameon)
    if bars:
        _bars(axes[1], tables.branches, shades if by_branch else None)
        assert isinstance(panel.figure, Figure)
        fit_around(panel.figure, panel, _size(len(tables.branches)), 1 + _BARS / _TREE, 1)
    else:
        fit_figure(axes)
    if labels:
        texts = [f"{name} {100 * value:.0f} %" if by_branch else str(name) for name, value in of_branch.items()]
        _draw_names(panel, placed, texts)
    return show_or_return(axes if bars else panel, show=show, return_fig=return_fig)


def _panels(n_branches: int, three: bool) -> list[Axes]:
    """The tree's Axes, and those of the bars beside it."""
    figure = plt.figure(layout=PanelLayout(_size(n_branches)))
    left, right = figure.add_gridspec(1, 2, width_ratios=(_TREE, _BARS))
    options: dict[str, Any] = {"projection": "3d", "computed_zorder": False, "anchor": "NE"} if three else {}
    axes = [figure.add_subplot(left, **options), figure.add_subplot(right)]
    if three:
        make_room_3d(axes[0])
    return axes


def _size(n_branches: int) -> tuple[float, float]:
    """Width and height of the tree's Axes beside the bars, in inches."""
    return _TREE, max(3.9, _ROW * n_branches)


def _draw_names(ax: Axes, placed: PlacedSkeleton, texts: list[str]) -> None:
    """What is said of each branch, beside its middle."""
    middles = np.array([_middle(placed.along(path)) for path in placed.graph.branches])
    if middles.shape[1] == 2:
        ax.margins(0.1)  # room for the names
    ax.autoscale_view()
    draw_labels(ax, middles, texts, size=_NAME_POINTS, radius=1.5)


def _middle(places: np.ndarray) -> np.ndarray:
    """The point half way along a line through places, (n, 2 or 3)."""
    reached = np.r_[0.0, np.cumsum(np.sqrt((np.diff(places, axis=0) ** 2).sum(axis=1)))]
    return np.array([np.interp(reached[-1] / 2, reached, column) for column in places.T])


def _bars(ax: Axes, branches: pd.DataFrame, cmap: Colormap | None) -> None:
    """The support of the branches; without a colour map in grey, where the colours are those of the edges."""
    support, at = branches[Column.SUPPORT].to_numpy(), np.arange(len(branches))
    drawn = ax.barh(at, support, height=0.72, color=_GREY if cmap is None else cmap(support))
    for bar, value in zip(drawn, support, strict=True):
        if is_little(value):
            bar.set_hatch("////")
            bar.set_edgecolor(ground(ax))
    ax.scatter(
        branches[Column.FOUND_AGAIN],
        at,
        marker="|",
        s=90,
        color=ink(),
        linewidths=1.6,
        zorder=3,
        path_effects=rim(ax, 3.6),
        clip_on=False,  # whole at the ends of the axis
    )
    ax.axvline(LITTLE, color=ink(), linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set_yticks(at, [f"{name} ({n:,})" for name, n in branches[Column.N_CELLS].items()], fontsize=9)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    label = "support of the branch\n(|: share of replicates with it)"
    ax.set_xlabel(in_lines(label, _BARS, plt.rcParams["axes.labelsize"]))
    ax.set_ylabel("branch (cells)")
    ax.tick_params(axis="y", length=0)
    ax.grid(False)  # of scanpy's style
    ax.spines[["top", "right"]].set_visible(False)
