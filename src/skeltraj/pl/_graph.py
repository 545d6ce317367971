from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from anndata import AnnData
from matplotlib.axes import Axes

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, OrderEntry
from skeltraj.core import Mesh
from skeltraj.pl._drawing import draw
from skeltraj.pl._drawing.coordinates import coordinates
from skeltraj.pl._drawing.values import values_of


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
    <panels>

    Returns
    -------
    The Axes; a list of them if `color` is a list.

    Raises
    ------
    KeyError
        If there is no such fit, basis, column or gene.
    ValueError
        If a component does not exist, or coordinates in the basis are NaN.
    """
    fit = get.stored(adata, key)
    tree = get.graph(adata, key)
    points, nodes, axis_names = coordinates(adata, key, basis, components)
    wanted: list[str | None] = [color] if color is None or isinstance(color, str) else list(color)
    values = [values_of(adata, name, layer) for name in wanted]
    axes = draw.panels(len(values), ax=ax, three=len(axis_names) == 3, ncols=ncols)
    for panel, shown in zip(axes, values, strict=True):
        draw.cells(panel, points, shown, size=size, alpha=alpha, cmap=cmap, legend=legend)
        if isinstance(tree, Mesh):
            draw.mesh(panel, nodes[tree.edges], np.asarray(fit[Entry.WEIGHTS]))
        else:
            draw.lines(panel, nodes[tree.edges])
        draw.ids(panel, tree, nodes, show=labels)
        if Entry.ORDER in fit:
            root = nodes[int(fit[Entry.ORDER][OrderEntry.ROOT])]
            panel.scatter(*root[:, None], marker="*", s=130, color=draw.TREE, edgecolors="white", zorder=5)
        draw.frame(panel, axis_names, title if title is not None else shown.name)
    return axes[0] if color is None or isinstance(color, str) else axes
