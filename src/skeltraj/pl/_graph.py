from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from anndata import AnnData
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Entry, OrderEntry
from skeltraj.core import Mesh, PlacedSkeleton
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.order import order_with_cells
from skeltraj.pl._drawing.branch_support import draw_support, support_of
from skeltraj.pl._drawing.cell_style import RIGHT, Bounds, CellStyle, Palette
from skeltraj.pl._drawing.cells import draw_cells
from skeltraj.pl._drawing.coordinates import coordinates
from skeltraj.pl._drawing.names_as_written import names_as_written
from skeltraj.pl._drawing.node_names import draw_node_names, names_to_draw
from skeltraj.pl._drawing.panels import fit_figure, frame, panel_titles, panels
from skeltraj.pl._drawing.show_or_return import check_show_or_return, show_or_return
from skeltraj.pl._drawing.skeleton import draw_arrow_head, draw_lines, draw_mesh, draw_root
from skeltraj.pl._drawing.values import values_of_panels

_MAX_Q_VALUE = 0.05  # of a direction that is drawn: the usual level


@as_declared
@shared_texts
@names_as_written()
def graph(
    adata: AnnData,
    key: str = "ddrtree",
    *,
    color: str | Sequence[str] | None = None,
    basis: str | None = None,
    smooth: bool = True,
    components: Sequence[int] = (0, 1),
    layer: str | None = None,
    use_raw: bool | None = None,
    gene_symbols: str | None = None,
    groups: str | Sequence[str] | None = None,
    labels: bool | None = None,
    direction: bool = False,
    support: Literal["starts", "branch", "edge"] | None = None,
    size: float | None = None,
    alpha: float = 0.85,
    palette: Palette = None,
    na_color: Any = None,
    cmap: Colormap | str | None = None,
    vmin: Bounds = None,
    vmax: Bounds = None,
    vcenter: Bounds = None,
    norm: Normalize | Sequence[Normalize] | None = None,
    sort_order: bool = True,
    legend: bool = True,
    legend_loc: str | None = RIGHT,
    legend_fontsize: float | str | None = None,
    colorbar_loc: Literal["right", "left", "top", "bottom"] | None = "right",
    frameon: bool | None = None,
    ncols: int = 3,
    title: str | Sequence[str] | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
    return_fig: bool | None = None,
) -> Axes | list[Axes] | Figure:
    """Draw the cells, in the skeleton's own embedding or another, and the tree through them.

    For learned similarities (`tl.mpme`, `tl.spl`) the pairs are drawn beneath the cells, darker the more similar they
    are.

    Parameters
    ----------
    <adata_fitted>
    <key>
    color
        Column of `obs` (groups with a legend, numbers with a colour bar) or gene; several for several panels. Cells
        without a value are grey and named "missing" there.
    basis
        Where to draw: an entry of `obsm`, named as for scanpy ("umap" for ``obsm["X_umap"]``). None: the embedding that
        the fit stored.
    <smooth>
    <components>
    <genes>
    <groups>
    labels
        Name the forks ("F1", ...) and tips ("T1", ...), in smaller letters if there are many. None: all if there are
        at most 40, else the tips alone if they are at most 40, else none; the log says so when not all are. A star
        marks the root once the cells are ordered.
    direction
        Draw an arrow head at the middle of each branch whose direction `tl.direction` found, with a q-value of at most
        0.05, the way it runs; in two components.
    <support>
    <panels>

    Returns
    -------
    The Axes; a list of them if `color` is a list. With `return_fig` the Figure.

    Raises
    ------
    KeyError
        If there is no such fit, basis, column or gene, or no direction or support to draw.
    ValueError
        If a component does not exist, coordinates in the basis are NaN, arrows are wanted in three components, or
        `support` is not known.

    Examples
    --------
    .. plot::
        :include-source:

        <example_picture>
        st.pl.graph(adata, color="cell_type")
    """
    check_show_or_return(show, return_fig, ax, fits=True)
    style = CellStyle(
        palette=palette,
        groups=groups,
        na_color=na_color,
        cmap=cmap,
        vmin=vmin,
        vmax=vmax,
        vcenter=vcenter,
        norm=norm,
        size=size,
        alpha=alpha,
        sort_order=sort_order,
        legend=legend,
        legend_loc=legend_loc,
        legend_fontsize=legend_fontsize,
        colorbar_loc=colorbar_loc,
        frameon=frameon,
    )
    fit = get.stored(adata, key)
    points, placed, axis_names = coordinates(adata, key, basis, components, smooth=smooth)
    tree, nodes = placed.graph, placed.nodes
    order = order_with_cells(adata, fit, tree, key)
    ways = _ways(adata, key, placed) if direction else []
    sure = support_of(adata, key, tree, support)
    values = values_of_panels(adata, color, layer, style, use_raw=use_raw, gene_symbols=gene_symbols)
    titles = panel_titles(title, values)
    named = names_to_draw(tree, labels)
    axes = panels(len(values), ax=ax, three=len(axis_names) == 3, ncols=ncols)
    for i, (panel, shown) in enumerate(zip(axes, values, strict=True)):
        draw_cells(panel, points, shown, style.of_panel(i, len(axes)))
        if isinstance(tree, Mesh):
            draw_mesh(panel, nodes[tree.edges], np.asarray(fit[Entry.WEIGHTS]))
        elif sure is not None:
            lines = [placed.along(path) for path in tree.branches]
            draw_support(panel, placed.courses, lines, sure, style, alone=shown.name is None)
        else:
            draw_lines(panel, placed.courses)
        for way in ways:
            draw_arrow_head(panel, way)
        draw_node_names(panel, nodes, named)
        if order is not None:
            draw_root(panel, nodes[int(order[OrderEntry.ROOT])])
        frame(panel, axis_names, titles[i], frameon=style.frameon)
    fit_figure(axes)
    drawn = axes[0] if color is None or isinstance(color, str) else axes
    return show_or_return(drawn, show=show, return_fig=return_fig)


def _ways(adata: AnnData, key: str, placed: PlacedSkeleton) -> list[np.ndarray]:
    """The places along each branch whose direction is significant, the way it runs."""
    if placed.nodes.shape[1] != 2:
        raise ValueError(f"direction=True was given with {placed.nodes.shape[1]} components; wanted two.")
    branches = placed.graph.branches
    table = get.direction(adata, key).branches
    significant = np.flatnonzero((table[Column.Q_VALUE] <= _MAX_Q_VALUE).to_numpy())
    forwards = (table[Column.AGREEMENT] > 0).to_numpy()
    return [placed.along(branches[i] if forwards[i] else branches[i][::-1]) for i in significant.tolist()]
