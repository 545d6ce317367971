"""Warnings that name the user's line."""

from __future__ import annotations

import contextlib
import sys
import warnings


def warn(message: str) -> None:
    """A UserWarning at the first line outside this package, through however many of its own functions it came."""
    level, frame = 2, sys._getframe(1)
    inside = (__name__.partition(".")[0], contextlib.__name__)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in inside:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)
