"""Smooth skeletons of tree-like data: learn the tree, order samples along it, draw it.

Rooms: `core` (arrays in, results out), `tl` (AnnData in, stored keys out), `get` (stored keys back into objects),
`pl` (pictures of stored results), `estimators` (`core` for scikit-learn), `datasets`.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import core, datasets, estimators, get, pl, tl

__version__ = version("skeltraj")
__all__ = ["core", "datasets", "estimators", "get", "pl", "tl"]


# Each room is loaded when it is first used: who has arrays need not wait for anndata, or for matplotlib.
def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
