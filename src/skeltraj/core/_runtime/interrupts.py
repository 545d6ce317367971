"""Ctrl-C where it must not come: noted, and raised a little later."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_noted() -> Iterator[Callable[[], bool]]:
    """Ctrl-C is noted, not raised; gives a function that says whether it came. Only the main thread gets interrupts."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual):  # not set from Python, so it cannot be put back; or ignored, or the end of the process
        yield lambda: False
        return
    caught: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: caught.append(number))
    try:
        yield lambda: bool(caught)
    finally:
        signal.signal(signal.SIGINT, usual)


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Around a few steps that belong together: Ctrl-C has its usual effect after them."""
    interrupted: Callable[[], bool] = lambda: False
    try:
        with interrupts_noted() as interrupted:
            yield
    finally:
        if interrupted():
            signal.raise_signal(signal.SIGINT)
