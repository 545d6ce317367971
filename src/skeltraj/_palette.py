"""Colours for groups, told apart by as many readers as can be, on light ground and on dark."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

# Okabe and Ito's palette, told apart with any colour vision, but for its yellow, which is lost on white: in its place
# is the wine red of Tol's, as far from the others as these are from each other. Black is left for the tree; the eighth
# is a brown.
COLOR_BLIND_SAFE = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#882255", "#6B4423"]
# Thirty-two more: each is the one, of a grid of colours that are neither pale, dark, grey nor glaring, that is farthest
# in CIELAB from the nearest of those before it, seen with usual vision (where distances are divided by 1.7) and without
# red or green cones. Of up to 15 any two are then more than 15 apart with any colour vision, of all forty more than 9.
_FURTHER = [
    "#002DB4", "#B4B469", "#8787FF", "#E1004B", "#5A2D78", "#006978", "#1EC3D2", "#FF8796",
    "#004BA5", "#964B0F", "#874BD2", "#5A784B", "#C3963C", "#C32D87", "#78C3A5", "#87A5FF",
    "#9687C3", "#692D2D", "#A569D2", "#870000", "#69A569", "#780096", "#963C96", "#0078FF",
    "#1E785A", "#D24B2D", "#4B3C69", "#D2784B", "#A5C32D", "#B40F2D", "#FF87C3", "#F0A587",
]  # fmt: skip
_APART = [*COLOR_BLIND_SAFE, *_FURTHER]
MIN_CONTRAST = 2.0  # of a group's colour with white and with black, the least that sky blue and amber allow

_CONTRAST_OF_LINES = 2.2  # with white and with black; that of amber

_LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
# from linear sRGB to CIE XYZ
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def palette(n: int) -> list[str]:
    """`n` colours in hexadecimal; up to 15 are safe for any colour vision. All stand out from white and black."""
    return _APART[:n] if n <= len(_APART) else _wheel(n)


def _wheel(n: int) -> list[str]:
    """`n` colours around the wheel, neighbours alike."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(_neither_light_nor_dark(c)) for c in colormaps["turbo"](np.linspace(0.03, 0.97, n))[:, :3]]


def palette_beside(others: Sequence[str], n: int) -> list[str]:
    """`n` colours for lines, each as far as can be from those before it and from `others`, none of them pale."""
    from matplotlib.colors import to_rgb

    # half of a large wheel is neither pale nor dark
    hues = dict.fromkeys([*_APART, *_wheel(max(3 * n, len(_APART)))])
    stands_out = lambda color: min(contrast(to_rgb(color), ground) for ground in ((1, 1, 1), (0, 0, 0)))
    offered = [color for color in hues if stands_out(color) >= _CONTRAST_OF_LINES]
    at = np.array([_lab(to_rgb(color)) for color in offered])
    nearest = np.full(len(offered), np.inf)
    for other in others:
        nearest = np.minimum(nearest, np.linalg.norm(at - _lab(to_rgb(other)), axis=1))
    chosen: list[str] = []
    for _ in range(n):
        best = int(np.round(nearest, 6).argmax())
        chosen.append(offered[best])
        nearest = np.minimum(nearest, np.linalg.norm(at - at[best], axis=1))
        nearest[best] = -1.0
    return chosen


def _lab(color: ArrayLike) -> np.ndarray:
    """CIELAB (D65) of a colour: distances there are about as readers see them."""
    xyz = _TO_XYZ @ _linear(color) / _TO_XYZ.sum(axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def luminance(color: ArrayLike) -> float:
    """Relative luminance of a colour of three numbers from 0 to 1, as WCAG 2.2 defines it."""
    return float(_LUMINANCE @ _linear(color))


def contrast(one: ArrayLike, other: ArrayLike) -> float:
    """Contrast of two colours as WCAG 2.2 defines it: 1 for the same, 21 for black and white."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _linear(color: ArrayLike) -> np.ndarray:
    values = np.asarray(color, dtype=np.float64)[:3]
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _neither_light_nor_dark(color: ArrayLike) -> np.ndarray:
    """A colour darkened, or mixed with white, as far as `MIN_CONTRAST` asks on white and on black."""
    least, most = 0.0505 * MIN_CONTRAST - 0.05, 1.049 / MIN_CONTRAST - 0.05  # a little inside, for whole numbers
    values, now = _linear(color), luminance(color)
    if now > most:
        values = values * (most / now)
    elif now < least:
        values = values + (1 - values) * (least - now) / (1 - now)
    return np.where(values <= 0.0031308, 12.92 * values, 1.055 * values ** (1 / 2.4) - 0.055)
