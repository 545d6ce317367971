"""Names of cells, genes and groups are drawn as they are written, dollars and all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text

_PARSED = "text.parse_math"
_NUMBER = r"\mathdefault"  # in every number that matplotlib writes as a formula


@contextmanager
def names_as_written() -> Iterator[None]:
    r"""Around a function that draws: what stands between two dollars is no formula.

    Matplotlib would draw ``$x$`` as one, and raise an error at ``$\frac$`` whenever the figure is drawn.
    """
    before = plt.rcParams[_PARSED]
    plt.rcParams[_PARSED] = False
    try:
        yield
    finally:
        plt.rcParams[_PARSED] = before


def formulas_elsewhere(figure: Figure) -> None:
    """In all texts of a figure but these names formulas are read: in numbers of scales, and what a user will write."""
    for text in figure.findobj(Text):
        if "$" not in text.get_text() or _NUMBER in text.get_text():
            text.set_parse_math(True)
