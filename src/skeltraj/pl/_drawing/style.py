"""The colours of marks and of what is around them, on light ground and on dark."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import to_hex


def ink() -> str:
    """The colour of text, lines and the skeleton: that of the text, dark on light ground and light on dark."""
    return to_hex(plt.rcParams["text.color"])


def ground(ax: Axes) -> str:
    """The colour behind an Axes: its own, or its figure's where it has none."""
    own = ax.get_facecolor()
    return to_hex(own if own[3] > 0 else ax.figure.get_facecolor())


def rim(ax: Axes, width: float = 2.4) -> list[patheffects.AbstractPathEffect]:
    """An outline in the colour of the ground, which keeps a line or a name apart from what it lies on."""
    return [patheffects.Stroke(linewidth=width, foreground=ground(ax)), patheffects.Normal()]
