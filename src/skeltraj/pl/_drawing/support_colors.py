"""Colours of how sure things are, which can be read at both ends, on light ground and on dark."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap

from .style import faded, ink

# Vermillion and blue of Okabe and Ito (2008), which all kinds of colour vision tell apart, and a purple between them.
# On white and on black each contrasts by 3 to 1 at least, as WCAG 2.1 (1.4.11) wants of marks.
_NEVER, _HALF, _ALWAYS = "#D55E00", "#9B6BA3", "#0072B2"
_PALEST = 0.25  # of the way from the ground to the ink: seen, and quiet; chosen by eye


def support_cmap() -> Colormap:
    """From 0, never found again, over a half, to 1, always."""
    return LinearSegmentedColormap.from_list("support", [_NEVER, _HALF, _ALWAYS])


def spread_cmap(ax: Axes) -> Colormap:
    """Greys that leave the colours to the lines drawn over them: from near the ground to the ink."""
    return LinearSegmentedColormap.from_list("spread", [faded(ax, _PALEST), ink()])
