from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from anndata import AnnData
from matplotlib.axes import Axes

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Keys, OrderEntry
from skeltraj.get._reading.checks import refuse_mesh
from skeltraj.get._reading.positions import positions
from skeltraj.pl._drawing.cells import draw_cells
from skeltraj.pl._drawing.layout import spread, unfold
from skeltraj.pl._drawing.node_names import draw_node_names
from skeltraj.pl._drawing.panels import fit_figure, panels
from skeltraj.pl._drawing.skeleton import draw_lines, draw_root
from skeltraj.pl._drawing.values import values_of


@shared_texts
def dendrogram(
    adata: AnnData,
    key: str = "ddrtree",
    *,
    color: str | Sequence[str] | None = None,
    layer: str | None = None,
    labels: bool | None = None,
    size: float | None = None,
    alpha: float = 0.85,
    cmap: str = "viridis",
    legend: bool = True,
    ncols: int = 2,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes | list[Axes]:
    """Draw the tree unfolded from its root, the cells along its branches by pseudotime.

    Branches are horizontal and do not cross; cells are spread across their branch, wider where there are more.

    Parameters
    ----------
    <adata_ordered>
    <key>
    color
        Column of `obs` or gene; several for several panels.
    <layer>
    labels
        Name the forks ("F1", ...) and tips ("T1", ...). None: if there are at most 14 in all.
    <panels>

    Returns
    -------
    The Axes; a list of them if `color` is a list.

    Raises
    ------
    KeyError
        If the cells have not been ordered, or there is no such column or gene.
    ValueError
        If the skeleton has loops.
    """
    record = get.ordered(adata, key)
    keys, tree = Keys(key), get.graph(adata, key)
    refuse_mesh(tree, key, "skeltraj.pl.dendrogram")
    if tree.n_loops:
        raise ValueError(
            f"the skeleton {key!r} has {tree.n_loops} loop(s), which cannot be laid flat; wanted a tree, or draw it "
            "with skeltraj.pl.graph."
        )
    root, length = int(record[OrderEntry.ROOT]), np.asarray(record[OrderEntry.NODE_PSEUDOTIME])
    flat = unfold(tree, root, length)
    pseudotime = adata.obs[keys.pseudotime].to_numpy()
    lane = flat.edge_height[positions(adata, tree, key).edge]
    known = np.isfinite(pseudotime) & np.isfinite(lane)
    points = np.full((adata.n_obs, 2), np.nan)
    points[known, 0] = pseudotime[known]
    points[known, 1] = lane[known] + spread(pseudotime[known], lane[known], 0.32)
    wanted: list[str | None] = [color] if color is None or isinstance(color, str) else list(color)
    values = [values_of(adata, name, layer) for name in wanted]
    n_tips = int(np.nanmax(flat.height)) + 1
    axes = panels(
        len(values), ax=ax, three=False, ncols=ncols, width=6.4, height=float(np.clip(1.2 + 0.55 * n_tips, 2.6, 9))
    )
    x0, x1, height = flat.stretches.T
    horizontal = np.stack([np.column_stack([x0, height]), np.column_stack([x1, height])], axis=1)
    x, low, high = flat.risers.T
    vertical = np.stack([np.column_stack([x, low]), np.column_stack([x, high])], axis=1)
    for panel, shown in zip(axes, values, strict=True):
        draw_cells(panel, points, shown, size=size, alpha=alpha, cmap=cmap, legend=legend)
        draw_lines(panel, np.concatenate([vertical, horizontal]), color="#4D4D4D", width=1.3, order=0.5, rimmed=False)
        draw_root(panel, np.array([length[root], flat.height[root]]))
        draw_node_names(panel, tree, np.column_stack([length, flat.height]), show=labels, skip=root)
        panel.set_yticks([])
        panel.set_xlabel("pseudotime")
        panel.spines[["top", "right", "left"]].set_visible(False)
        panel.set_ylim(-0.6, n_tips - 0.4)
        name = title if title is not None else shown.name
        if name:
            panel.set_title(name)
    fit_figure(axes)
    return axes[0] if color is None or isinstance(color, str) else axes
