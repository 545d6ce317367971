"""What colours the cells: groups or numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData
from matplotlib import colormaps
from matplotlib.colors import ListedColormap, to_hex

from skeltraj._palette import palette as our_palette
from skeltraj.core._runtime import check
from skeltraj.core._runtime.warn import warn
from skeltraj.get._reading.checks import available, holds_numbers, one_column

from .cell_style import CellStyle, Palette, checked_color
from .gene_values import gene_values
from .style import is_dark, missing, sequential

_OTHER = "other"  # in the legend, where only some groups are coloured
# Groups that a legend can list; a longer one, as of names of cells, would be larger than the picture. It is left out.
# More dates are refused, as they can be numbers. Chosen by eye.
MOST_LISTED = 120
_DATES = ("datetime64", "datetime", "date", "timedelta64", "timedelta", "period")  # kinds, as pandas calls them
_MOST_OF_MAP = 100  # colours of a map for groups, as "tab20"; those for numbers list 256


@dataclass(frozen=True)
class Values:
    """One value per cell: codes of `categories` with a colour each, or numbers (`categories` is None).

    Cells without a value (code -1, or NaN) have the colour `na_color`; a legend calls them `na_name`.
    """

    name: str | None
    data: np.ndarray
    categories: list[str] | None = None
    colors: list[str] | None = None
    na_color: str = field(default_factory=missing)
    na_name: str = "missing"

    @property
    def color_of(self) -> dict[str, str]:
        """The colour of each category, by its name."""
        return dict(zip(self.categories or [], self.colors or [], strict=True))


def groups_among(codes: np.ndarray) -> list[int]:
    """The groups that have cells among some, by their codes."""
    return np.unique(codes[codes >= 0]).tolist()


def values_of(
    adata: AnnData,
    name: str | None,
    layer: str | None = None,
    *,
    argument: str = "color",
    use_raw: bool | None = None,
    gene_symbols: str | None = None,
    style: CellStyle | None = None,
) -> Values:
    """The values of an `obs` column or of a gene; without a name, none. Errors call the name by its `argument`.

    Of `style` the palette, the groups and the colour of missing values are used. Groups that the column does not have
    are left out; :func:`values_of_panels` refuses them.

    Raises
    ------
    KeyError
        If there is neither a column nor a gene of that name.
    TypeError
        If it holds so many dates that no legend can list them.
    ValueError
        If the palette does not fit.
    """
    style = CellStyle() if style is None else style
    if name is None:
        return Values(None, np.full(adata.n_obs, np.nan), na_color=style.na_color)
    if name not in adata.obs:
        data = gene_values(adata, name, layer, argument=argument, use_raw=use_raw, gene_symbols=gene_symbols)
        return Values(name, data, na_color=style.na_color)
    column = one_column(adata.obs, name, argument)
    if holds_numbers(column):
        return Values(name, column.to_numpy(dtype=np.float64, na_value=np.nan), na_color=style.na_color)
    if not isinstance(column.dtype, pd.CategoricalDtype):
        _refuse_many_dates(column, name, argument)
        column = column.astype("category")
    categories = [str(c) for c in column.cat.categories]
    colors_of = style.palette
    if isinstance(colors_of, Mapping) and style.groups is not None:  # the other groups need no colour
        colors_of = {c: style.na_color for c in categories if c not in style.groups} | dict(colors_of)
    colors = group_colors(adata, name, categories, colors_of)
    codes, na_name = column.cat.codes.to_numpy(), "missing"
    if style.groups is not None:
        others = ~np.isin(codes, [i for i, category in enumerate(categories) if category in style.groups])
        if (others & (codes >= 0)).any():
            codes, na_name = np.where(others, -1, codes), _OTHER
    return Values(name, codes, categories, colors, style.na_color, na_name)


def _refuse_many_dates(column: pd.Series, name: str, argument: str) -> None:
    """Raise if a column holds more dates, or lengths of time, than a legend of groups can list."""
    n = column.nunique() if pd.api.types.infer_dtype(column, skipna=True) in _DATES else 0
    if n > MOST_LISTED:
        raise TypeError(
            f"{argument}: adata.obs[{name!r}] holds {n} different dates or lengths of time, each of which would be a "
            f"group; wanted numbers, as days since the first, or at most {MOST_LISTED} groups, as months or years."
        )


def values_of_panels(
    adata: AnnData,
    color: str | Sequence[str] | None,
    layer: str | None,
    style: CellStyle,
    *,
    use_raw: bool | None = None,
    gene_symbols: str | None = None,
) -> list[Values]:
    """The values of each panel of a picture.

    Raises
    ------
    KeyError
        As :func:`values_of`; or if no column has one of the groups.
    """
    wanted: list[str | None] = [None]
    if color is not None:  # several may have cells in one colour among them
        wanted = list(color) if isinstance(color, list | tuple) and None in color else list(check.texts(color, "color"))
    values = [values_of(adata, name, layer, use_raw=use_raw, gene_symbols=gene_symbols, style=style) for name in wanted]
    check_groups(style, values)
    return values


def check_groups(style: CellStyle, values: Sequence[Values]) -> None:
    """Refuse groups that none of the columns has."""
    there = [category for of in values for category in of.categories or []]
    unknown = [group for group in style.groups or () if group not in there]
    if unknown and not there:
        raise ValueError(f"groups={list(style.groups or ())} was given, but no colour is a column of groups.")
    if unknown:
        raise KeyError(f"groups: there is no {unknown[0]!r}. Available: {available(there)}.")


def group_colors(adata: AnnData, name: str, categories: list[str], palette: Palette = None) -> list[str]:
    """Colours of groups: those of the palette; else as scanpy stores them, if there are enough; else ours.

    A palette is, as in scanpy, the name of a colour map, colours, colours by group, or a Cycler.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is none of these, has too few colours, or no colour for a group.
    """
    n = len(categories)
    if palette is not None:
        return _of_palette(palette, categories)
    stored = adata.uns.get(f"{name}_colors")
    if stored is not None and len(stored) >= n:
        return [checked_color(c, f"adata.uns['{name}_colors'][{i}]") for i, c in enumerate(list(stored)[:n])]
    return our_palette(n)


def _of_palette(palette: Palette, categories: list[str]) -> list[str]:
    n = len(categories)
    if isinstance(palette, str):
        if palette not in colormaps:
            raise ValueError(f"palette={palette!r} is no colour map that matplotlib knows, nor a list of colours.")
        shades = colormaps[palette]
        if isinstance(shades, ListedColormap) and shades.N <= _MOST_OF_MAP:
            if n <= shades.N:
                return [to_hex(c) for c in shades(np.arange(n))]
            _warn_of_few(f"palette={palette!r}", shades.N, n)
        return [to_hex(c) for c in shades(np.linspace(0, 1, n))]
    if isinstance(palette, Mapping):
        by_name = {str(group): value for group, value in palette.items()}
        lacking = [group for group in categories if group not in by_name]
        if lacking:
            raise KeyError(f"palette has no colour for {lacking[0]!r}; wanted one for each of {available(categories)}.")
        return [checked_color(by_name[group], f"palette[{group!r}]") for group in categories]
    colors: list[Any]
    if hasattr(palette, "by_key"):  # a Cycler
        if "color" not in palette.keys:
            raise ValueError(f"palette is a Cycler of {sorted(palette.keys)}; wanted one of colours, with key 'color'.")
        cycle = palette.by_key()["color"]
        if len(cycle) < n:
            _warn_of_few("palette, a Cycler,", len(cycle), n)
        colors = [cycle[i % len(cycle)] for i in range(n)]
    elif check.is_list(palette):
        colors = list(palette)
        if len(colors) < n:
            raise ValueError(f"palette has {len(colors)} colour(s) for {n} groups; wanted one for each.")
    else:
        raise TypeError(
            f"palette={palette!r} is a {type(palette).__name__}; wanted the name of a colour map, colours, a dict of "
            "colours by group, or a Cycler."
        )
    return [checked_color(c, f"palette[{i}]") for i, c in enumerate(colors[:n])]


def _warn_of_few(palette: str, n_colors: int, n: int) -> None:
    warn(
        f"{palette} has {n_colors} colour(s) for {n} groups: some groups have the same one. A list of {n} colours, or "
        "no palette, gives each its own."
    )


def stretch_colors(n: int) -> list[str]:
    """Colours of `n` steps from the first to the last, for lines too; none is as light, or dark, as the background."""
    return [to_hex(c) for c in sequential()(np.linspace(0, 1 if is_dark() else 0.9, n))]
