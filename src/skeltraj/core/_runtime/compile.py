"""How kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """Compile at the first call, releasing the interpreter's lock; kept on disk for later processes where that can be.

    Where nothing can be written (a read-only installation without a home), every process compiles for itself.
    """
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError as error:
        if "no locator" not in str(error):
            raise
        return njit(nogil=True)(function)
