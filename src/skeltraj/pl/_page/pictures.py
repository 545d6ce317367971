"""Pictures on a page: each drawn twice, on light ground and on dark."""

from __future__ import annotations

import base64
import io
import re
import struct
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from skeltraj.get._reading.regrouped import BEGINNING

GROUND = {"light": "#ffffff", "dark": "#16191e"}  # also those of the page
INK = {"light": "#1c2128", "dark": "#e4e7eb"}
_DPI = 192  # two dots for each pixel of a page
MAX_VECTOR_MARKS = 1_500  # about where an image of dots becomes the smaller one
_MAX_VECTOR = 400_000  # bytes, for pictures with more marks than was thought


@dataclass(frozen=True)
class Picture:
    """A picture as data addresses, one for each ground.

    Parameters
    ----------
    light, dark
        The addresses.
    width, height
        In pixels of the page.
    alt
        What it shows, for readers who do not see it.
    caption
        What stands under it.
    """

    light: str
    dark: str
    width: int
    height: int
    alt: str
    caption: str


def picture(draw: Callable[[], Any], alt: str, caption: str, n_marks: int = 0) -> Picture:
    """Draw on either ground.

    Parameters
    ----------
    draw
        Makes a new figure and returns Axes of it, as the functions of `pl` do.
    alt, caption
        In words.
    n_marks
        About how many marks it has: many are an image of dots, few are vectors.
    """
    light, width, height = _drawn(draw, "light", n_marks)
    dark, *_ = _drawn(draw, "dark", n_marks)
    return Picture(light, dark, width, height, alt, caption)


def _drawn(draw: Callable[[], Any], theme: str, n_marks: int) -> tuple[str, int, int]:
    # not under the user's own settings: the page looks the same wherever it is made
    with plt.style.context(["default", _settings(theme)]), plt.ioff(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # of names that the font cannot write
        warnings.filterwarnings("ignore", ".*layout not applied")  # names too long for any figure
        warnings.filterwarnings("ignore", BEGINNING)  # it is told beside the picture
        before = set(plt.get_fignums())
        try:
            return _encoded(_figure(draw()), n_marks)
        finally:
            for number in set(plt.get_fignums()) - before:
                plt.close(number)


def _settings(theme: str) -> dict[str, Any]:
    ink, ground = INK[theme], GROUND[theme]
    return {
        **{f"{name}.facecolor": ground for name in ("figure", "axes", "savefig")},
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), ink),
        "axes.titlesize": 11,
        "font.size": 10,
        "svg.hashsalt": "skeltraj",  # the same picture in the same bytes
        "text.parse_math": False,  # names with dollars are names
    }


def _figure(drawn: Any) -> Figure:
    """The figure of what a function of `pl` returned."""
    if isinstance(drawn, Mapping):
        drawn = next(iter(drawn.values()))
    axes: Axes = drawn[0] if isinstance(drawn, list) else drawn
    return axes.figure


def _encoded(figure: Figure, n_marks: int) -> tuple[str, int, int]:
    """The figure as a data address, with its width and height in pixels of the page."""
    if n_marks <= MAX_VECTOR_MARKS:
        vector = _bytes(figure, "svg", metadata={"Date": None})
        if len(vector) <= _MAX_VECTOR:
            sizes = re.findall(rb'(?:width|height)="([\d.]+)pt"', vector)[:2]
            width, height = (round(float(size) * 96 / 72) for size in sizes)
            return _address("image/svg+xml", vector), width, height
    dots = _of_few_colors(_bytes(figure, "png"))
    width, height = (round(pixels * 96 / _DPI) for pixels in struct.unpack(">II", dots[16:24]))
    return _address("image/png", dots), width, height


def _bytes(figure: Figure, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format=kind, dpi=_DPI, bbox_inches="tight", pad_inches=0.06, **options)
    return out.getvalue()


def _of_few_colors(png: bytes) -> bytes:
    """The image with 256 colours, chosen from its own, in about a third of the bytes."""
    image, out = Image.open(io.BytesIO(png)).convert("RGB"), io.BytesIO()
    few = image.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(out, "PNG", optimize=True)
    return out.getvalue()


def _address(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
