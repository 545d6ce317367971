from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from anndata import AnnData
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
from matplotlib.transforms import ScaledTranslation

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Keys
from skeltraj._printing import ratios_as_text, several
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.checks import available
from skeltraj.pl._drawing.cell_style import CellStyle, Palette
from skeltraj.pl._drawing.legends import legend_beside
from skeltraj.pl._drawing.names_as_written import names_as_written
from skeltraj.pl._drawing.panels import PanelLayout, axes_size, fit_around, in_lines, shortened
from skeltraj.pl._drawing.show_or_return import check_show_or_return, show_or_return
from skeltraj.pl._drawing.style import ground, missing
from skeltraj.pl._drawing.values import stretch_colors, values_of

# chosen by eye
_MAX_BANDS = 4  # curves whose intervals can still be told apart
_SMALL = 8.5  # points, of numbers and names beside the curves
_ROW = 0.21  # inches, of a row of numbers at risk
_CURVES = (5.0, 2.8)  # inches, of the curves
_MODEL = 2.6  # inches, width of the intervals
_TERM = 0.27  # inches, of a row of the model
_KEY = 24  # points, from the Axes to the middle of a curve's colour
_COLUMN, _LETTER = 118, 4.9  # points, of the column of hazard ratios as numbers at least, and of a character in it
_MAX_NAME = 32  # letters of a term
_NOUN = {"branch": ("branch", "branches"), "stretch": ("stretch", "stretches")}
_MAX_RATIO = 50.0  # hazard ratios are drawn from 1 / 50 to 50: intervals of few events reach farther


@as_declared
@shared_texts
@names_as_written()
def survival(
    adata: AnnData,
    by: Literal["branch", "stretch"] = "branch",
    key: str = "ddrtree",
    *,
    groups: Sequence[str | int] | None = None,
    bands: bool | None = None,
    censored: bool = True,
    at_risk: bool = True,
    model: bool = True,
    palette: Palette = None,
    title: str | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
    return_fig: bool | None = None,
) -> list[Axes] | Figure:
    """Draw Kaplan-Meier curves by branch or by stretch of pseudotime, with the Cox model beside them.

    Under the curves is the number of samples that were still observed at each tick; the coloured names there are the
    legend. On the right are the hazard ratios with their 95 % intervals: of the branches against the reference, or of
    pseudotime per standard deviation, and of the covariates. They are drawn as far as 1/50 and 50: an arrow head marks
    an interval that continues beyond these, an open triangle a ratio beyond them.

    Parameters
    ----------
    adata
        Annotated data for which :func:`skeltraj.tl.survival` was run.
    by
        "branch", or "stretch": groups of equal size along pseudotime, starting from the root (dark).
    <key>
    groups
        Names of the branches, or numbers of the stretches, whose curves to draw, in that order. None: all. The p-value
        and the model remain those of all; to compare only some, give `branches` to :func:`skeltraj.tl.survival`.
    bands
        Draw the 95 % intervals of the curves. None: for up to four curves.
    censored
        Mark where observation ended without the event.
    at_risk
        Write the numbers at risk.
    model
        Draw the Cox model.
    palette
        Colours of the branches, as for :func:`skeltraj.pl.graph`.
    <figure_title>
    ax
        Axes to draw only the curves on, with a legend.
    <show>

    Returns
    -------
    The Axes: that of the curves and, if they are drawn, those of the numbers at risk and of the model. With
    `return_fig` the Figure.

    Raises
    ------
    KeyError
        If nothing is stored, or there is no such branch or stretch.
    ValueError
        If `by` is not known, or `groups` is empty.

    Examples
    --------
    .. plot::
        :include-source:

        import numpy as np
        <example_picture>
        rng = np.random.default_rng(0)
        # times are simulated: the farther from the root, the shorter
        time = rng.exponential(np.exp(2 - 0.5 * adata.obs["ddrtree_pseudotime"]))
        adata.obs["months"], adata.obs["died"] = np.minimum(time, 12), time < 12
        st.tl.survival(adata, "months", "died", branches=["B1", "B2", "B7"])
        st.pl.survival(adata)
    """
    check_show_or_return(show, return_fig, ax)
    style = CellStyle(palette=palette)
    tables = get.survival(adata, key)
    curves, table = tables.of(by)
    chosen = _chosen(list(table[by]), groups)
    color = _colors(adata, by, key, list(table[by]), style)
    label = {group: _label(table, by, group) for group in chosen}
    terms = tables.coefficients[tables.coefficients["model"] == ("branch" if by == "branch" else "pseudotime")]
    alone, around = ax is not None, (1.0, 1.0)
    draw_model, draw_risk = model and len(terms) > 0 and not alone, at_risk and not alone
    if ax is None:
        reference = 1 if by == "branch" else 0
        axes, around = _panels(len(chosen), len(terms) + reference, draw_risk, draw_model)
    else:
        axes = [ax]
    bands = len(chosen) <= _MAX_BANDS if bands is None else bands
    _curves(axes[0], curves, by, chosen, color, label, bands=bands, censored=censored)
    axes[0].set_xlabel(tables.time)
    p = tables.p_value(by, "log-rank")
    above = [in_lines(title, axes_size(axes[0])[0], _SMALL)] if title and alone else []
    if not np.isnan(p):
        compared = _compared(by, len(chosen), len(table), tables.n_compared(by))
        above.append(in_lines(f"log-rank p = {_p_text(p)}{compared}", axes_size(axes[0])[0], _SMALL))
    axes[0].set_title("\n".join(above), loc="left", fontsize=_SMALL)
    if draw_risk:
        _numbers(axes[1], axes[0], tables, by, chosen, color, label)
    else:
        _legend(axes[0])
    if draw_model:
        _model(axes[-1], tables, by, terms, color)
    if isinstance(axes[0].figure, Figure) and not alone:
        fit_around(axes[0].figure, axes[0], _CURVES, *around, title=title)
    return show_or_return(axes, show=show, return_fig=return_fig)


def _chosen(there: list[Any], groups: Sequence[str | int] | None) -> list[Any]:
    if groups is None:
        return there
    names = {str(name): name for name in there}  # stretches are numbers, which may be given as they are written
    asked = groups if isinstance(groups, Iterable) and not isinstance(groups, str) else [groups]
    chosen = [names.get(str(group), group) for group in asked]
    unknown = [group for group in chosen if group not in there]
    if unknown:
        raise KeyError(f"groups: there is no {unknown[0]!r}. Available: {available(there)}.")
    if not chosen:
        raise ValueError("groups is an empty list; wanted at least one, or None for all.")
    return chosen


def _compared(by: str, n_drawn: int, n_groups: int, n_compared: int) -> str:
    """Of how many curves the log-rank test is, where it is not of those that are drawn."""
    if n_compared < n_groups:
        return f", of the {n_compared} of {several(n_groups, *_NOUN[by])} that have samples left at the first event"
    # curves that are not drawn are compared as well
    return "" if n_drawn == n_groups else f", of all {several(n_groups, *_NOUN[by])}"


def _colors(adata: AnnData, by: str, key: str, groups: list[Any], style: CellStyle) -> dict[Any, str]:
    if by == "stretch":
        return dict(zip(groups, stretch_colors(len(groups)), strict=True))
    color = values_of(adata, Keys(key).branch, style=style).color_of
    return {group: color.get(group, missing()) for group in groups}  # those whose cells were left out since have none


def _label(table: pd.DataFrame, by: str, group: Any) -> str:
    if by == "branch":
        return str(group)
    row = table[table[by] == group].iloc[0]
    return f"{row[Column.START]:.3g} to {row[Column.END]:.3g}"


def _panels(n_groups: int, n_terms: int, draw_risk: bool, draw_model: bool) -> tuple[list[Axes], tuple[float, float]]:
    """Axes of the curves, under them those of the numbers at risk, at the right those of the model.

    Also how often the width and the height of the curves' Axes are in the figure.
    """
    width, high = _CURVES
    heights = [high, _ROW * n_groups + 0.15] if draw_risk else [high]
    model = _TERM * n_terms + 0.5
    left = sum(heights)
    if draw_model and model > left:
        heights.append(model - left)
    widths = [width, _MODEL] if draw_model else [width]
    figure = plt.figure(layout=PanelLayout(_CURVES))
    grid = figure.add_gridspec(len(heights), len(widths), width_ratios=widths, height_ratios=heights)
    axes = [figure.add_subplot(grid[0, 0])]
    if draw_risk:
        axes.append(figure.add_subplot(grid[1, 0], sharex=axes[0]))
    if draw_model:
        axes.append(figure.add_subplot(grid[:, 1], anchor="NW"))
        if model < left:
            axes[-1].set_box_aspect(model / _MODEL)
    return axes, (sum(widths) / width, sum(heights) / high)


def _curves(
    ax: Axes,
    curves: pd.DataFrame,
    by: str,
    groups: list[Any],
    color: dict[Any, str],
    label: dict[Any, str],
    *,
    bands: bool,
    censored: bool,
) -> None:
    last = 0.0
    for group in groups:
        own = curves[curves[by] == group]
        time = np.concatenate([[0.0], own[Column.TIME]])
        column = lambda name, own=own: np.concatenate([[1.0], own[name]])
        ax.step(time, column("survival"), where="post", color=color[group], linewidth=1.8, label=label[group])
        if bands:
            low, high = column("low"), column("high")
            ax.fill_between(time, low, high, step="post", color=color[group], alpha=0.16, linewidth=0)
        if censored:
            ends = own[own["n_censored"] > 0]
            ax.plot(
                ends[Column.TIME],
                ends["survival"],
                linestyle="",
                marker="|",
                markersize=4.5,
                markeredgewidth=0.8,
                color=color[group],
                alpha=0.8,
                label="_censored",
            )
        last = max(last, time[-1])
    ax.set_ylim(-0.01, 1.02)
    ax.set_xlim(-0.03 * last, 1.02 * last)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 6, 10]))
    ax.set_ylabel("share without the event")
    ax.spines[["top", "right"]].set_visible(False)


def _numbers(
    ax: Axes,
    above: Axes,
    tables: get.SurvivalTables,
    by: Literal["branch", "stretch"],
    groups: list[Any],
    color: dict[Any, str],
    label: dict[Any, str],
) -> None:
    """The numbers at risk at the ticks of the Axes above."""
    low, high = above.get_xlim()
    ticks = [tick for tick in above.get_xticks() if max(low, 0.0) <= tick <= high]
    numbers = tables.at_risk(ticks, by).loc[groups].to_numpy()
    for row, group in enumerate(groups):
        for tick, number in zip(ticks, numbers[row], strict=True):
            ax.text(tick, row, f"{number:,}", ha="center", va="center", fontsize=_SMALL)
        beside = ax.get_yaxis_transform() + ScaledTranslation(-_KEY / 72, 0, ax.figure.dpi_scale_trans)
        style = dict(marker="_", markersize=15, markeredgewidth=2.4, linestyle="", clip_on=False)
        ax.plot(0, row, transform=beside, color=color[group], **style)
    ax.set_ylim(len(groups) - 0.4, -0.6)
    ax.set_yticks(range(len(groups)), [label[group] for group in groups], fontsize=_SMALL)
    ax.tick_params(axis="y", length=0, pad=_KEY + 11)
    ax.tick_params(axis="x", bottom=False, labelbottom=False)
    ax.spines[:].set_visible(False)
    ax.grid(False)  # of scanpy's style
    ax.patch.set_visible(False)
    ax.set_title("at risk" + ("" if by == "branch" else ", by pseudotime"), loc="left", fontsize=_SMALL)


def _legend(ax: Axes) -> None:
    legend_beside(ax, ax.get_legend_handles_labels()[0], handlelength=1.2)


def _model(ax: Axes, tables: get.SurvivalTables, by: str, terms: pd.DataFrame, color: dict[Any, str]) -> None:
    """Hazard ratios with their intervals, as points and as numbers."""
    line = plt.rcParams["axes.edgecolor"]
    names = list(terms["term"])
    ratio, low, high, p = (terms[name].to_numpy() for name in ("hazard_ratio", "low", "high", "p_value"))
    of = tables.models[tables.models["model"] == terms["model"].iloc[0]].iloc[0]
    texts = [ratios_as_text(*values) for values in zip(ratio, low, high, strict=True)]
    texts_of_rows = [(f"{r} ({a} to {b})", _p_text(q)) for (r, a, b), q in zip(texts, p, strict=True)]
    second = 8 + max(_COLUMN, _LETTER * max(len(text) for text, _ in texts_of_rows))
    if by == "branch":
        names, texts_of_rows = [tables.reference, *names], [("reference", ""), *texts_of_rows]
        ratio, low, high = (np.concatenate([[1.0], values]) for values in (ratio, low, high))
    else:
        names[0] = "pseudotime, per sd"
    ax.axvline(1, color=line, linewidth=0.8, zorder=0)
    drawn = [np.clip(values, 1 / _MAX_RATIO, _MAX_RATIO) for values in (low, ratio, high)]
    for row, (a, r, b) in enumerate(zip(*drawn, strict=True)):
        shade = color.get(names[row], plt.rcParams["text.color"]) if by == "branch" else plt.rcParams["text.color"]
        ax.plot([a, b], [row, row], color=shade, linewidth=1.8, solid_capstyle="butt")
        dot = dict(markersize=5.5, color=shade, linestyle="")
        beyond = np.sign(ratio[row] - r)  # of what is drawn: where the axis ends
        if low[row] < a and beyond >= 0:
            ax.plot(a, row, marker="<", **dot)
        if high[row] > b and beyond <= 0:
            ax.plot(b, row, marker=">", **dot)
        if beyond:
            ax.plot(r, row, marker="<" if beyond < 0 else ">", markerfacecolor=ground(ax), **dot)
        else:
            ax.plot(r, row, marker="o", **dot)
        _columns(ax, row, texts_of_rows[row], second)
    _columns(ax, -0.85, ("ratio (95 % interval)", "p"), second, fontweight="bold")
    ax.set_xscale("log")
    margin = 1.15
    ax.set_xlim(min(drawn[0].min(), 1 / 1.2) / margin, max(drawn[2].max(), 1.2) * margin)
    _ratio_ticks(ax)
    ax.set_ylim(len(names) - 0.5, -1.2)
    ax.set_yticks(range(len(names)), [shortened(name, _MAX_NAME) for name in names], fontsize=_SMALL)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=_SMALL)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_xlabel("hazard ratio")
    tested = "pseudotime" if by == "stretch" else "branches"
    kind = terms["model"].iloc[0]
    p_text = lambda test: _p_text(tables.p_value(kind, test))
    lines = [
        f"Cox model of {tested}: {of[Column.N_SAMPLES]:,} samples, {of[Column.N_EVENTS]:,} events",
        f"likelihood ratio: p = {p_text('likelihood ratio')}, concordance {of['concordance']:.2f}",
        f"proportional hazards: p = {p_text('proportional hazards')}",
    ]
    if kind == "pseudotime" and not np.isnan(tables.p_value(kind, "linearity")):
        lines.append(f"linearity: p = {p_text('linearity')}")
    # no title: the layout would give it no room to the right
    above = dict(xycoords="axes fraction", textcoords="offset points", va="bottom", ha="left", fontsize=_SMALL)
    ax.annotate("\n".join(lines), (0, 1), xytext=(0, 4), annotation_clip=False, **above)


def _columns(ax: Axes, row: float, texts: tuple[str, str], second: float, **style: Any) -> None:
    """Texts in two columns beside a row of the Axes, the second at this distance from it, in points."""
    for text, offset in zip(texts, (8, second), strict=True):
        ax.annotate(
            text,
            (1.0, row),
            xycoords=ax.get_yaxis_transform(),
            xytext=(offset, 0),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize=_SMALL,
            annotation_clip=False,
            **style,
        )


def _ratio_ticks(ax: Axes) -> None:
    """A few ticks in plain numbers."""
    low, high = ax.get_xlim()
    wide = high / low
    subs = (1.0, 3.0) if wide > 12 else (1.0, 2.0, 5.0) if wide > 3 else (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 8.0)
    ax.xaxis.set_major_locator(LogLocator(subs=subs))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_minor_locator(NullLocator())


def _p_text(value: float) -> str:
    return f"{value:.1g}" if value < 0.001 else f"{value:.2g}"
