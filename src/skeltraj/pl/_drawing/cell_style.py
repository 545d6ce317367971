"""How cells are coloured and framed: the arguments that pictures share with scanpy's, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Colormap, Normalize, is_color_like, to_hex
from matplotlib.font_manager import font_scalings
from matplotlib.legend import Legend

from skeltraj.core._runtime import check

from .settings import framed
from .style import missing

Bound: TypeAlias = float | str | Callable[[np.ndarray], float] | None
Bounds: TypeAlias = Bound | Sequence[Bound]
Palette: TypeAlias = Any  # a colour map's name, colours, a dict of colours by group, or a Cycler

RIGHT, ON_DATA = "right margin", "on data"
_SIDES = ("right", "left", "top", "bottom", None)


@dataclass(frozen=True)
class CellStyle:
    """How cells are coloured and framed.

    Parameters
    ----------
    palette
        Colours of groups, as :func:`~skeltraj.pl._drawing.values.values_of` reads them.
    groups
        Groups to colour; None: all.
    na_color
        Colour of the other cells, in hexadecimal.
    cmap, vmin, vmax, vcenter, norm
        Of numbers; the bounds and the norm one for each panel once `of_panel` was called.
    size, alpha
        Of the marks.
    sort_order
        Whether high numbers lie on low ones.
    legend, legend_loc, legend_fontsize, colorbar_loc
        Whether and where groups and numbers are explained. `legend_loc` None: no legend of groups.
    frameon
        Whether to draw the axes.
    """

    palette: Palette = None
    groups: Any = None
    na_color: Any = None
    cmap: Any = None
    vmin: Any = None
    vmax: Any = None
    vcenter: Any = None
    norm: Any = None
    size: float | None = None
    alpha: float = 0.85
    sort_order: bool = True
    legend: bool = True
    legend_loc: str | None = RIGHT
    legend_fontsize: float | str | None = None
    colorbar_loc: Literal["right", "left", "top", "bottom"] | None = "right"
    frameon: bool | None = None

    def __post_init__(self) -> None:
        put = lambda name, value: object.__setattr__(self, name, value)
        put("groups", _groups(self.groups))
        put("na_color", checked_color(missing() if self.na_color is None else self.na_color, "na_color"))
        put("cmap", _colormap(self.cmap))
        for name in ("vmin", "vmax", "vcenter"):
            _check_each(getattr(self, name), name, _check_bound)
        _check_each(self.norm, "norm", _check_norm)
        put("size", None if self.size is None else check.number(self.size, "size", above=0))
        put("alpha", check.number(self.alpha, "alpha", at_least=0))
        if self.alpha > 1:
            raise ValueError(f"alpha={self.alpha!r} is out of range; wanted a number from 0 to 1.")
        for name in ("sort_order", "legend"):
            check.flag(getattr(self, name), name)
        if self.legend_loc == "none":  # scanpy's other word for it
            put("legend_loc", None)
        if self.legend_loc is not None:
            check.choice(self.legend_loc, "legend_loc", [RIGHT, ON_DATA, None, *Legend.codes])
        if isinstance(self.legend_fontsize, str):
            check.choice(self.legend_fontsize, "legend_fontsize", [size for size in font_scalings if size])
        elif self.legend_fontsize is not None:
            check.number(self.legend_fontsize, "legend_fontsize", above=0)
        check.choice(self.colorbar_loc, "colorbar_loc", _SIDES)
        put("frameon", framed(self.frameon))

    def of_panel(self, number: int, n_panels: int) -> CellStyle:
        """The style of one of several panels: of lists of bounds its own."""
        own: dict[str, Any] = {}
        for name in ("vmin", "vmax", "vcenter", "norm"):
            value = getattr(self, name)
            if check.is_list(value):
                if len(value) not in (1, n_panels):
                    raise ValueError(f"{name} has {len(value)} entries for {n_panels} panel(s); wanted one for each.")
                own[name] = value[number if len(value) > 1 else 0]
        return replace(self, **own)


def checked_color(value: Any, name: str) -> str:
    """A colour in hexadecimal, or an error that names the argument."""
    if not is_color_like(value):
        raise ValueError(f"{name}={value!r} is no colour that matplotlib knows.")
    return to_hex(value)


def _groups(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, str) and not check.is_list(value):
        raise TypeError(f"groups={value!r} is a {type(value).__name__}; wanted a group (str), or a list of groups.")
    groups = (value,) if isinstance(value, str) else tuple(str(group) for group in value)
    if not groups:
        raise ValueError("groups is an empty list; wanted at least one, or None for all.")
    return groups


def _colormap(value: Any) -> Any:
    if value is None or isinstance(value, Colormap):
        return value
    if not isinstance(value, str):
        raise TypeError(f"cmap={value!r} is a {type(value).__name__}; wanted the name of a colour map, or one itself.")
    if value not in colormaps:
        raise ValueError(f"cmap={value!r} is no colour map that matplotlib knows.")
    return value


def _check_each(value: Any, name: str, checked: Callable[[Any, str], None]) -> None:
    for one in value if check.is_list(value) else [value]:
        checked(one, name)


def _check_bound(value: Any, name: str) -> None:
    if value is None or callable(value):
        return
    if isinstance(value, str):
        try:
            share = float(value.removeprefix("p")) if value.startswith("p") else np.nan
        except ValueError:
            share = np.nan
        if not 0 <= share <= 100:
            raise ValueError(f'{name}={value!r}; wanted a number, or a percentile as "p99", from p0 to p100.')
        return
    check.number(value, name)


def _check_norm(value: Any, name: str) -> None:
    if value is not None and not isinstance(value, Normalize):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; wanted one of matplotlib.colors, as LogNorm().")
