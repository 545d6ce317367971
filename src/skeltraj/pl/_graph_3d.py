from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from anndata import AnnData
from matplotlib import pyplot as plt
from matplotlib.colors import Colormap, Normalize

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, OrderEntry
from skeltraj.core import METHODS, PlacedSkeleton
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.basis import basis_key, on_basis
from skeltraj.get._reading.checks import available, method_of, obs_column, refuse_empty
from skeltraj.get._reading.order import order_with_cells
from skeltraj.pl._drawing.cell_style import Bounds, CellStyle, Palette
from skeltraj.pl._drawing.cells import point_size
from skeltraj.pl._drawing.coordinates import coordinates, listed_components
from skeltraj.pl._drawing.legends import tell_no_legend
from skeltraj.pl._drawing.style import missing
from skeltraj.pl._drawing.thinning import thinned
from skeltraj.pl._drawing.values import MOST_LISTED, Values, groups_among, values_of_panels
from skeltraj.pl._page.file import target_of, write
from skeltraj.pl._plotly.cells import Cells, CellTrace, cell_traces, drawable, filled, words_of
from skeltraj.pl._plotly.page import page
from skeltraj.pl._plotly.skeleton import line_traces, name_notes, node_trace
from skeltraj.pl._plotly.text import escaped
from skeltraj.pl._plotly.theme import DARK, LIGHT, Theme

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_MAX_NAMES = 60  # of tips and forks that are written beside their nodes, where turning parts them; chosen by eye


@as_declared
@shared_texts
def graph_3d(
    adata: AnnData,
    key: str = "ddrtree",
    *,
    color: str | Sequence[str] | None = None,
    basis: str | None = None,
    smooth: bool = True,
    components: Sequence[int] = (0, 1, 2),
    hover: str | Sequence[str] | None = None,
    layer: str | None = None,
    use_raw: bool | None = None,
    gene_symbols: str | None = None,
    groups: str | Sequence[str] | None = None,
    labels: bool | None = None,
    max_cells: int = 100_000,
    size: float | None = None,
    alpha: float | None = None,
    palette: Palette = None,
    na_color: Any = None,
    cmap: Colormap | str | None = None,
    vmin: Bounds = None,
    vmax: Bounds = None,
    vcenter: Bounds = None,
    norm: Normalize | Sequence[Normalize] | None = None,
    title: str | None = None,
    theme: str | None = None,
    save: str | PathLike[str] | None = None,
) -> Figure:
    """Draw the cells and the tree through them as an interactive picture in three dimensions.

    Cell names appear under the pointer, and a click in the legend hides or shows a group. `save` writes one HTML file
    that opens anywhere, without a network; there, a click on a node or a cell copies its name for
    ``tl.order(root=...)``.

    Needs the plotly package: ``python -m pip install 'skeltraj[html]'``.

    Parameters
    ----------
    <adata_fitted>
    <key>
    color
        Column of `obs` (groups with a legend, numbers with a colour bar) or gene; several for a menu. More than 120
        groups have no legend; the name of a cell's group is under the pointer.
    <basis>
    <smooth>
    components
        Three components to draw, counted from 0.
    hover
        Columns of `obs` that are shown under the pointer, beside the cell's name and its colour.
    <genes>
    <groups>
    labels
        Write the names of forks ("F1", ...) and tips ("T1", ...) beside them. None: if there are at most 60 in all.
        Under the pointer they show in any case. A diamond marks the root once the cells are ordered.
    max_cells
        Draw at most about that many cells; the title says how many of how many. Every node and every group of `color`
        keeps cells, the rare ones all if they can; which cells are left out depends on their names and places, not on
        their order. The tree is always drawn whole.
    size
        Diameter of a cell's mark, in pixels. None: by the number of cells.
    alpha
        Opacity of the cells; below 1 the tree shines through them, but each group covers those before it in the
        legend. None: 1 for several groups, of which the nearest cells are seen; else 0.7. Cells without a value lie
        below, or are a veil where the others are opaque.
    <palette>
    <na_color>
    <number_scale>
    title
        Above the picture. None: the name of the colour.
    theme
        "light" or "dark". None: the saved page follows what the reader's browser prefers, the Figure matplotlib's
        style.
    save
        HTML file to write.

    Returns
    -------
    A `plotly.graph_objects.Figure`, which shows itself in a notebook.

    Raises
    ------
    ImportError
        If plotly is not installed.
    KeyError
        If there is no such fit, basis, column or gene.
    ValueError
        If there are not three such components, or coordinates in the basis are NaN.

    Examples
    --------
    .. code-block:: python

        <example_picture>
        st.pl.graph_3d(adata, color="cell_type", save="tree.html")

    The Figure is returned as well, which a notebook shows.
    """
    refuse_empty(adata)
    fit = get.stored(adata, key)
    most = check.count(max_cells, "max_cells")
    check.choice(theme, "theme", ["light", "dark", None])
    target = None if save is None else target_of(save, "save")
    style = CellStyle(
        palette=palette,
        groups=groups,
        na_color=na_color,
        cmap=cmap,
        vmin=vmin,
        vmax=vmax,
        vcenter=vcenter,
        norm=norm,
        size=size,
        alpha=CellStyle.alpha if alpha is None else alpha,
    )
    _check_three(adata, key, basis, components)
    points, placed, axis_names = coordinates(adata, key, basis, components, smooth=smooth)
    values = values_of_panels(adata, color, layer, style, use_raw=use_raw, gene_symbols=gene_symbols)
    if not values:
        raise ValueError("color is an empty list; wanted at least one name, or None.")
    hover_names = _hover_columns(adata, hover)
    Figure = _figure_class()

    groupings = [_nearest_nodes(adata, key), *(of.data for of in values if of.categories is not None)]
    rows = thinned(most, adata.obs_names, points, groupings)
    hover_names += [name for name in _not_listed(values, rows) if name not in hover_names]
    cells = Cells(
        drawable(points[rows], "basis"),
        adata.obs_names.to_numpy(dtype=object)[rows],
        {name: words_of(adata.obs[name].iloc[rows]) for name in hover_names},
    )
    shown = f"{len(rows):,} of {adata.n_obs:,} cells" if len(rows) < adata.n_obs else f"{len(rows):,} cells"
    few = len(placed.graph.tips) + len(placed.graph.forks) <= _MAX_NAMES
    picture = _Picture(
        skeleton=_Skeleton.of(adata, fit, placed, key),
        values=values,
        rows=rows,
        style=style,
        width=_width(len(rows)) if style.size is None else style.size,
        alpha=alpha,
        na_color=None if na_color is None else style.na_color,
        hover_names=hover_names,
        named=few if labels is None else labels,
        axis_names=axis_names,
        title=title,
        shown=shown,
    )
    themes = {"light": LIGHT, "dark": DARK}
    skeleton, traces, layout = picture.drawn(Theme.of_style() if theme is None else themes[theme])
    texts = cells.texts()
    figure = Figure(data=[*skeleton, *(filled(trace, cells, texts) for trace in traces)], layout=layout)
    if target is not None:
        figures = {}
        for name, colors in themes.items() if theme is None else [(theme, themes[theme])]:
            skeleton, traces, layout = picture.drawn(colors)
            data = [*skeleton, *(trace.options for trace in traces)]
            figures[name] = dict(data=data, layout=layout, ground=colors.ground, ink=colors.ink)
        label = METHODS[key].label if key in METHODS else key
        text = page(f"{label}, {shown}" if title is None else title, cells, traces, figures, theme=theme)
        write(text, target)
    return figure


@dataclass(frozen=True, eq=False)
class _Skeleton:
    """What is drawn of a stored skeleton.

    Parameters
    ----------
    placed
        Where it runs.
    weights
        Of the edges; None: they have none.
    root, pseudotime
        The root and the nodes' pseudotime; None: the cells have not been ordered.
    every_node
        Whether each node has a mark: not where nodes are cells.
    """

    placed: PlacedSkeleton
    weights: np.ndarray | None
    root: int | None
    pseudotime: np.ndarray | None
    every_node: bool

    @classmethod
    def of(cls, adata: AnnData, fit: dict[str, Any], placed: PlacedSkeleton, key: str) -> _Skeleton:
        """The skeleton of a stored fit."""
        tree, method = placed.graph, method_of(fit)
        nodes_are_cells = tree.n_nodes == adata.n_obs or (method is not None and not method.stores_assignment)
        order = order_with_cells(adata, fit, tree, key)
        return cls(
            placed=placed,
            weights=np.asarray(fit[Entry.WEIGHTS]) if Entry.WEIGHTS in fit else None,
            root=None if order is None else int(order[OrderEntry.ROOT]),
            pseudotime=None if order is None else np.asarray(order[OrderEntry.NODE_PSEUDOTIME]),
            every_node=not nodes_are_cells,
        )

    def traces(self, colors: Theme) -> list[dict[str, Any]]:
        """Its lines, and the marks of its nodes."""
        placed = self.placed
        return [
            *line_traces(placed, self.weights, colors),
            node_trace(placed.graph, placed.nodes, self.root, self.pseudotime, colors, every=self.every_node),
        ]

    def names(self, colors: Theme) -> list[dict[str, Any]]:
        """The names of its tips and forks."""
        return name_notes(self.placed.graph, self.placed.nodes, self.root, colors)


@dataclass(frozen=True, eq=False)
class _Picture:
    """What is drawn, in whatever colours of ground and ink.

    Parameters
    ----------
    skeleton
        The skeleton.
    values, rows
        What colours the cells, in one picture each, and which of the cells are drawn.
    style, width, alpha, na_color
        How: `width` is the diameter of a mark, no `alpha` that of :func:`cell_traces`, no `na_color` the theme's grey.
    hover_names
        Columns that are shown under the pointer in any case.
    named
        Whether tips and forks are named beside them.
    axis_names, title, shown
        Texts; `shown` says how many cells are drawn.
    """

    skeleton: _Skeleton
    values: list[Values]
    rows: np.ndarray
    style: CellStyle
    width: float
    alpha: float | None
    na_color: str | None
    hover_names: list[str]
    named: bool
    axis_names: list[str]
    title: str | None
    shown: str

    def drawn(self, colors: Theme) -> tuple[list[dict[str, Any]], list[CellTrace], dict[str, Any]]:
        """The traces of the skeleton, those of the cells, and the layout."""
        values = self.values
        with plt.rc_context(colors.style()):
            skeleton = self.skeleton.traces(colors)
            grey = missing() if self.na_color is None else self.na_color
            looks: dict[str, Any] = dict(size=self.width, alpha=self.alpha, na_color=grey, hover_names=self.hover_names)
            of_cells = [
                cell_traces(of, self.rows, self.style.of_panel(i, len(values)), shown=i == 0, **looks)
                for i, of in enumerate(values)
            ]
            notes = self.skeleton.names(colors) if self.named else []
            layout = _layout(values, self.title, self.shown, self.axis_names, colors, notes)
            if len(values) > 1:
                layout["updatemenus"] = [_menu(values, of_cells, len(skeleton), self.title, colors)]
        return skeleton, [trace for traces in of_cells for trace in traces], layout


def _figure_class() -> Any:
    try:
        from plotly.graph_objects import Figure
    except ImportError as error:
        raise ImportError(
            "skeltraj.pl.graph_3d needs the plotly package; install it with \"python -m pip install 'skeltraj[html]'\"."
        ) from error
    return Figure


def _check_three(adata: AnnData, key: str, basis: str | None, components: Sequence[int]) -> None:
    """Refuse what cannot be drawn in three dimensions, and say what can."""
    if len(listed_components(components)) != 3:
        raise ValueError(f"components={tuple(components)}; wanted three: skeltraj.pl.graph draws two.")
    if basis is None:
        n, where = get.graph(adata, key).nodes.shape[1], f"the embedding of {key!r}"
    else:
        n, where = on_basis(adata, basis).shape[1], f"adata.obsm[{basis_key(adata, basis)!r}]"
    if n < 3:
        solid = [name for name, of in adata.obsm.items() if name.startswith("X_") and of.ndim == 2 and of.shape[1] > 2]
        other = "skeltraj.pl.graph, which draws two" if n == 2 else "skeltraj.pl.dendrogram, which needs none"
        raise ValueError(
            f"{where} has {n} component(s); wanted three, or {other}. In three or more there are, for basis: "
            f"{available(solid)}."
        )


def _hover_columns(adata: AnnData, hover: str | Sequence[str] | None) -> list[str]:
    columns = [] if hover is None else check.texts(hover, "hover")
    for name in columns:
        obs_column(adata, name, "hover", of_several=True)
    return columns


def _not_listed(values: list[Values], rows: np.ndarray) -> list[str]:
    """Columns with more groups than a legend lists, of which only the text under the pointer tells the group."""
    names = []
    for of in values:
        n_groups = 0 if of.categories is None else len(groups_among(of.data[rows]))
        if n_groups > MOST_LISTED:
            assert of.name is not None
            tell_no_legend(of.name, n_groups)
            names.append(of.name)
    return names


def _nearest_nodes(adata: AnnData, key: str) -> np.ndarray:
    """The node to which each cell is assigned most, (n_obs,); of equal ones the first."""
    assignment = get.assignment(adata, key).tocsr()
    begin, entries = assignment.indptr, np.diff(assignment.indptr)
    nodes = np.full(assignment.shape[0], -1)
    some = np.flatnonzero(entries)
    if len(some):
        largest = np.repeat(np.maximum.reduceat(assignment.data, begin[some]), entries[some])
        at = np.flatnonzero(assignment.data == largest)
        row = np.repeat(some, entries[some])[at]
        first = np.r_[True, row[1:] != row[:-1]]
        nodes[row[first]] = assignment.indices[at[first]]
    return nodes


def _width(n: int) -> float:
    """Diameter of a cell's mark in pixels: smaller the more there are, as flat pictures have it."""
    return float(np.clip(np.sqrt(point_size(n)) * 96 / 72, 2, 4))


def _layout(
    values: list[Values],
    title: str | None,
    shown: str,
    axis_names: list[str],
    colors: Theme,
    notes: list[dict[str, Any]],
) -> dict[str, Any]:
    axis = dict(
        showbackground=False,
        showticklabels=False,
        showspikes=False,
        zeroline=False,
        gridcolor=colors.faded(0.15),
        linecolor=colors.faded(0.4),
        color=colors.ink,
    )
    axes = {
        f"{letter}axis": axis | dict(title=dict(text=escaped(name)))
        for letter, name in zip("xyz", axis_names, strict=True)
    }
    view = dict(aspectmode="data", camera=dict(eye=dict(x=1.4, y=1.4, z=1.2)))
    font = dict(color=colors.ink, family="system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif")
    return dict(
        paper_bgcolor=colors.ground,
        font=font,
        title=dict(
            text=_title(values[0], title),
            subtitle=dict(text=shown, font=dict(size=12, color=colors.faded(0.75))),
            x=0.5,
            xanchor="center",
        ),
        legend=dict(title=dict(text=_legend_title(values[0])), itemsizing="constant", bgcolor="rgba(0,0,0,0)"),
        scene=dict(**axes, **view, bgcolor=colors.ground, annotations=notes, dragmode="orbit"),
        margin=dict(l=0, r=0, t=70, b=0),
        uirevision="kept",
        hoverlabel=dict(align="left"),
    )


def _title(values: Values, title: str | None) -> str:
    return escaped(title if title is not None else values.name or "")


def _legend_title(values: Values) -> str:
    return escaped(values.name or "")


def _menu(
    values: list[Values], of_cells: list[list[CellTrace]], n_before: int, title: str | None, colors: Theme
) -> dict[str, Any]:
    """The menu that switches the colours."""
    buttons = []
    for i, of in enumerate(values):
        visible = [True] * n_before + [j == i for j, traces in enumerate(of_cells) for _ in traces]
        words = {"title.text": _title(of, title), "legend.title.text": _legend_title(of)}
        buttons.append(dict(method="update", label=escaped(of.name or "none"), args=[{"visible": visible}, words]))
    return dict(
        type="dropdown",
        buttons=buttons,
        x=0.01,
        xanchor="left",
        y=1.0,
        yanchor="bottom",
        bgcolor=colors.faded(0.06),
        bordercolor=colors.faded(0.4),
        font=dict(color=colors.ink),
    )
