from __future__ import annotations

import numpy as np
from anndata import AnnData
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.checks import one_column
from skeltraj.pl._drawing.matrix import block_names, frame_matrix, matrix_side, node_places
from skeltraj.pl._drawing.names_as_written import names_as_written
from skeltraj.pl._drawing.panels import axes_size, fit_figure, panels
from skeltraj.pl._drawing.show_or_return import check_show_or_return, show_or_return
from skeltraj.pl._drawing.style import ink
from skeltraj.pl._drawing.values import values_of


@as_declared
@shared_texts
@names_as_written()
def adjacency(
    adata: AnnData,
    key: str = "ddrtree",
    *,
    groupby: str | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
    return_fig: bool | None = None,
) -> Axes | Figure:
    """Draw the adjacency of the tree's nodes as a matrix (KDD 2015, Figs 4b and 5b).

    Parameters
    ----------
    <adata_fitted>
    <key>
    groupby
        Column of `obs` by which to order the nodes. Groups: each node goes to the group with the largest share of the
        cells assigned to it, groups in order, blocks marked; nodes none of whose cells has a group are last. Numbers:
        by the weighted mean of its cells. None: as stored (by cell, with one node per cell).
    <ax>
    <show>

    Returns
    -------
    The Axes; with `return_fig` the Figure.

    Examples
    --------
    .. plot::
        :include-source:

        <example_picture>
        st.pl.adjacency(adata, groupby="cell_type")
    """
    check_show_or_return(show, return_fig, ax, fits=True)
    tree = get.graph(adata, key)
    if groupby is not None and groupby in adata.obs and one_column(adata.obs, groupby, "groupby").isna().all():
        raise ValueError(f"adata.obs[{groupby!r}] is missing for all {adata.n_obs} cells; wanted values.")
    weights = get.assignment(adata, key)
    values = None if groupby is None else values_of(adata, groupby, argument="groupby")
    place, bounds, codes = node_places(tree, weights, values)
    blocks = block_names(values, codes)
    wide = matrix_side(blocks)
    [ax] = panels(1, ax=ax, three=False, ncols=1, width=wide, height=wide)
    a, b = place[tree.edges].T
    side = 66 * min(axes_size(ax)) / tree.n_nodes  # of an entry, about, in points, at this size of the figure
    ax.scatter(np.r_[a, b], np.r_[b, a], marker="s", s=max(side, 1.6) ** 2, color=ink(), linewidths=0)
    frame_matrix(ax, bounds, blocks, items="nodes", groupby=groupby)
    fit_figure([ax])
    ax.set_aspect("equal")
    return show_or_return(ax, show=show, return_fig=return_fig)
