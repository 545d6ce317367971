"""How kernels are compiled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from numba import njit

from .warn import warn

_warned = threading.Lock()  # taken by the one who warns, as there are many kernels


def compiled(function: Callable[..., Any]) -> Any:
    """Compile at the first call, releasing the interpreter's lock; kept on disk for later processes where that can be.

    Where nothing can be written (a read-only installation without a home, a full disk), every process compiles for
    itself.
    """
    try:
        kernel = njit(cache=True, nogil=True)(function)
    except RuntimeError as error:
        if "no locator" not in str(error):
            raise
        return njit(nogil=True)(function)
    if hasattr(kernel, "_cache"):  # not where compiling is turned off
        kernel._cache.save_overload = _if_it_can_be(kernel._cache.save_overload)
    return kernel


def _if_it_can_be(save: Callable[..., None]) -> Callable[..., None]:
    """Numba saves a kernel within the call that compiled it, which needs nothing but the kernel."""

    def save_or_warn(*kernel: Any) -> None:
        try:
            save(*kernel)
        except OSError as error:
            if _warned.acquire(blocking=False):
                warn(
                    f"compiled code cannot be kept for later processes, which will compile anew ({error}). "
                    "The environment variable NUMBA_CACHE_DIR names another folder."
                )

    return save_or_warn
