"""Cells that can be turned: one trace for each group, so that the legend can hide it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex

from skeltraj.pl._drawing.cell_style import CellStyle
from skeltraj.pl._drawing.number_scale import number_scale
from skeltraj.pl._drawing.values import MOST_LISTED, Values, groups_among

from .text import escaped

_STOPS = 65  # of a colour map as plotly takes it, between which it interpolates
# opacity; chosen by eye
_USUAL = 0.7
_VEIL = 0.4  # of grey cells among opaque ones
_LAST = 1001  # in the legend: the others have plotly's 1000


@dataclass(frozen=True)
class Cells:
    """The cells that are drawn.

    Parameters
    ----------
    points
        (n, 3), float32.
    names
        Of the cells, (n,).
    columns
        What is said of each beside its name, (n,) each.
    """

    points: np.ndarray
    names: np.ndarray
    columns: dict[str, np.ndarray]

    def texts(self) -> np.ndarray:
        """What stands beside each cell under the pointer, (n,)."""
        texts = _words(self.names, "")
        for name, values in self.columns.items():
            texts = texts + _words(values, f"<br>{escaped(name)}: ")
        return texts


@dataclass(frozen=True)
class CellTrace:
    """Some of the cells, as a trace of plotly's but for what the cells themselves say.

    Parameters
    ----------
    options
        The trace, without places, texts and numbers.
    rows
        Which of the cells these are.
    numbers
        The number that colours each; None: one colour.
    """

    options: dict[str, Any]
    rows: np.ndarray
    numbers: np.ndarray | None = None


def drawable(values: np.ndarray, name: str) -> np.ndarray:
    """Numbers as browsers draw them, float32; ValueError if some are too large for that."""
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    if largest > np.finfo(np.float32).max:
        raise ValueError(
            f"{name} holds {largest:g} in size; wanted at most 3.4e38, the largest number that can be drawn."
        )
    return values.astype(np.float32)


def words_of(column: pd.Series) -> np.ndarray:
    """A column of `obs` in words, (n,); numbers with four digits."""
    if pd.api.types.is_float_dtype(column):
        return np.array(["missing" if np.isnan(v) else f"{v:.4g}" for v in column.to_numpy(float)], dtype=object)
    return column.astype(object).where(column.notna(), "missing").map(str).to_numpy(dtype=object)


def _words(values: np.ndarray, before: str) -> np.ndarray:
    codes, words = pd.factorize(values)
    return np.array([before + escaped(word) for word in words], dtype=object)[codes]


def cell_traces(
    values: Values,
    rows: np.ndarray,
    style: CellStyle,
    *,
    size: float,
    alpha: float | None,
    na_color: str,
    shown: bool,
    hover_names: Collection[str] = (),
) -> list[CellTrace]:
    """Some of the cells, `rows`, in the colours of `values`; those without a value in `na_color` and below, so first.

    Of cells that shine through, a trace covers those before it, wherever it lies; opaque ones are sorted by their
    depth. So several groups are opaque, unless `alpha` is given, and grey cells among opaque ones a veil.

    More than `MOST_LISTED` groups are one trace, without a legend: browsers take seconds for hundreds of traces.

    Numbers have the colours that all cells' numbers give them, drawn or not. Under the pointer the value stands unless
    its column is among `hover_names`, which stand there anyway.
    """
    data = values.data[rows]
    missing = _without_value(values, data)
    base: dict[str, Any] = dict(
        type="scatter3d", mode="markers", visible=shown, showlegend=True, hoverlabel=dict(namelength=0)
    )
    groups = [] if values.categories is None else groups_among(data)
    if alpha is None:
        alpha = 1.0 if len(groups) > 1 else _USUAL
    marker = dict(size=size, opacity=alpha, line=dict(width=0))
    label = "" if values.name is None or values.name in hover_names else f"<br>{escaped(values.name)}: "
    traces = []
    if missing.any():
        veil = {"opacity": _VEIL} if alpha == 1 and not missing.all() else {}
        grey = base | dict(
            name=values.na_name if values.name is not None else "cells",
            marker=marker | dict(color=na_color) | veil,
            hovertemplate="%{text}" + (label and label + values.na_name) + "<extra></extra>",
            showlegend=values.name is not None,
            legendrank=_LAST,
        )
        traces.append(CellTrace(grey, np.flatnonzero(missing)))
    if len(groups) > MOST_LISTED:
        colors, coloring = _coloring(values)
        options = base | dict(
            name=escaped(values.name),
            marker=marker | coloring,
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )
        traces.append(CellTrace(options, np.flatnonzero(~missing), colors[data[~missing]]))
    elif values.categories is not None:
        assert values.colors is not None
        for code in groups:
            group = escaped(values.categories[code])
            options = base | dict(
                name=group,
                marker=marker | dict(color=values.colors[code]),
                hovertemplate="%{text}" + (label and label + group) + "<extra></extra>",
            )
            traces.append(CellTrace(options, np.flatnonzero(data == code)))
    elif not missing.all():
        options = base | dict(
            name=escaped(values.name),
            marker=marker | _scale(values, style),
            hovertemplate="%{text}" + (label and label + "%{marker.color:.4~g}") + "<extra></extra>",
            showlegend=False,
        )
        traces.append(CellTrace(options, np.flatnonzero(~missing), drawable(data[~missing], f"color {values.name!r}")))
    return traces


def _without_value(values: Values, data: np.ndarray) -> np.ndarray:
    return data < 0 if values.categories is not None else ~np.isfinite(data)


def _scale(values: Values, style: CellStyle) -> dict[str, Any]:
    """The colours of numbers, as plotly takes them: at even steps from the least to the largest."""
    numbers = values.data[~_without_value(values, values.data)]
    cmap, norm = number_scale(numbers, style)
    norm.autoscale_None(numbers)
    low, high = float(norm.vmin), float(norm.vmax)
    stops = np.linspace(0, 1, _STOPS)
    colors = cmap(norm(low + stops * (high - low)))
    bar = dict(title=dict(text=escaped(values.name)), len=0.6, thickness=14, outlinewidth=0, x=1.0, y=0.45)
    return dict(
        colorscale=[[stop, to_hex(color)] for stop, color in zip(stops.tolist(), colors, strict=True)],
        cmin=low,
        cmax=high if high > low else low + 1.0,  # all numbers the same
        colorbar=bar,
    )


def _coloring(values: Values) -> tuple[np.ndarray, dict[str, Any]]:
    """The number of each group's colour, float32, and the colours of these numbers, as plotly takes them."""
    codes, colors = pd.factorize(np.array(values.colors, dtype=object))
    edges = np.linspace(0, 1, len(colors) + 1).tolist()
    steps = [[edge, color] for color, ends in zip(colors, pairwise(edges), strict=True) for edge in ends]
    return codes.astype(np.float32), dict(colorscale=steps, cmin=-0.5, cmax=len(colors) - 0.5)


def filled(trace: CellTrace, cells: Cells, texts: np.ndarray) -> Mapping[str, Any]:
    """A trace with all that plotly needs."""
    options = dict(trace.options)
    if trace.numbers is not None:
        options["marker"] = options["marker"] | dict(color=trace.numbers)
    x, y, z = cells.points[trace.rows].T
    return options | dict(x=x.copy(), y=y.copy(), z=z.copy(), text=texts[trace.rows].tolist())
