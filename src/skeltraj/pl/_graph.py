from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from anndata import AnnData
from matplotlib.axes import Axes

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Entry, OrderEntry
from skeltraj.core import Graph, Mesh
from skeltraj.pl._drawing.cells import draw_cells
from skeltraj.pl._drawing.coordinates import coordinates
from skeltraj.pl._drawing.node_names import draw_node_names
from skeltraj.pl._drawing.panels import fit_figure, frame, panels
from skeltraj.pl._drawing.skeleton import draw_arrow_head, draw_lines, draw_mesh, draw_root
from skeltraj.pl._drawing.values import values_of

_MAX_Q_VALUE = 0.05  # of a direction that is drawn: the usual level


@shared_texts
def graph(
    adata: AnnData,
    key: str = "ddrtree",
    *,
    color: str | Sequence[str] | None = None,
    basis: str | None = None,
    components: Sequence[int] = (0, 1),
    layer: str | None = None,
    labels: bool | None = None,
    direction: bool = False,
    size: float | None = None,
    alpha: float = 0.85,
    cmap: str = "viridis",
    legend: bool = True,
    ncols: int = 3,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes | list[Axes]:
    """Draw the cells, in the skeleton's own embedding or another, and the tree through them.

    Of learned similarities (`tl.mpme`, `tl.spl`) the pairs are drawn beneath the cells, the more similar the darker.

    Parameters
    ----------
    <adata_fitted>
    <key>
    color
        Column of `obs` (groups with a legend, numbers with a colour bar) or gene; several for several panels. Colours
        of groups are those in ``uns["<column>_colors"]``, where scanpy keeps them; else, up to 7 groups, a
        colour-blind-safe palette, and more colours for more.
    basis
        Where to draw: an entry of `obsm`, named as for scanpy ("umap" for ``obsm["X_umap"]``). Each node then stands at
        the mean of its cells there, see :func:`skeltraj.get.nodes_on_basis`; edges are straight. None: the embedding
        that the fit stored.
    <components>
    <layer>
    labels
        Name the forks ("F1", ...) and tips ("T1", ...). None: if there are at most 14 in all. A star marks the root
        once the cells are ordered.
    direction
        Draw an arrow head at the middle of each branch whose direction `tl.direction` found, with a q-value of at most
        0.05, the way it runs; in two components.
    <panels>

    Returns
    -------
    The Axes; a list of them if `color` is a list.

    Raises
    ------
    KeyError
        If there is no such fit, basis, column or gene, or no direction to draw.
    ValueError
        If a component does not exist, coordinates in the basis are NaN, or arrows are wanted in three components.
    """
    fit = get.stored(adata, key)
    tree = get.graph(adata, key)
    points, nodes, axis_names = coordinates(adata, key, basis, components)
    ways = _ways(adata, key, tree, nodes) if direction else []
    wanted: list[str | None] = [color] if color is None or isinstance(color, str) else list(color)
    values = [values_of(adata, name, layer) for name in wanted]
    axes = panels(len(values), ax=ax, three=len(axis_names) == 3, ncols=ncols)
    for panel, shown in zip(axes, values, strict=True):
        draw_cells(panel, points, shown, size=size, alpha=alpha, cmap=cmap, legend=legend)
        if isinstance(tree, Mesh):
            draw_mesh(panel, nodes[tree.edges], np.asarray(fit[Entry.WEIGHTS]))
        else:
            draw_lines(panel, nodes[tree.edges])
        for way in ways:
            draw_arrow_head(panel, way)
        draw_node_names(panel, tree, nodes, show=labels)
        if Entry.ORDER in fit:
            root = nodes[int(fit[Entry.ORDER][OrderEntry.ROOT])]
            draw_root(panel, root)
        frame(panel, axis_names, title if title is not None else shown.name)
    fit_figure(axes)
    return axes[0] if color is None or isinstance(color, str) else axes


def _ways(adata: AnnData, key: str, tree: Graph, nodes: np.ndarray) -> list[np.ndarray]:
    """The drawn places of the nodes of each branch whose direction is significant, the way it runs."""
    if nodes.shape[1] != 2:
        raise ValueError(f"direction=True was given with {nodes.shape[1]} components; wanted two.")
    table = get.direction(adata, key).branches
    significant = np.flatnonzero((table[Column.Q_VALUE] <= _MAX_Q_VALUE).to_numpy())
    forwards = (table[Column.AGREEMENT] > 0).to_numpy()
    return [nodes[tree.branches[i] if forwards[i] else tree.branches[i][::-1]] for i in significant.tolist()]
