"""What a picture shows, in two dimensions or three."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import LineCollection, PathCollection


def lines(ax, number=0):
    """The ends of the lines in the picture's first, second, ... set of lines, (lines, ends, dimensions)."""
    drawn = [artist for artist in ax.collections if isinstance(artist, LineCollection)][number]
    return np.array(drawn._segments3d if hasattr(drawn, "_segments3d") else drawn.get_segments())


def points(ax, number=0):
    """The places of the picture's first, second, ... set of points."""
    drawn = [artist for artist in ax.collections if isinstance(artist, PathCollection)][number]
    return np.column_stack(drawn._offsets3d) if hasattr(drawn, "_offsets3d") else np.asarray(drawn.get_offsets())
