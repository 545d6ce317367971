"""Texts about pictures."""

from __future__ import annotations

_SIZE_ALPHA = """\
size
    Area of a cell's mark, in square points. None: by the number of cells.
alpha
    Opacity of the cells."""

TEXTS = {
    "basis": """\
basis
    Where to draw: an entry of `obsm`, as for :func:`skeltraj.pl.graph`. None: the embedding that the fit stored.""",
    "components": """\
components
    Two or three components to draw, counted from 0.""",
    "layer": """\
layer
    Layer from which to take a gene's values.""",
    "size_alpha": _SIZE_ALPHA,
    "panels": f"""\
{_SIZE_ALPHA}
cmap
    Colour map for numbers.
legend
    Draw legends and colour bars.
ncols
    Panels in a row.
title
    Above the panel. None: the name of the colour.
ax
    Axes to draw on, for a single panel.""",
    "legend": """\
legend
    Draw the legend.""",
    "figure_title": """\
title
    Above the figure.""",
    "ax": """\
ax
    Axes to draw on.""",
}
