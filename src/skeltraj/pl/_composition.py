from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from anndata import AnnData
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Column
from skeltraj.core._runtime import check
from skeltraj.get._reading.checks import available
from skeltraj.pl._drawing.style import ink
from skeltraj.pl._drawing.values import values_of

# chosen by eye
_MARK_HEIGHT = 0.055  # of a row of triangles, in shares
_MAX_ROWS = 3  # of lineages, before they go into a further column


@shared_texts
def composition(
    adata: AnnData,
    groupby: str,
    key: str = "ddrtree",
    *,
    lineages: Sequence[str] | None = None,
    level: float = 0.05,
    legend: bool = True,
    title: str | None = None,
) -> list[Axes]:
    """Draw the groups' shares of every branch, and along every lineage.

    Left, one bar for each branch, with the groups' shares; over it, a triangle for each group that is enriched
    (pointing up) or depleted (down) there, in the group's colour and in a row of its own. Right, the shares along
    pseudotime, one panel for each lineage; the steps are the bins, of about equal numbers of cells.

    Parameters
    ----------
    adata
        Annotated data for which :func:`skeltraj.tl.composition` was run.
    groupby
        Column of `obs` for which it was run. Colours are those of :func:`skeltraj.pl.graph`.
    <key>
    lineages
        Names of the lineages to draw, in that order. None: all.
    level
        Largest q-value (Benjamini-Hochberg) that gets a triangle.
    <legend>
    <figure_title>

    Returns
    -------
    The Axes: that of the branches, then one for each lineage.

    Raises
    ------
    KeyError
        If nothing is stored for `groupby`, or there is no such lineage.
    ValueError
        If the column has lost groups since, or `level` or `lineages` is out of range.
    """
    tables = get.composition(adata, groupby, key)
    level = check.number(level, "level", at_least=0)
    there = list(tables.bins["lineage"].cat.categories[np.unique(tables.bins["lineage"].cat.codes)])
    chosen = there if lineages is None else list(lineages)
    unknown = [name for name in chosen if name not in there]
    if unknown:
        raise KeyError(f"lineages: there is no {unknown[0]!r}. Available: {available(there)}.")
    if not chosen:
        raise ValueError("lineages is an empty list; wanted at least one, or None for all.")
    groups = list(tables.pseudotime["group"].astype(str))
    color = _colors(adata, groupby, groups)
    branches = list(tables.branches["branch"].cat.categories)

    rows = min(len(chosen), _MAX_ROWS)
    columns = -(-len(chosen) // rows)
    widths = [1.2 + 0.46 * max(len(branches), 3), 3.4 * columns]
    n_marked = tables.branches["group"][tables.branches[Column.Q_VALUE] <= level].nunique()
    height = max(3.4 + 0.2 * n_marked, 1.8 * rows)
    figure = plt.figure(figsize=(sum(widths) + (1.6 if legend else 0), height), layout="constrained")
    left, right = figure.add_gridspec(1, 2, width_ratios=widths, wspace=0.03)
    axes = [figure.add_subplot(left), *_grid(right, len(chosen), rows, columns)]
    weighted = ", samples alike" if tables.permuted == "samples" else ""
    _branches(axes[0], tables.branches, groups, color, level)
    axes[0].set_ylabel(f"share of the branch{weighted}")
    for panel, name in zip(axes[1:], chosen, strict=True):
        _lineage(panel, tables.bins[tables.bins["lineage"] == name], groups, color)
        panel.set_title("all cells" if name == "all" else f"lineage to {name}", fontsize=10)
    for i, panel in enumerate(axes[1:]):
        if i < rows:
            panel.set_ylabel("share of the bin")
        if i % rows == rows - 1 or i == len(chosen) - 1:
            panel.set_xlabel("pseudotime")
    if legend:
        _legend(figure, groupby, groups, color, n_marked > 0, level)
    if title:
        figure.suptitle(title)
    return axes


def _colors(adata: AnnData, groupby: str, groups: list[str]) -> dict[str, str]:
    values = values_of(adata, groupby, argument="groupby")
    assert values.categories is not None
    assert values.colors is not None
    color = dict(zip(values.categories, values.colors, strict=True))
    lost = [name for name in groups if name not in color]
    if lost:
        raise ValueError(
            f"adata.obs[{groupby!r}] has no group {lost[0]!r} any more, for which a composition is stored. Available: "
            f"{available(color)}. Run skeltraj.tl.composition again."
        )
    return color


def _grid(place: SubplotSpec, n: int, rows: int, columns: int) -> list[Axes]:
    """`n` Axes, filled column by column, with axes of pseudotime and of shares in common."""
    grid = place.subgridspec(rows, columns).subplots(sharex=True, sharey=True, squeeze=False)
    flat = list(grid.T.ravel())
    for panel in flat[n:]:
        panel.remove()
    flat[n - 1].tick_params(labelbottom=True)
    return flat[:n]


def _branches(ax: Axes, table: pd.DataFrame, groups: list[str], color: dict[str, str], level: float) -> None:
    """Stacked bars, and over them the marks."""
    branches = list(table["branch"].cat.categories)
    at = table["branch"].cat.codes.to_numpy()
    name = table["group"].astype(str).to_numpy()
    low = np.zeros(len(branches))
    significant = (table[Column.Q_VALUE] <= level).to_numpy()
    row = 0
    for group in groups:
        of = table[name == group]
        share = of["share_of_branch"].to_numpy()
        ax.bar(at[name == group], share, bottom=low, width=0.82, color=color[group], edgecolor="white", linewidth=0.6)
        low += share
        hits = (name == group) & significant
        if not hits.any():
            continue
        height = 1.05 + _MARK_HEIGHT * row
        row += 1
        more = (table["log2_enrichment"] > 0).to_numpy()
        for marker, which in (("^", hits & more), ("v", hits & ~more)):
            ax.scatter(
                at[which],
                np.full(which.sum(), height),
                marker=marker,
                s=30,
                color=color[group],
                edgecolors=ink(),
                linewidths=0.6,
                zorder=3,
            )
    cells = table.groupby("branch", observed=True)[Column.N_CELLS].sum()
    ax.set_xticks(
        range(len(branches)), [f"{b}\n{cells[b]:,}" for b in branches], fontsize=8 if len(branches) > 6 else 9
    )
    ax.set_xlabel("branch, number of cells")
    _shares(ax, 1.02 + _MARK_HEIGHT * row)
    ax.set_xlim(-0.6, len(branches) - 0.4)
    ax.tick_params(axis="x", length=0)


def _lineage(ax: Axes, bins: pd.DataFrame, groups: list[str], color: dict[str, str]) -> None:
    """Stacked steps."""
    share = bins.pivot(index="group", columns="bin", values="share").loc[groups].to_numpy()
    first = bins[bins["group"] == groups[0]].sort_values("bin")
    bounds = np.r_[first[Column.START].to_numpy(), first[Column.END].to_numpy()[-1]]
    top = np.vstack([np.zeros(share.shape[1]), np.cumsum(share, axis=0)])
    for i, group in enumerate(groups):
        ax.stairs(top[i + 1], bounds, baseline=top[i], fill=True, color=color[group], linewidth=0)
    for height in top[1:-1]:  # thin, so that neighbours of like colours stay apart
        ax.stairs(height, bounds, baseline=None, color="white", linewidth=0.6)
    _shares(ax, 1.0)


def _shares(ax: Axes, top: float) -> None:
    ax.set_ylim(0, top)
    ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines["left"].set_bounds(0, 1)


def _legend(figure: Figure, groupby: str, groups: list[str], color: dict[str, str], marked: bool, level: float) -> None:
    """The groups in the order in which they are stacked, then the marks."""
    handles: list[Patch | Line2D] = [Patch(color=color[name], label=name) for name in groups[::-1]]
    if marked:
        for marker, word in (("^", "enriched"), ("v", "depleted")):
            label = f"{word}, q ≤ {level:g}"
            style = dict(marker=marker, linestyle="", color="white", markeredgecolor=ink(), markersize=6)
            handles.append(Line2D([], [], label=label, **style))
    figure.legend(
        handles=handles,
        title=groupby,
        loc="outside right center",
        frameon=False,
        fontsize=9,
        alignment="left",
        handlelength=1.2,
        ncols=1 + (len(handles) - 1) // 18,
    )
