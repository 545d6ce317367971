"""Whether a matrix is left to dask."""

from __future__ import annotations

from typing import Any


def is_lazy(X: Any) -> bool:
    """Whether `X` is a dask array; dask is not imported to find out."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "to_delayed")
