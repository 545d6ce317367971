"""Cells behind curves along pseudotime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from anndata import AnnData
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable

from skeltraj import get
from skeltraj._keys import Keys, OrderEntry
from skeltraj.core import Graph
from skeltraj.get._reading.cell_values import cell_values
from skeltraj.get._reading.positions import path_lengths, positions
from skeltraj.get._reading.trends import StoredTrends

from .cell_style import CellStyle
from .cells import colors_of_cells, point_size
from .number_scale import number_scale
from .style import faded
from .values import Values

_BEYOND = 16.0  # square points, of a triangle for a cell that the axis does not hold; chosen by eye


@dataclass(frozen=True, eq=False)
class CellsBehind:
    """The cells behind the curves.

    Parameters
    ----------
    pseudotime
        (n_obs,).
    heights
        Values of the genes drawn, (n_obs, n_genes).
    shown
        Which cells lie on the lineages, (n_obs,).
    values
        What colours them.
    scale
        The colours of numbers; None: there are none.
    marks
        How they are drawn.
    """

    pseudotime: np.ndarray
    heights: np.ndarray
    shown: np.ndarray
    values: Values
    scale: ScalarMappable | None
    marks: dict[str, Any]

    @classmethod
    def of(
        cls,
        adata: AnnData,
        tree: Graph,
        key: str,
        paths: Sequence[np.ndarray],
        curves: StoredTrends,
        rows: np.ndarray,
        values: Values,
        style: CellStyle,
    ) -> CellsBehind:
        """Those on lineages, given by the paths of their nodes; all that are ordered, if there are none."""
        shown = _on_lineages(adata, tree, key, paths)
        size = point_size(int(shown.sum())) * 0.7 if style.size is None else style.size
        root = int(get.ordered(adata, key)[OrderEntry.ROOT])
        return cls(
            pseudotime=path_lengths(adata, tree, root, key),
            heights=cell_values(adata, curves.record, key, rows),
            shown=shown,
            values=values,
            scale=_scale(values, style),
            marks=dict(s=size, alpha=style.alpha),
        )

    def draw(self, ax: Axes, gene: int) -> None:
        """The cells, always as an image: there are many, and under the curves."""
        self._draw(ax, self.heights[:, gene], self.shown, self.marks)

    def draw_beyond(self, ax: Axes, gene: int) -> None:
        """Triangles at the ends of the axis for cells that it does not reach, drawn as the others are."""
        low, high = ax.get_ylim()
        y = self.heights[:, gene]
        for marker, end, which in (("^", 1.0, y > high), ("v", 0.0, y < low)):
            if (self.shown & which).any():
                at_end = dict(transform=ax.get_xaxis_transform(), clip_on=False, marker=marker, s=_BEYOND, alpha=1.0)
                self._draw(ax, np.full(len(y), end), self.shown & which, self.marks | at_end)

    def _draw(self, ax: Axes, y: np.ndarray, shown: np.ndarray, marks: dict[str, Any]) -> None:
        x, values, scale = self.pseudotime, self.values, self.scale
        shown = np.flatnonzero(shown & np.isfinite(y))
        shown = np.random.default_rng(0).permutation(shown)  # no group hides another by being drawn last
        data = values.data[shown]
        options = dict(linewidths=0, rasterized=True, zorder=1, **marks)
        if values.categories is not None:
            assert values.colors is not None
            colors = [*values.colors, values.na_color]  # -1, missing, is the last
            options["c"] = colors_of_cells(colors, data, options.pop("alpha", None))
            ax.scatter(x[shown], y[shown], **options)
            return
        known = np.isfinite(data)
        if not known.all():
            ax.scatter(
                x[shown[~known]],
                y[shown[~known]],
                color=faded(ax, 0.4) if values.name is None else values.na_color,
                **options,
            )
        if known.any() and scale is not None:
            ax.scatter(x[shown[known]], y[shown[known]], c=data[known], cmap=scale.cmap, norm=scale.norm, **options)


def _on_lineages(adata: AnnData, tree: Graph, key: str, paths: Sequence[np.ndarray]) -> np.ndarray:
    """Which cells lie on the lineages."""
    known = np.isfinite(adata.obs[Keys(key).pseudotime].to_numpy(dtype=np.float64))
    if not paths:
        return known
    position = positions(adata, tree, key)
    return known & np.any([position.on_path(tree, path) for path in paths], axis=0)


def _scale(values: Values, style: CellStyle) -> ScalarMappable | None:
    """The colours of numbers, of all cells: the same in every panel. None: there are no numbers."""
    if values.categories is not None or not np.isfinite(values.data).any():
        return None
    cmap, norm = number_scale(values.data[np.isfinite(values.data)], style)
    return ScalarMappable(norm, cmap)
