"""Names of points on Axes, placed whenever the figure is drawn."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.text import Annotation, Text
from mpl_toolkits.mplot3d import proj3d

from .label_places import LEADER, Around, count_in_squares, gaps, label_places
from .style import faded, rim

LEAST_POINTS = 5.0  # smaller letters cannot be read in print
_PAD = 1.0  # around each name, in points
_FARTHEST = 50.0  # points; an optional name farther from its mark than this has no room, chosen by eye
_FULL = 0.25  # of the Axes covered by names is too much for more optional names, chosen by eye
_SHRINK = 0.88  # of the letters, as long as the names find no room
_MAX_SEGMENTS = 5_000  # more lines, of similarities, are everywhere: names need not mind them
_MAX_FOUND = 16  # results that are kept for the next panels
_found: dict[tuple[bytes, ...], tuple[np.ndarray, np.ndarray]] = {}
_MAX_SPOTS = 200_000  # along lines of one kind


@dataclasses.dataclass
class _Named:
    """A name, and the point that it names."""

    text: Annotation
    at: np.ndarray  # (2,) or (3,)
    radius: float  # of the mark there, in points
    size: float  # of the letters, where there is room
    least: float  # of the letters, where there is little
    optional: bool  # left out where there is none
    on: bool  # wanted on the point, not beside it
    given: float = 0.0  # the size that the letters have now, unless someone has changed it


class Labels(Artist):
    """All names on an Axes.

    Where a name can stand depends on the size of the Axes, of the letters and, in three dimensions, on the view. So
    places are found when the Axes are drawn, when legends and colour bars have their room, and found again when any of
    it has changed: at another resolution, size or view.
    """

    def __init__(self) -> None:
        super().__init__()
        self.set_zorder(-np.inf)  # drawn first, so that the names are in their places when they are drawn
        self.set_in_layout(False)
        self._named: list[_Named] = []
        self._free: list[tuple[np.ndarray, float]] = []
        self._last: list[Any] = []

    def contains(self, mouseevent: Any) -> tuple[bool, dict[Any, Any]]:
        """Nothing of its own is seen."""
        return False, {}

    def add(self, named: _Named) -> None:
        """Another name."""
        self._named.append(named)

    def keep_free(self, at: np.ndarray, radius: float) -> None:
        """Another mark that no name is to cover."""
        self._free.append((np.asarray(at, dtype=np.float64), radius))

    def draw(self, renderer: RendererBase) -> None:
        """Put the names where they belong; each then draws itself."""
        self._named = [one for one in self._named if one.text.axes is self.axes]  # others were removed
        unit = renderer.points_to_pixels(1.0)
        size = np.array([self.axes.bbox.width, self.axes.bbox.height]) / unit
        if not self._named or not self.get_visible() or (size < 2 * _PAD).any():
            return
        texts = self._other_texts(renderer, unit)
        seen = self._seen([one.at for one in self._named], unit)
        free = self._seen([at for at, _ in self._free], unit)
        for one in self._named:
            if one.text.get_fontsize() != one.given:
                one.size = one.text.get_fontsize() if one.given else one.size
                self._last = []
        # to a tenth of a point: what changes less was found again with rounding
        state = [np.round(part, 1).tolist() for part in (size, texts, seen, free)]
        if self._last != [*state, self._extents(self._named, renderer, unit).tolist()]:
            self._place(renderer, unit, size, texts, seen, free)
            self._last = [*state, self._extents(self._named, renderer, unit).tolist()]

    def _place(
        self,
        renderer: RendererBase,
        unit: float,
        size: np.ndarray,
        texts: np.ndarray,
        seen: np.ndarray,
        free: np.ndarray,
    ) -> None:
        inside = np.asarray(((seen >= -0.5) & (seen <= size + 0.5)).all(axis=1)) & self._fitting(renderer, unit, size)
        for one, shown in zip(self._named, inside, strict=True):
            one.text.set_visible(bool(shown))
        named = [one for one, shown in zip(self._named, inside, strict=True) if shown]
        points, radius = seen[inside], np.array([one.radius for one in named])
        reach = np.array([radius for _, radius in self._free])[:, None]
        around = Around(size, self._lines(unit), self._cells(size, unit), np.c_[free - reach, free + reach], texts)
        factor = 1.0
        while True:
            for one in named:
                one.given = max(one.size * factor, min(one.size, one.least))
                one.text.set_fontsize(one.given)
            sizes = self._extents(named, renderer, unit)
            places, clear = _with_room(named, points, radius, sizes, around)
            if clear.all() or all(one.given <= one.least for one in named):
                break
            factor *= _SHRINK
        while not clear.all() and any(one.optional for one in named):
            kept = _without_the_last(np.array([one.optional for one in named]), clear)
            for one in (one for one, stays in zip(named, kept, strict=True) if not stays):
                one.text.set_visible(False)
            named = [one for one, stays in zip(named, kept, strict=True) if stays]
            points, radius, sizes = points[kept], radius[kept], sizes[kept]
            places, clear = _with_room(named, points, radius, sizes, around)
        ends = self.axes.transData.inverted().transform(points * unit + self.axes.bbox.min)
        gap = gaps(points, radius, places, sizes / 2)
        for one, end, place, far in zip(named, ends, places / size, gap > LEADER, strict=True):
            one.text.xy = tuple(end.tolist())
            one.text.xyann = tuple(place.tolist())
            one.text.arrow_patch.set_visible(bool(far))

    def _fitting(self, renderer: RendererBase, unit: float, size: np.ndarray) -> np.ndarray:
        """Which names to place at all: no more optional ones than the Axes hold in their smallest letters."""
        for one in self._named:
            one.given = min(one.size, one.least)
            one.text.set_fontsize(one.given)
        share = self._extents(self._named, renderer, unit).prod(axis=1).cumsum() / size.prod()
        return (share <= _FULL) | ~np.array([one.optional for one in self._named], dtype=bool)

    def _seen(self, at: Sequence[np.ndarray], unit: float) -> np.ndarray:
        """Where places are seen, in points from the lower left corner of the Axes, (n, 2)."""
        if not len(at):
            return np.zeros((0, 2))
        flat = np.stack(at)
        if flat.shape[1] == 3:
            flat = np.column_stack(proj3d.proj_transform(*flat.T, self.axes.get_proj())[:2])
        return np.asarray((self.axes.transData.transform(flat) - self.axes.bbox.min) / unit)

    def _extents(self, named: Sequence[_Named], renderer: RendererBase, unit: float) -> np.ndarray:
        """Width and height of names, in whole points: letters differ by less between resolutions, (n, 2)."""
        # of an annotation the text alone, without its line
        boxes = [Text.get_window_extent(one.text, renderer) for one in named]
        return np.ceil(np.array([[box.width, box.height] for box in boxes]).reshape(-1, 2) / unit) + 2 * _PAD

    def _other_texts(self, renderer: RendererBase, unit: float) -> np.ndarray:
        """Boxes of texts, of legends, of Axes within these and, in three dimensions, of the names of the axes."""
        own = {id(one.text) for one in self._named}
        texts = [text for text in self.axes.texts if id(text) not in own]
        if hasattr(self.axes, "zaxis"):
            texts += [axis.label for axis in (self.axes.xaxis, self.axes.yaxis, self.axes.zaxis)]
        texts = [text for text in texts if text.get_visible() and text.get_text().strip()]
        boxes = [Text.get_window_extent(text, renderer) for text in texts]
        legend = self.axes.get_legend()
        boxes += [other.get_window_extent(renderer) for other in (legend, *self.axes.child_axes) if other is not None]
        corners = np.array([box.extents for box in boxes]).reshape(-1, 4)
        return np.asarray((corners - np.tile(self.axes.bbox.min, 2)) / unit)

    def _lines(self, unit: float) -> np.ndarray:
        """Spots along all lines, one for each point of their length, in points, (n, 2)."""
        spots = [np.zeros((0, 2))]
        for line in self._paths():
            ends = (line - self.axes.bbox.min) / unit
            start, step = ends[:-1], np.diff(ends, axis=0)
            length = np.hypot(step[:, 0], step[:, 1])
            parts = np.where(np.isfinite(length), np.ceil(length), 0).astype(np.int64)
            if not 0 < parts.sum() < _MAX_SPOTS:
                continue
            which = np.repeat(np.arange(len(parts)), parts)
            share = (np.arange(len(which)) - np.repeat(np.cumsum(parts) - parts, parts) + 0.5) / parts[which]
            spots.append(start[which] + share[:, None] * step[which])
        return np.concatenate(spots)

    def _paths(self) -> Iterator[np.ndarray]:
        """The lines on the Axes, each in pixels, (n, 2); NaN between those that were drawn at once."""
        gap = np.full((1, 2), np.nan)
        for drawn in self.axes.collections:
            if isinstance(drawn, LineCollection) and drawn.get_visible():
                segments = drawn.get_segments()  # in three dimensions as they are seen
                if 0 < len(segments) <= _MAX_SEGMENTS:
                    joined = np.concatenate([np.concatenate([np.asarray(line)[:, :2], gap]) for line in segments])
                    yield drawn.get_transform().transform(joined)
        for line in self.axes.lines:
            if line.get_visible() and line.get_linestyle() != "None":
                yield line.get_transform().transform_path(line.get_path()).vertices

    def _cells(self, size: np.ndarray, unit: float) -> np.ndarray:
        """How many cells lie in each square, whatever their order."""
        drawn = [c for c in self.axes.collections if isinstance(c, PathCollection) and c.get_visible()]
        counts = [count_in_squares(np.zeros((0, 2)), size)]
        for cells in drawn:
            at = np.ma.filled(np.ma.asarray(cells.get_offsets(), dtype=np.float64), np.nan)[:, :2]
            seen = (cells.get_offset_transform().transform(at) - self.axes.bbox.min) / unit
            counts.append(count_in_squares(seen, size))
        return np.asarray(sum(counts))


def _with_room(
    named: Sequence[_Named], points: np.ndarray, radius: np.ndarray, sizes: np.ndarray, around: Around
) -> tuple[np.ndarray, np.ndarray]:
    """Where names stand, and which have room there: those left out where there is none have it near their points."""
    on = np.array([one.on for one in named], dtype=bool)
    places, clear = _places(points, radius, sizes, around, on)
    far = gaps(points, radius, places, sizes / 2) > _FARTHEST
    return places, clear & ~(far & np.array([one.optional for one in named], dtype=bool))


def _places(
    points: np.ndarray, radius: np.ndarray, sizes: np.ndarray, around: Around, on: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What `label_places` finds, found once for the panels of a figure, which are alike but for their colours."""
    given = (points, radius, sizes, around.size, around.lines, around.cells, around.marks, around.texts)
    parts: list[np.ndarray] = [np.round(part, 2) + 0.0 for part in given]  # no -0.0
    same = tuple(part.tobytes() for part in [*parts, on])
    if same not in _found:
        if len(_found) >= _MAX_FOUND:
            _found.clear()
        _found[same] = label_places(parts[0], parts[1], parts[2], Around(*parts[3:]), on)
    return _found[same]


def _without_the_last(optional: np.ndarray, clear: np.ndarray) -> np.ndarray:
    """Which names stay when the last of those that find no room are left out, a quarter of them at a time."""
    out = np.flatnonzero(optional & ~clear)
    out = out if len(out) else np.flatnonzero(optional)
    kept = np.ones(len(optional), dtype=bool)
    kept[out[-max(1, len(out) // 4) :]] = False
    return kept


def labels_of(ax: Axes) -> Labels:
    """What places the names on an Axes."""
    for artist in ax.artists:
        if isinstance(artist, Labels):
            return artist
    return ax.add_artist(Labels())


def draw_labels(
    ax: Axes,
    at: np.ndarray,
    names: Sequence[str],
    *,
    size: float,
    weight: str = "bold",
    least: float = LEAST_POINTS,
    radius: float | np.ndarray = 2.0,
    optional: bool = False,
    on: bool = False,
) -> None:
    """Name points.

    The names stand near their points, on no other name, in the Axes, and where there is room on no line or mark; a thin
    line leads from a name that had to move. Where the Axes are too small for all, the letters become smaller.

    Parameters
    ----------
    ax
        Where to write; everything else is to be drawn before the figure is.
    at
        The points, (n, 2) or (n, 3).
    names
        Of the points.
    size, weight
        Of the letters.
    least
        Size of the letters where there is little room.
    radius
        Of the mark at each point, in typographic points.
    optional
        Leave out those for which there is no room, the last first; else they may lie on one another.
    on
        The names are wanted on their points, whatever cells and lines are there.
    """
    own = labels_of(ax)
    at = np.asarray(at, dtype=np.float64)
    flat = at if at.shape[1] == 2 else np.column_stack(proj3d.proj_transform(*at.T, ax.get_proj())[:2])
    radii = np.broadcast_to(np.asarray(radius, dtype=np.float64), len(at)).tolist()
    for point, seen, name, reach in zip(at, flat, names, radii, strict=True):
        text = ax.annotate(
            name,
            seen,
            xytext=(0.5, 0.5),
            textcoords="axes fraction",
            fontsize=size,
            fontweight=weight,
            ha="center",
            va="center",
            zorder=7,
            arrowprops=dict(
                arrowstyle="-",
                color=faded(ax, 0.65),
                linewidth=0.6,
                shrinkA=0,
                shrinkB=reach,
                path_effects=rim(ax, 1.8),
            ),
        )
        text.set_path_effects(rim(ax))
        text.set_in_layout(False)  # it is inside the Axes
        own.add(_Named(text, point, reach, size, least, optional, on))


def keep_free(ax: Axes, at: np.ndarray, radius: float) -> None:
    """No name is to cover the mark at a place, (2,) or (3,), with this radius in typographic points."""
    labels_of(ax).keep_free(at, radius)
