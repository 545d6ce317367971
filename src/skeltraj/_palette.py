"""Colours for groups, told apart by as many readers as can be."""

from __future__ import annotations

import numpy as np

# Okabe and Ito's palette, told apart with any colour vision; black is left for the tree
COLOR_BLIND_SAFE = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442"]


def palette(n: int) -> list[str]:
    """`n` colours in hexadecimal; up to seven are safe for any colour vision."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    if n <= len(COLOR_BLIND_SAFE):
        return COLOR_BLIND_SAFE[:n]
    hues = [c for c in colormaps["tab20"].colors if len(set(c)) > 1]  # its greys would read as missing
    wheel = hues if n <= len(hues) else colormaps["turbo"](np.linspace(0.03, 0.97, n))
    return [to_hex(c) for c in wheel[:n]]
