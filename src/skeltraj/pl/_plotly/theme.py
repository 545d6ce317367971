"""The colours of a picture that can be turned, on light ground and on dark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_hex, to_rgb


@dataclass(frozen=True)
class Theme:
    """The ground, and the ink of text, axes and tree; hexadecimal."""

    ground: str
    ink: str

    @classmethod
    def of_style(cls) -> Theme:
        """That of matplotlib's current style."""
        return cls(to_hex(plt.rcParams["figure.facecolor"]), to_hex(plt.rcParams["text.color"]))

    def style(self) -> dict[str, Any]:
        """What matplotlib's style is with these colours, for the functions that ask it."""
        return {"figure.facecolor": self.ground, "axes.facecolor": self.ground, "text.color": self.ink}

    def faded(self, share: float) -> str:
        """Ink thinned with the ground; 1 is ink."""
        return to_hex(share * np.array(to_rgb(self.ink)) + (1 - share) * np.array(to_rgb(self.ground)))


LIGHT = Theme("#ffffff", "#1a1a1a")
DARK = Theme("#15181c", "#ececec")
