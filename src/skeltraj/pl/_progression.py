from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from anndata import AnnData
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import proj3d

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import OrderEntry
from skeltraj.pl._drawing.cell_style import RIGHT, CellStyle, Palette
from skeltraj.pl._drawing.cells import draw_cells
from skeltraj.pl._drawing.coordinates import coordinates
from skeltraj.pl._drawing.handing_over import check_handing_over, hand_over
from skeltraj.pl._drawing.label_places import label_places
from skeltraj.pl._drawing.panels import fit_figure, frame, panels
from skeltraj.pl._drawing.skeleton import draw_lines, draw_root
from skeltraj.pl._drawing.style import faded, ink, rim
from skeltraj.pl._drawing.values import values_of

_NAME_POINTS = 10.5  # size of the names; chosen by eye


@shared_texts
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
    that joins the root to the middle of every group (its median on the tree, see :func:`skeltraj.get.groups`); each
    group's name stands there.

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
        Area of a sample's mark, in square points. None: by the number of samples.
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
    """
    check_handing_over(show, return_fig)
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
    groups = get.groups(adata, groupby, key)
    root = int(get.ordered(adata, key)[OrderEntry.ROOT])
    points, placed, axis_names = coordinates(adata, key, basis, components, smooth=smooth)
    tree, nodes = placed.graph, placed.nodes
    three = len(axis_names) == 3
    values = values_of(adata, groupby, style=style)
    assert values.categories is not None
    assert values.colors is not None
    [ax] = panels(1, ax=ax, three=three, ncols=1, width=7.2, height=5.4)
    draw_cells(ax, points, values, style)
    draw_lines(ax, placed.courses, width=0.9, color=faded(ax, 0.7))
    reached = [int(node) for node in groups["node"] if tree.component[node] == tree.component[root]]
    main = sorted({e for node in reached for e in tree.edges_along(tree.path(root, node)).tolist()})
    if main:
        draw_lines(ax, placed.courses[main], width=2.6, order=4)
    color = dict(zip(values.categories, values.colors, strict=True))
    centers = nodes[groups["node"].to_numpy()]
    for at, name in zip(centers, groups.index, strict=True):
        ax.scatter(*at[:, None], s=70, color=color[str(name)], edgecolors=ink(), linewidths=1.2, zorder=5)
    draw_root(ax, nodes[root], size=150)
    if not three:
        ax.margins(0.1)  # room for the names
    ax.autoscale_view()
    if three:  # where they are seen from the figure's point of view
        centers = np.column_stack(proj3d.proj_transform(*centers.T, ax.get_proj())[:2])
    frame(ax, axis_names, title, frameon=style.frameon)
    fit_figure([ax])
    labels = [textwrap.fill(str(name), 18) for name in groups.index]
    for at, place, name in zip(centers, label_places(ax, centers, labels, size=_NAME_POINTS), labels, strict=True):
        drawn = ax.annotate(
            name,
            at,
            xytext=place,
            textcoords="axes fraction",
            fontsize=_NAME_POINTS,
            fontweight="bold",
            ha="center",
            va="center",
            zorder=7,
            arrowprops=dict(arrowstyle="-", color=ink(), linewidth=0.8, shrinkB=4),
        )
        drawn.set_path_effects(rim(ax, 2.6))
    return hand_over(ax, show=show, return_fig=return_fig)
