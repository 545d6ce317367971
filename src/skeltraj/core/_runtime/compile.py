"""How kernels are compiled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import event

from .kernel_code import digest_of
from .warn import warn

_warned = threading.Lock()  # taken by the one who warns, as there are many kernels


class _Compilations(event.Listener):
    """Counts those that go on. Numba tells of one at a time, though some begin within others."""

    n = 0

    def on_start(self, event: Any) -> None:
        self.n += 1

    def on_end(self, event: Any) -> None:
        self.n -= 1


_compilations = _Compilations()
event.register("numba:compile", _compilations)


def is_compiling() -> bool:
    """Whether a kernel is being compiled, in whichever thread, as by the first call after an installation."""
    return _compilations.n > 0


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
    # not where compiling is turned off, nor by a version of Numba that keeps code in another way
    if hasattr(getattr(getattr(kernel, "_cache", None), "_cache_file", None), "_source_stamp"):
        _guard_cache(kernel)
    return kernel


def _guard_cache(kernel: Any) -> None:
    """Have what is kept on disk used only where it was made of the same code, and done without where it cannot be.

    Numba saves a kernel within the call that compiled it, which needs nothing but the kernel.
    """
    cache = kernel._cache
    load, save, files = cache.load_overload, cache.save_overload, cache._cache_file
    of_file = files._source_stamp

    def know_code() -> None:
        if files._source_stamp is of_file:  # not before the first call: what a kernel names may be defined after it
            files._source_stamp = (of_file, digest_of(kernel))

    def load_if_whole(*signature: Any) -> Any:
        know_code()
        try:
            return load(*signature)
        except Exception:  # noqa: BLE001, whatever comes of a file that is damaged, or another user's
            return None

    def save_or_warn(*compiled: Any) -> None:
        know_code()
        try:
            try:
                save(*compiled)
            except OSError:
                raise
            except Exception:  # noqa: BLE001, the list of what is kept is damaged
                cache.flush()
                save(*compiled)
        except OSError as error:
            if _warned.acquire(blocking=False):
                warn(
                    f"compiled code cannot be kept for later processes, which will compile again ({error}). "
                    "Set the environment variable NUMBA_CACHE_DIR to another folder."
                )

    cache.load_overload, cache.save_overload = load_if_whole, save_or_warn
