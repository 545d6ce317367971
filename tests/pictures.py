"""What a picture shows, in two dimensions or three."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.text import Text


def lines(ax, number=0):
    """The ends of the lines in the picture's first, second, ... set of lines, (lines, ends, dimensions)."""
    drawn = [artist for artist in ax.collections if isinstance(artist, LineCollection)][number]
    return np.array(drawn._segments3d if hasattr(drawn, "_segments3d") else drawn.get_segments())


def points(ax, number=0):
    """The places of the picture's first, second, ... set of points."""
    drawn = [artist for artist in ax.collections if isinstance(artist, PathCollection)][number]
    return np.column_stack(drawn._offsets3d) if hasattr(drawn, "_offsets3d") else np.asarray(drawn.get_offsets())


def assert_texts_apart(figure):
    """No text of a figure covers another, and all are inside it; tick labels count where they are drawn."""
    figure.canvas.draw()
    texts = [*figure.texts]
    for legend in figure.legends:
        texts += [*legend.get_texts(), legend.get_title()]
    for ax in figure.axes:
        texts += [*ax.texts, ax.title, ax._left_title, ax._right_title]
        for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            shown = axis.get_tick_params()
            if shown.get("labelbottom", shown.get("labelleft", True)) and ax.axison:
                low, high = sorted(limits)
                along = 0 if axis is ax.xaxis else 1
                texts += [t for t in axis.get_ticklabels() if low <= t.get_position()[along] <= high]
            texts.append(axis.label)
        if ax.get_legend() is not None:
            texts += ax.get_legend().get_texts()
    # of an annotation the text alone, without its arrow
    boxes = [(t.get_text(), Text.get_window_extent(t)) for t in texts if t.get_visible() and t.get_text().strip()]
    inside = figure.bbox
    for name, box in boxes:
        assert (np.r_[box.min, -box.max] >= np.r_[inside.min, -inside.max] - 1).all(), name
    for (one_name, one), (other_name, other) in combinations(boxes, 2):
        assert not one.overlaps(other), (one_name, other_name)
