from __future__ import annotations

import numpy as np
from anndata import AnnData
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LogNorm
from matplotlib.figure import Figure
from scipy import sparse

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Keys
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.checks import available, one_column
from skeltraj.pl._drawing.cell_style import CellStyle
from skeltraj.pl._drawing.legends import color_bar
from skeltraj.pl._drawing.matrix import block_names, cell_places, frame_matrix, matrix_side
from skeltraj.pl._drawing.names_as_written import names_as_written
from skeltraj.pl._drawing.number_scale import colormap, dense_map
from skeltraj.pl._drawing.panels import axes_size, fit_figure, panels
from skeltraj.pl._drawing.show_or_return import check_show_or_return, show_or_return
from skeltraj.pl._drawing.values import values_of


@as_declared
@shared_texts
@names_as_written()
def similarity(
    adata: AnnData,
    key: str = "mpme",
    *,
    groupby: str | None = None,
    cmap: Colormap | str | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
    return_fig: bool | None = None,
) -> Axes | Figure:
    """Draw the learned similarities of the cells as a matrix (MPME, Fig. 6).

    Parameters
    ----------
    adata
        Annotated data with learned similarities (`tl.mpme`, `tl.spl`).
    <key>
    groupby
        Column of `obs` by which to sort the cells. Groups: in their order, with blocks marked. Numbers (such as a
        pseudotime): from low to high. Cells without a value are last. None: as they were fitted.
    cmap
        Colour map for the similarities, on a logarithmic scale from their 5th percentile; pairs without any stay as the
        background. None: that of ``rcParams["image.cmap"]`` if it was set, else viridis, with the end that stands out
        most for the largest.
    <ax>
    <show>

    Returns
    -------
    The Axes; with `return_fig` the Figure.

    Raises
    ------
    KeyError
        If no similarities are stored under `key`, or there is no such column.
    ValueError
        If no cells are similar, similarities are negative or not finite, or the column is missing for all.

    Examples
    --------
    .. plot::
        :include-source:

        import skeltraj as st

        adata = st.datasets.spiral(150)
        st.tl.mpme(adata)
        st.pl.similarity(adata, groupby="place")
    """
    check_show_or_return(show, return_fig, ax)
    shades = dense_map() if CellStyle(cmap=cmap).cmap is None else colormap(cmap)
    get.stored(adata, key)
    keys = Keys(key)
    if keys.similarity not in adata.obsp:
        raise KeyError(
            f"adata.obsp has no {keys.similarity!r}: the skeleton {key!r} has no similarities of cells, as "
            f"skeltraj.tl.mpme and skeltraj.tl.spl learn them. Available: {available(adata.obsp)}."
        )
    entries = sparse.coo_matrix(adata.obsp[keys.similarity])
    entries.eliminate_zeros()
    if not (entries.data > 0).all() or np.isinf(entries.data).any():
        raise ValueError(f"adata.obsp[{keys.similarity!r}] holds entries that are not positive, or not finite.")
    if not entries.nnz:
        raise ValueError(f"adata.obsp[{keys.similarity!r}] has no entries: no two cells are similar; wanted some.")
    if groupby is not None and groupby in adata.obs and one_column(adata.obs, groupby, "groupby").isna().all():
        raise ValueError(f"adata.obs[{groupby!r}] is missing for all {adata.n_obs} cells; wanted values.")
    values = None if groupby is None else values_of(adata, groupby, argument="groupby")
    assignment = get.assignment(adata, key)
    own, bounds, codes = cell_places(get.graph(adata, key), assignment.indices, values)
    names = block_names(values, codes)
    wide = matrix_side(names)
    [ax] = panels(1, ax=ax, three=False, ncols=1, width=wide, height=wide)
    by = np.argsort(entries.data, kind="stable")  # the largest on top
    low, high = np.quantile(entries.data, [0.05, 1.0])
    drawn = ax.scatter(
        own[entries.col[by]],
        own[entries.row[by]],
        c=entries.data[by],
        cmap=shades,
        norm=LogNorm(low, high if high > low else 2 * low),
        marker="s",
        s=max(66 * min(axes_size(ax)) / adata.n_obs, 1.0) ** 2,  # as large as an entry, about
        linewidths=0,
        rasterized=True,
    )
    color_bar(ax, drawn, "similarity")
    frame_matrix(ax, bounds, names, items="cells", groupby=groupby)
    fit_figure([ax])
    ax.set_aspect("equal")
    return show_or_return(ax, show=show, return_fig=return_fig)
