"""Texts about pictures."""

from __future__ import annotations

_GENES = """\
layer
    Layer from which to take a gene's values.
use_raw
    Take a gene's values from `adata.raw`. None, as in scanpy: yes if there is a `raw` and no `layer` is named.
gene_symbols
    Column of `var` with alternative names of the genes, which can then be used to name them."""
_GROUPS = """\
groups
    Groups to colour; all other cells have the colour `na_color`. None: all groups."""
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
    Values at the ends and in the middle of the colour map: a number, a percentile ("p99"), or a function of the values;
    a list has one for each colour. None: the extremes, and no middle.
norm
    How numbers become colours: a norm of `matplotlib.colors`, in place of `vmin`, `vmax` and `vcenter`."""
_NUMBERS = f"""\
{_SCALE}
sort_order
    Whether cells with high values are drawn on top of those with low ones."""
_LEGENDS = """\
legend_loc
    Where to put the legend of groups: "right margin", "on data" (each name among its cells), None for no legend, or one
    of matplotlib's places ("best", "upper left").
legend_fontsize
    Font size of the legend, in points or in matplotlib's words."""
_FRAMEON = """\
frameon
    Draw the axes. None: as set by `scanpy.set_figure_params`, or yes."""
_HANDING = """\
show
    Show the figure at once. None: no; a notebook displays it by itself, a script calls ``plt.show()``. The return value
    is the same in any case.
return_fig
    Return the Figure instead of the Axes, for example to save it: ``return_fig=True).savefig("tree.pdf")``."""
_SIZE_ALPHA = """\
size
    Area of a cell's mark, in square points. None: it depends on the number of cells.
alpha
    Opacity of the cells."""

TEXTS = {
    "basis": """\
basis
    Where to draw: an entry of `obsm`, as for :func:`skeltraj.pl.graph`. None: the embedding that the fit stored.""",
    "smooth": """\
smooth
    In an embedding other than its own, draw the tree as smooth curves through the middle of the cells along each
    branch, which end where the cells end; see :func:`skeltraj.get.skeleton_on_basis`. False: straight edges between the
    nodes, each at the mean of its cells.""",
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
    Colour the tree by its support, with branches below 50 % dashed. "starts": the share of the trees from other starts
    and from parts of the cells that have the branch (stored by a fit that compares these); "branch" and "edge": the
    support that :func:`skeltraj.tl.stability` found. None: use one colour.""",
    "panels": f"""\
{_SIZE_ALPHA}
{_PALETTE}
{_NA_COLOR}
{_NUMBERS}
legend
    Draw legends and colour bars. A legend of more than 120 groups is left out, and more than 120 dates are refused.
{_LEGENDS}
colorbar_loc
    Side of the panel for the colour bar: "right", "left", "top", "bottom"; None for no colour bar.
{_FRAMEON}
ncols
    Number of panels in a row.
title
    Above the panel; a list has one for each. None: the name of the colour.
ax
    Axes to draw on, for a single panel. Legends stand beside it: for a figure with several Axes, use
    ``layout="constrained"``, which makes room for them.
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
