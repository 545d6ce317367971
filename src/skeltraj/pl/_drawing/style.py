"""The colours of marks and of what is around them, on light ground and on dark."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_hex, to_rgb

from skeltraj._palette import contrast

GAP = "gap"  # the gid of lines in the colour of the ground, which part what lies beneath them

# chosen by eye; the contrasts that they give are tested
_MISSING = {"light": "#C8C8C8", "dark": "#616161"}
_CUT = {"light": (0.0, 0.85), "dark": (0.3, 1.0)}  # the part of viridis that stands out
_DIVERGING = {"light": ("#08519C", "#C4C4C4", "#B2182B"), "dark": ("#6BB7F5", "#666666", "#FF8A66")}


def ink() -> str:
    """The colour of text, lines and the skeleton: that of the text, dark on light ground and light on dark."""
    return to_hex(plt.rcParams["text.color"])


def ground(ax: Axes) -> str:
    """The colour behind an Axes: its own, or its figure's where it has none."""
    own = ax.get_facecolor()
    return to_hex(own if own[3] > 0 else ax.figure.get_facecolor())


def faded(ax: Axes, share: float) -> str:
    """Ink thinned with the ground: for lines that are to be less than the tree. 1 is ink."""
    return to_hex(share * np.array(to_rgb(ink())) + (1 - share) * np.array(to_rgb(ground(ax))))


def is_dark() -> bool:
    """Whether the style's ground is dark: white would stand out more from it than black."""
    return contrast(to_rgb(plt.rcParams["axes.facecolor"]), (0, 0, 0)) < 4.6


def missing() -> str:
    """The grey of cells without a value."""
    return _MISSING[_shade()]


def ink_on(color: Any) -> str:
    """The colour of words on a filled area: dark or light, whichever contrasts more with it."""
    words = ("#000000", "#ffffff")
    return max(words, key=lambda word: contrast(to_rgb(word), to_rgb(color)))


def sequential() -> Colormap:
    """The default map of numbers: viridis without the end that is as light, or as dark, as the ground."""
    low, high = _CUT[_shade()]
    name = f"viridis {low:g} to {high:g}"
    return LinearSegmentedColormap.from_list(name, plt.get_cmap("viridis")(np.linspace(low, high, 256)))


def diverging() -> Colormap:
    """The default map of numbers around a centre: blue, grey, red; none is as light, or as dark, as the ground."""
    return LinearSegmentedColormap.from_list(f"blue grey red on {_shade()} ground", _DIVERGING[_shade()])


def changes_map() -> Colormap:
    """The default map of a matrix of changes: blue and red, with no change as light, or as dark, as the ground."""
    if _shade() == "light":
        return plt.get_cmap("RdBu_r")
    blue, _, red = _DIVERGING["dark"]
    return LinearSegmentedColormap.from_list("blue black red", [blue, "#101010", red])


def rim(ax: Axes, width: float = 2.4) -> list[patheffects.AbstractPathEffect]:
    """An outline in the colour of the ground, which keeps a line or a name apart from what it lies on."""
    return [patheffects.Stroke(linewidth=width, foreground=ground(ax)), patheffects.Normal()]


def _shade() -> str:
    return "dark" if is_dark() else "light"
