"""What the user has set for all pictures: with matplotlib's rcParams, or scanpy's `set_figure_params`."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
from matplotlib import rcParamsDefault

from skeltraj.core._runtime import check


def panel_size(width: float, height: float) -> tuple[float, float]:
    """Size of a panel in inches: ``rcParams["figure.figsize"]`` if it was set, else what the picture wants."""
    size = tuple(plt.rcParams["figure.figsize"])
    return (width, height) if size == tuple(rcParamsDefault["figure.figsize"]) else (float(size[0]), float(size[1]))


def framed(frameon: bool | None) -> bool:
    """Whether to draw the frame of a picture whose axes have no ticks. None: as set for scanpy, or yes."""
    frameon = check.flag_or_none(frameon, "frameon")
    return bool(_of_scanpy("FRAMEON", True)) if frameon is None else frameon


def vector_friendly() -> bool:
    """Whether scanpy was told to draw all cells as an image inside vector files."""
    return bool(_of_scanpy("VECTOR_FRIENDLY", False))


def _of_scanpy(name: str, default: Any) -> Any:
    """A setting of scanpy, which is not imported for this: before that nobody has set it."""
    settings = sys.modules.get(_MODULE_OF_SETTINGS)
    if settings is not None:
        return getattr(settings, name, default)
    return getattr(getattr(sys.modules.get("scanpy"), "settings", None), f"_{name.lower()}", default)


_MODULE_OF_SETTINGS = "scanpy.plotting.legacy.mpl_settings"  # from scanpy 1.13 on
