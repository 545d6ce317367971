"""What pictures give back, and whether they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from skeltraj.core._runtime import check

from .names_as_written import formulas_elsewhere

_USUAL = "line"  # where matplotlib has grids: below lines alone


def check_show_or_return(
    show: bool | None, return_fig: bool | None, ax: Axes | None = None, *, fits: bool = False
) -> None:
    """Refuse what is no switch, and what cannot be drawn on, before anything is drawn.

    `fits`: whether `panels` looks if 3-D fits.
    """
    kinds = ("rectilinear", "3d") if fits else ("rectilinear",)
    if ax is not None and not (isinstance(ax, Axes) and ax.name in kinds):
        kind = f"{ax.name} Axes" if isinstance(ax, Axes) else f"a {type(ax).__name__}"
        raise TypeError(f"ax={check.in_message(ax)}: {kind}; wanted one of matplotlib's Axes, with x and y.")
    for value, name in ((show, "show"), (return_fig, "return_fig")):
        check.flag_or_none(value, name)


def show_or_return(drawn: Any, *, show: bool | None, return_fig: bool | None) -> Any:
    """The Axes drawn, or with `return_fig` their figure; with `show` they are shown first.

    A grid, as scanpy's style has it, lies below what is drawn, not on cells and bands, unless it was put elsewhere.
    """
    axes = list(drawn.values()) if isinstance(drawn, Mapping) else drawn
    axes = axes if isinstance(axes, Sequence) else [axes]
    for ax in axes:
        assert isinstance(ax, Axes)
        if ax.get_axisbelow() == _USUAL:
            ax.set_axisbelow(True)
    figure = axes[0].figure.figure  # of a SubFigure: the figure around it; of a Figure: itself
    assert isinstance(figure, Figure)
    formulas_elsewhere(figure)
    if show:
        plt.show()
    return figure if return_fig else drawn
