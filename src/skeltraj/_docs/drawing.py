"""Texts about pictures."""

from __future__ import annotations

_GENES = """\
layer
    Layer from which to take a gene's values.
use_raw
    Take a gene's values from `adata.raw`. None, as in scanpy: if there is a `raw` and no `layer` is named.
gene_symbols
    Column of `var` with other names of the genes, by which they can be named."""
_GROUPS = """\
groups
    Groups to colour; the other cells have the colour `na_color`. None: all."""
_PALETTE = """\
palette
    Colours of groups: the name of a colour map (of one for groups, as "tab10", the first colours; else colours from end
    to end), a list of colours, a dict of colours by group, or a Cycler; a warning says when these are too few. None:
    those in ``uns["<column>_colors"]``, where scanpy keeps them; else up to eight colours that are safe for any colour
    vision, and others for more groups."""
_NA_COLOR = """\
na_color
    Colour of cells without a value. None: a grey that fits the background."""
_SCALE = """\
cmap
    Colour map for numbers. None: that of ``rcParams["image.cmap"]`` if it was set (as `scanpy.set_figure_params` does);
    else viridis, without the end that the background swallows; or, for numbers of both signs (z-scores, scores of sets
    of genes), blue, grey and red, with grey at 0 and as much room on both sides. Both signs: the smaller extreme is at
    least a twentieth of the larger one.
vmin, vmax, vcenter
    Numbers at the ends and in the middle of the colour map: a number, a percentile ("p99"), or a function of the
    values; a list has one for each colour. None: their extremes; no middle.
norm
    How numbers become colours, as one of `matplotlib.colors`, in place of `vmin`, `vmax` and `vcenter`."""
_NUMBERS = f"""\
{_SCALE}
sort_order
    Whether cells with high numbers lie on those with low ones."""
_LEGENDS = """\
legend_loc
    Where the legend of groups stands: "right margin", "on data" (each name among its cells), None for none, or a place
    of matplotlib's ("best", "upper left").
legend_fontsize
    Size of the names in it, in points or as matplotlib's words."""
_FRAMEON = """\
frameon
    Draw the axes. None: as set by `scanpy.set_figure_params`, or yes."""
_HANDING = """\
show
    Show the figure at once. None: no; a notebook displays it by itself, a script calls ``plt.show()``. It is returned
    in any case.
return_fig
    Return the Figure in place of the Axes, as to save it: ``return_fig=True).savefig("tree.pdf")``."""
_SIZE_ALPHA = """\
size
    Area of a cell's mark, in square points. None: by the number of cells.
alpha
    Opacity of the cells."""

TEXTS = {
    "basis": """\
basis
    Where to draw: an entry of `obsm`, as for :func:`skeltraj.pl.graph`. None: the embedding that the fit stored.""",
    "smooth": """\
smooth
    In another embedding than its own, draw the tree as smooth curves through the middle of the cells along each
    branch, which end where the cells end, see :func:`skeltraj.get.skeleton_on_basis`. False: straight edges between
    the nodes, each at the mean of its cells.""",
    "components": """\
components
    Two or three components to draw, counted from 0.""",
    "genes": _GENES,
    "groups": _GROUPS,
    "palette": _PALETTE,
    "na_color": _NA_COLOR,
    "number_scale": _SCALE,
    "legend_loc": _LEGENDS,
    "frameon": _FRAMEON,
    "show": _HANDING,
    "size_alpha": _SIZE_ALPHA,
    "support": """\
support
    Draw the tree in the colours of how sure it is, branches below 50 % dashed. "starts": the share of the trees from
    other starts and from parts of the cells that have the branch (stored by a fit that compares these); "branch" and
    "edge": the support that :func:`skeltraj.tl.stability` found. None: in one colour.""",
    "panels": f"""\
{_SIZE_ALPHA}
{_PALETTE}
{_NA_COLOR}
{_NUMBERS}
legend
    Draw legends and colour bars. A legend of more than 120 groups is left out, and more than 120 dates are refused.
{_LEGENDS}
colorbar_loc
    Side of the panel at which the colour bar stands: "right", "left", "top", "bottom"; None for none.
{_FRAMEON}
ncols
    Panels in a row.
title
    Above the panel; a list has one for each. None: the name of the colour.
ax
    Axes to draw on, for a single panel. Legends stand beside it: of several Axes make the figure with
    ``layout="constrained"``, which gives them room.
{_HANDING}""",
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
