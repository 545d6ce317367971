from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from anndata import AnnData
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.path import Path

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import OrderEntry
from skeltraj.core._runtime.declared import as_declared
from skeltraj.pl._drawing.cell_style import ON_DATA, RIGHT, CellStyle, Palette
from skeltraj.pl._drawing.cells import draw_cells
from skeltraj.pl._drawing.coordinates import coordinates
from skeltraj.pl._drawing.labels import draw_labels
from skeltraj.pl._drawing.names_as_written import names_as_written
from skeltraj.pl._drawing.panels import fit_figure, frame, panels
from skeltraj.pl._drawing.show_or_return import check_show_or_return, show_or_return
from skeltraj.pl._drawing.skeleton import draw_lines, draw_root
from skeltraj.pl._drawing.style import faded, ink, rim
from skeltraj.pl._drawing.values import values_of

# chosen by eye
_NAME_POINTS, _LEAST_NAME_POINTS = 10.5, 6.5  # size of the names: where there is room, and at least
_WRAP = 18  # letters in a line of a name
_MARK_AREA, _ROOT_AREA, _STAR_AREA = 75.0, 300.0, 150.0  # square points: of a group, of one that has the star in it
_FREE_STAR_AREA = 420.0  # of the star where no group is


@as_declared
@shared_texts
@names_as_written()
def progression(
    adata: AnnData,
    groupby: str,
    key: str = "ddrtree",
    *,
    basis: str | None = None,
    smooth: bool = True,
    components: Sequence[int] = (0, 1),
    size: float | None = None,
    alpha: float = 0.8,
    palette: Palette = None,
    na_color: Any = None,
    legend: bool = True,
    legend_loc: str | None = RIGHT,
    legend_fontsize: float | str | None = None,
    frameon: bool | None = None,
    title: str | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
    return_fig: bool | None = None,
) -> Axes | Figure:
    """Draw how groups of samples follow one another along the tree (KDD 2015, Fig. 6).

    Samples are coloured by group and the whole tree is drawn thin. The main path, drawn thick, is the part of the tree
    that joins the root to the middle of every group (its median on the tree, see :func:`skeltraj.get.groups`), where
    the group's name stands beside a mark in its colour. Groups at the same node share a mark, each with a sector of it;
    the star of the root is drawn inside the mark of the groups there. If there are too many groups for all names, the
    smallest groups are named only in the legend; with ``legend_loc="on data"`` names stand only at the marks.

    Parameters
    ----------
    <adata_ordered>
    groupby
        Categorical column of `obs`.
    <key>
    <basis>
    <smooth>
    <components>
    size
        Area of a sample's mark, in square points. None: it depends on the number of samples.
    alpha
        Opacity of the samples.
    <palette>
    <na_color>
    <legend>
    <legend_loc>
    <frameon>
    <figure_title>
    <ax>
    <show>

    Returns
    -------
    The Axes; with `return_fig` the Figure.

    Raises
    ------
    KeyError
        If the cells have not been ordered, or there is no such column or basis.
    TypeError
        If the column is numeric.

    Examples
    --------
    .. plot::
        :include-source:

        <example_picture>
        st.pl.progression(adata, "cell_type")
    """
    check_show_or_return(show, return_fig, ax, fits=True)
    style = CellStyle(
        palette=palette,
        na_color=na_color,
        size=size,
        alpha=alpha,
        legend=legend,
        legend_loc=legend_loc,
        legend_fontsize=legend_fontsize,
        frameon=frameon,
    )
    groups = get.groups(adata, groupby, key).rename_axis(index=None)  # the column may be called as one of the table
    root = int(get.ordered(adata, key)[OrderEntry.ROOT])
    points, placed, axis_names = coordinates(adata, key, basis, components, smooth=smooth)
    tree, nodes = placed.graph, placed.nodes
    three = len(axis_names) == 3
    values = values_of(adata, groupby, style=style)
    [ax] = panels(1, ax=ax, three=three, ncols=1, width=7.2, height=5.4)
    # the groups are named at their marks in any case
    draw_cells(ax, points, values, replace(style, legend_loc=None) if style.legend_loc == ON_DATA else style)
    draw_lines(ax, placed.courses, width=0.9, color=faded(ax, 0.7))
    reached = [int(node) for node in groups["node"] if tree.component[node] == tree.component[root]]
    main = sorted({e for node in reached for e in tree.edges_along(tree.path(root, node)).tolist()})
    if main:
        draw_lines(ax, placed.courses[main], width=2.0, order=4)
    color = values.color_of
    together = groups.groupby("node", sort=False).groups
    for node, names in together.items():
        _draw_pie(ax, nodes[node], [color[str(name)] for name in names], _area(node == root, len(names)))
    # in the mark of the root's groups; else behind the marks near it, and large enough to be seen behind them
    hosted = root in together
    draw_root(ax, nodes[root], size=_STAR_AREA if hosted else _FREE_STAR_AREA, hollow=True, order=6 if hosted else 4.5)
    if not three:
        ax.margins(0.1)  # room for the names
    ax.autoscale_view()
    frame(ax, axis_names, title, frameon=style.frameon)
    named = groups.sort_values("n_cells", ascending=False, kind="stable")  # the largest have room first
    areas = np.array([_area(node == root, len(together[node])) for node in named["node"]])
    draw_labels(
        ax,
        nodes[named["node"].to_numpy()],
        [textwrap.fill(str(name), _WRAP) for name in named.index],
        size=_NAME_POINTS,
        least=_LEAST_NAME_POINTS,
        radius=np.sqrt(areas) / 2,
        optional=True,
    )
    fit_figure([ax])
    return show_or_return(ax, show=show, return_fig=return_fig)


def _area(at_root: bool, n_groups: int) -> float:
    """Of the mark of groups, in square points: larger where a star or several groups have to be seen in it."""
    return max(_ROOT_AREA if at_root else 0.0, _MARK_AREA * min(1 + 0.5 * (n_groups - 1), 3.0))


def _draw_pie(ax: Axes, at: np.ndarray, colors: Sequence[str], area: float) -> None:
    """A mark at a node, (2,) or (3,), with a sector for each group there, clockwise from the top."""
    style: dict[str, Any] = dict(s=area, linewidths=1.2, zorder=5, **({"depthshade": False} if len(at) == 3 else {}))
    whole = ax.scatter(*at[:, None], facecolors=colors[0], edgecolors=ink(), **style)
    whole.set_path_effects(rim(ax, 3.2))
    if len(colors) == 1:
        return
    turn = 360 / len(colors)
    for i, color in enumerate(colors):
        sector = Path.wedge(90 - (i + 1) * turn, 90 - i * turn)
        scale = np.abs(sector.vertices).max()  # to which markers are drawn: sectors are to be equally large
        ax.scatter(*at[:, None], marker=sector, color=color, **style | {"s": area * scale**2, "linewidths": 0})
    ax.scatter(*at[:, None], facecolors="none", edgecolors=ink(), **style)
