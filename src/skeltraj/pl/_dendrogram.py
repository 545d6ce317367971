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
from skeltraj._keys import OrderEntry
from skeltraj.core import Graph
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.checks import refuse_mesh
from skeltraj.get._reading.positions import path_lengths, positions
from skeltraj.pl._drawing.branch_support import draw_support, support_of
from skeltraj.pl._drawing.cell_style import RIGHT, Bounds, CellStyle, Palette
from skeltraj.pl._drawing.cells import draw_cells
from skeltraj.pl._drawing.layout import Unfolded, spread, unfold
from skeltraj.pl._drawing.names_as_written import names_as_written
from skeltraj.pl._drawing.node_names import draw_node_names, names_to_draw
from skeltraj.pl._drawing.panels import draw_title, fit_figure, panel_titles, panels
from skeltraj.pl._drawing.show_or_return import check_show_or_return, show_or_return
from skeltraj.pl._drawing.skeleton import draw_lines, draw_root
from skeltraj.pl._drawing.style import faded
from skeltraj.pl._drawing.values import values_of_panels


@as_declared
@shared_texts
@names_as_written()
def dendrogram(
    adata: AnnData,
    key: str = "ddrtree",
    *,
    color: str | Sequence[str] | None = None,
    layer: str | None = None,
    use_raw: bool | None = None,
    gene_symbols: str | None = None,
    groups: str | Sequence[str] | None = None,
    labels: bool | None = None,
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
    ncols: int = 2,
    title: str | Sequence[str] | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
    return_fig: bool | None = None,
) -> Axes | list[Axes] | Figure:
    """Draw the tree unfolded from its root, with the cells along its branches by pseudotime.

    Branches are horizontal and do not cross; cells are spread across their branch, wider where there are more of them.
    If the skeleton is in several parts, only the part with the root is drawn, with its cells.

    Parameters
    ----------
    <adata_ordered>
    <key>
    color
        Column of `obs` or gene; several for several panels. Cells without a value are grey and named "missing" beside.
    <genes>
    <groups>
    labels
        Name the forks ("F1", ...), the tips ("T1", ...) and the root ("root", if it is none of them); None: as
        :func:`skeltraj.pl.graph` does.
    <support>
    <panels>

    Returns
    -------
    The Axes; a list of them if `color` is a list. With `return_fig` the Figure.

    Raises
    ------
    KeyError
        If the cells have not been ordered, there is no such column or gene, or no support to draw.
    ValueError
        If the skeleton has loops, or `support` is not known.

    Examples
    --------
    .. plot::
        :include-source:

        <example_picture>
        st.pl.dendrogram(adata, color="cell_type")
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
    record = get.ordered(adata, key)
    tree = get.graph(adata, key)
    refuse_mesh(tree, key, "skeltraj.pl.dendrogram")
    if tree.n_loops:
        raise ValueError(
            f"the skeleton {key!r} has {tree.n_loops} loop(s), which cannot be laid flat; wanted a tree, or draw it "
            "with skeltraj.pl.graph."
        )
    root, length = int(record[OrderEntry.ROOT]), np.asarray(record[OrderEntry.NODE_PSEUDOTIME])
    flat = unfold(tree, root, length)
    points = _cells(adata, key, tree, root, flat)
    values = values_of_panels(adata, color, layer, style, use_raw=use_raw, gene_symbols=gene_symbols)
    sure = support_of(adata, key, tree, support)
    titles = panel_titles(title, values)
    named = names_to_draw(tree, labels)
    if labels is not False:
        named.setdefault(root, "root")
    n_tips = int(np.nanmax(flat.height)) + 1
    axes = panels(
        len(values), ax=ax, three=False, ncols=ncols, width=6.4, height=float(np.clip(1.2 + 0.55 * n_tips, 2.6, 9))
    )
    horizontal, vertical = _lines(flat)
    along = np.stack([length[tree.edges], np.repeat(flat.edge_height[:, None], 2, axis=1)], axis=2)  # of each edge
    branches = [_flat_branch(along[tree.edges_along(path)]) for path in tree.branches]
    for i, (panel, shown) in enumerate(zip(axes, values, strict=True)):
        draw_cells(panel, points, shown, style.of_panel(i, len(axes)))
        lines = np.concatenate([vertical, horizontal]) if sure is None else vertical
        draw_lines(panel, lines, color=faded(panel, 0.7), width=1.3, order=0.6, rimmed=False)
        if sure is not None:
            draw_support(panel, along, branches, sure, style, alone=shown.name is None)
        draw_root(panel, np.array([length[root], flat.height[root]]))
        draw_node_names(panel, np.column_stack([length, flat.height]), named)
        panel.set_yticks([])
        panel.set_xlabel("pseudotime")
        panel.spines[["top", "right", "left"]].set_visible(False)
        panel.set_ylim(-0.6, n_tips - 0.4)
        if above := titles[i]:
            draw_title(panel, above)
        if not style.frameon:
            panel.set_axis_off()
    fit_figure(axes)
    drawn = axes[0] if color is None or isinstance(color, str) else axes
    return show_or_return(drawn, show=show, return_fig=return_fig)


def _cells(adata: AnnData, key: str, tree: Graph, root: int, flat: Unfolded) -> np.ndarray:
    """Where cells are drawn, (n_obs, 2): spread across their branch at their pseudotime; NaN where they have none."""
    pseudotime = path_lengths(adata, tree, root, key)
    lane = flat.edge_height[positions(adata, tree, key).edge]
    known = np.isfinite(pseudotime) & np.isfinite(lane)
    points = np.full((adata.n_obs, 2), np.nan)
    points[known, 0] = pseudotime[known]
    points[known, 1] = lane[known] + spread(pseudotime[known], lane[known], 0.32)
    return points


def _lines(flat: Unfolded) -> tuple[np.ndarray, np.ndarray]:
    """The horizontal and the vertical lines of the tree, each (n, 2 ends, 2)."""
    x0, x1, height = flat.stretches.T
    horizontal = np.stack([np.column_stack([x0, height]), np.column_stack([x1, height])], axis=1)
    x, low, high = flat.risers.T
    vertical = np.stack([np.column_stack([x, low]), np.column_stack([x, high])], axis=1)
    return horizontal, vertical


def _flat_branch(edges: np.ndarray) -> np.ndarray:
    """The line of a branch through its unfolded edges, (n, 2); broken where the root lies within it.

    Edges that the root does not reach are nowhere.
    """
    pieces = []
    edges = edges[np.isfinite(edges).all(axis=(1, 2))]
    for height in np.unique(edges[:, 0, 1]):
        x = edges[edges[:, 0, 1] == height, :, 0]
        pieces.append([[x.min(), height], [x.max(), height], [np.nan, np.nan]])
    return np.concatenate(pieces)[:-1] if pieces else np.empty((0, 2))
