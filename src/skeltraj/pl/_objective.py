from __future__ import annotations

import numpy as np
from anndata import AnnData
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Entry
from skeltraj.core._runtime.declared import as_declared
from skeltraj.pl._drawing.names_as_written import names_as_written
from skeltraj.pl._drawing.panels import panels
from skeltraj.pl._drawing.show_or_return import check_show_or_return, show_or_return


@as_declared
@shared_texts
@names_as_written()
def objective(
    adata: AnnData,
    key: str = "ddrtree",
    *,
    log: bool = False,
    ax: Axes | None = None,
    show: bool | None = None,
    return_fig: bool | None = None,
) -> Axes | Figure:
    """Draw the objective over the rounds of the fit.

    Parameters
    ----------
    <adata_fitted>
    <key>
    log
        Draw, on a logarithmic scale, how far the objective is above its last value (for `tl.mpme` and `tl.spl`, which
        maximise: below).
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
        st.pl.objective(adata)
    """
    check_show_or_return(show, return_fig, ax, fits=True)
    fit = get.stored(adata, key)
    values = np.asarray(fit[Entry.OBJECTIVE])
    [ax] = panels(1, ax=ax, three=False, ncols=1, height=3.2)
    rises = Entry.CERTIFICATE in fit  # a maximised function, after every step
    if log:
        values = np.abs(values[:-1] - values[-1])
        ax.set_yscale("log")
    ax.plot(np.arange(len(values)), values, color="#0072B2", marker="o", markersize=3, linewidth=1.4)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("step" if rises else "round")
    ax.set_ylabel(f"objective {'below' if rises else 'above'} its last value" if log else "objective")
    ax.set_title("converged" if fit[Entry.CONVERGED] else "not converged")
    ax.spines[["top", "right"]].set_visible(False)
    return show_or_return(ax, show=show, return_fig=return_fig)
