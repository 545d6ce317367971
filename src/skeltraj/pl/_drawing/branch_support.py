"""Skeletons in the colours of how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from anndata import AnnData
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from skeltraj import get
from skeltraj._keys import Column, Entry
from skeltraj.core import Graph

from .cell_style import CellStyle
from .legends import color_bar
from .skeleton import add_lines
from .style import GAP, ground, rim
from .support_colors import support_cmap

Kind = Literal["starts", "branch", "edge"]
_KINDS = ("starts", "branch", "edge")
LITTLE = 0.5  # branches with less are dashed; half of the largest support there is
_WIDTH = 2.6  # points; chosen by eye


@dataclass(frozen=True)
class Support:
    """Support of a skeleton's edges, (n_edges,), and of its branches where these have one; and what it is called."""

    of_edges: np.ndarray
    of_branches: np.ndarray | None
    name: str


def support_of(adata: AnnData, key: str, tree: Graph, kind: Kind | None) -> Support | None:
    """The stored support of a kind; None for None.

    Raises
    ------
    KeyError
        If it is not stored.
    ValueError
        If the kind is not known.
    """
    if kind is None:
        return None
    if kind not in _KINDS:
        raise ValueError(f"support={kind!r} is not known. Available: {[*_KINDS, None]}.")
    if kind == "starts":
        starts = get.stored(adata, key).get(Entry.STARTS)
        if starts is None:
            raise KeyError(
                f"support='starts': adata.uns[{key!r}] has no {Entry.STARTS!r}: it was compared with no others, or "
                "changed since. Wanted a tree that was learned from several (n_starts=5), or support='branch' after "
                "skeltraj.tl.stability."
            )
        of_branches = starts[Column.FOUND_AGAIN].reindex(tree.branch_names).to_numpy(dtype=np.float64)
        return Support(of_branches[tree.branch_of_edge], of_branches, "share of other trees that have the branch")
    tables, name = get.stability(adata, key), f"support of the {kind}"
    if kind == "edge":
        return Support(tables.edges[Column.SUPPORT].to_numpy(dtype=np.float64), None, name)
    of_branches = tables.branches[Column.SUPPORT].to_numpy(dtype=np.float64)
    return Support(of_branches[tree.branch_of_edge], of_branches, name)


def is_little(support: float) -> bool:
    """Whether the support is below a half when it is said in per cent."""
    return round(100 * support) < 100 * LITTLE


def draw_support(
    ax: Axes, courses: np.ndarray, branches: Sequence[np.ndarray], support: Support, style: CellStyle, *, alone: bool
) -> None:
    """Lines of the edges, (n_edges, n_places, 2 or 3), in the colours of their support.

    `branches` are the lines along each branch, which are dashed where the support is little. The colour bar stands
    below, as legends of cells stand beside; or beside, where the lines are `alone`.
    """
    side = None if not style.legend else style.colorbar_loc
    if side is not None and not alone:
        side = "bottom"
    draw_supported(ax, courses, support.of_edges, support.name, side=side)
    if support.of_branches is not None:
        draw_gaps(ax, [line for line, value in zip(branches, support.of_branches, strict=True) if is_little(value)])


def draw_supported(
    ax: Axes,
    courses: np.ndarray,
    support: np.ndarray,
    name: str,
    *,
    cmap: Colormap | None = None,
    side: str | None = "right",
) -> None:
    """Lines, (n, n_places, 2 or 3), in the colours of their support, (n,), with a colour bar at a side, or none."""
    three = courses.shape[2] == 3
    drawn = (Line3DCollection if three else LineCollection)(courses, linewidths=_WIDTH, capstyle="round", zorder=3)
    drawn.set_array(support)
    drawn.set_cmap(support_cmap() if cmap is None else cmap)
    drawn.set_clim(0, 1)
    drawn.set_path_effects(rim(ax, _WIDTH + 1.4))
    add_lines(ax, drawn)
    if side is not None:
        color_bar(ax, drawn, name, side=side)


def draw_gaps(ax: Axes, lines: Sequence[np.ndarray]) -> None:
    """Gaps in coloured lines, each (n_places, 2 or 3): those with little support."""
    for line in lines:
        gaps = dict(color=ground(ax), linewidth=_WIDTH, linestyle=(0, (1.0, 1.4)), zorder=4, gid=GAP)
        ax.plot(*line.T, **gaps)
