"""Smooth skeletons of tree-like data: learn the tree, order samples along it, draw it.

Rooms: `core` (arrays in, results out), `tl` (AnnData in, stored keys out), `get` (stored keys back into objects),
`pl` (pictures of stored results), `estimators` (`core` for scikit-learn), `datasets`.
"""

from importlib import import_module
from importlib.metadata import version
from typing import Any

from . import core, get, tl

__version__ = version("skeltraj")
__all__ = ["core", "datasets", "estimators", "get", "pl", "tl"]

# they bring a download, scikit-learn or matplotlib along: loaded when first used
_LAZY = ("datasets", "estimators", "pl")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
