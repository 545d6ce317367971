"""Fits that run at the same time, counted and stopped together."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock


class FitGroup:
    """Fits that run at the same time: counts them, and stops them.

    Parameters
    ----------
    count
        Called as ``count(done, total)`` after each.
    total
        How many there are; 0: nothing is said.
    """

    def __init__(self, count: Callable[[int, int], object] | None, total: int) -> None:
        self.stop = Event()
        self._count, self._total, self._done, self._lock = count, total, 0, Lock()

    def stopped(self, *_: object) -> bool:
        """Whether the fits were stopped: the callback of each."""
        return self.stop.is_set()

    def expect(self, more: int) -> None:
        """Expect more fits than announced, or fewer if negative."""
        with self._lock:
            if self._total:
                self._total += more

    def add(self) -> None:
        """Another one is done."""
        if self._count is None or not self._total:
            return
        with self._lock:
            self._done += 1
            self._count(self._done, self._total)
