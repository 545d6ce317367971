"""Which colour a number gets."""

from __future__ import annotations

from copy import copy
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import rcParamsDefault
from matplotlib.colors import Colormap, Normalize, TwoSlopeNorm

from skeltraj._printing import in_full

from .cell_style import CellStyle
from .style import diverging, is_dark, sequential

_BOTH_SIGNS = 0.05  # share of the larger extreme that the smaller one has at least, of numbers around zero; measured


def number_scale(data: np.ndarray, style: CellStyle) -> tuple[Colormap, Normalize]:
    """The colour map and the norm for finite numbers, one or more.

    Without a map (given, or set in ``rcParams["image.cmap"]``), a norm and a centre, numbers of both signs get a map
    with two ends, grey at 0, as wide for negative as for positive numbers. Both signs they have if the smaller
    extreme is at least a twentieth of the larger: z-scores and scores of sets of genes have, counts and pseudotimes
    have not, nor have most genes that a correction pushed a little below 0.

    Raises
    ------
    TypeError, ValueError
        If a bound is no number, bounds do not follow one another, or a norm is given with bounds.
    """
    vmin, vmax, vcenter = (_bound(getattr(style, name), name, data) for name in ("vmin", "vmax", "vcenter"))
    if style.norm is not None:
        given = [name for name in ("vmin", "vmax", "vcenter") if getattr(style, name) is not None]
        if given:
            raise ValueError(f"norm and {given[0]} were both given; wanted one of them.")
        return colormap(style.cmap), copy(style.norm)  # matplotlib sets the limits of the one it is given
    low, high = float(data.min()), float(data.max())
    ours = style.cmap is None and _usual() is None
    if ours and vcenter is None and both_signs(low, high):
        most = max(-low, high)
        ends = -most if vmin is None else vmin, most if vmax is None else vmax
        if ends[0] < 0 < ends[1]:
            return diverging(), TwoSlopeNorm(0.0, *ends)
    low, high = low if vmin is None else vmin, high if vmax is None else vmax
    if vcenter is None:
        if low > high:
            raise ValueError(f"vmin and vmax: {in_full(low)} and {in_full(high)}; wanted the smaller first.")
        return colormap(style.cmap), Normalize(low, high)
    if vmin is None and low >= vcenter:  # a centre at or beyond an end of the values: as much room as on the other side
        low = 2 * vcenter - high
    if vmax is None and high <= vcenter:
        high = 2 * vcenter - low
    if not low < vcenter < high:
        values = f"{in_full(low)}, {in_full(vcenter)} and {in_full(high)}"
        raise ValueError(f"vmin, vcenter and vmax: {values}; wanted them to rise.")
    return (diverging() if ours else colormap(style.cmap)), TwoSlopeNorm(vcenter, low, high)


def both_signs(low: float, high: float) -> bool:
    """Whether values from `low` to `high` lie around zero."""
    return low < 0 < high and min(-low, high) >= _BOTH_SIGNS * max(-low, high)


def colormap(cmap: Colormap | str | None) -> Colormap:
    """The colour map of this name; None: that of ``rcParams["image.cmap"]`` if it was set, else ours."""
    if cmap is None and _usual() is None:
        return sequential()
    return plt.get_cmap(_usual() if cmap is None else cmap)


def dense_map() -> Colormap:
    """The default map of what is there or not: the largest numbers stand out most from the ground."""
    return (sequential() if is_dark() else sequential().reversed()) if _usual() is None else colormap(None)


def _usual() -> str | None:
    """The colour map that the user set for all pictures."""
    usual = plt.rcParams["image.cmap"]
    return None if usual == rcParamsDefault["image.cmap"] else str(usual)


def _bound(value: Any, name: str, data: np.ndarray) -> float | None:
    if value is None:
        return None
    if isinstance(value, str):
        return float(np.percentile(data, float(value.removeprefix("p"))))
    if callable(value):
        value, given = value(data), value
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number):
            raise ValueError(f"{name}={given!r} gave {value!r}; wanted a number.")
        return number
    return float(value)
