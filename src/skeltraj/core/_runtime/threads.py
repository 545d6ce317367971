"""Threads over independent pieces of work, with results that do not depend on how many there are."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from .warn import Line, users_line, work_for

Item = TypeVar("Item")
Result = TypeVar("Result")
Sums = list[np.ndarray]

_MAX_GROUPS = 32  # of items with sums of their own: the most threads that find work
_MAX_SUMS_BYTES = 1 << 28  # that these sums may take; chosen by eye

_here = threading.local()  # `busy` in threads that do one of several items


def n_threads() -> int:
    """Threads to use: the processors that this process may run on, or less if NUMBA_NUM_THREADS says so."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, int(os.environ.get("NUMBA_NUM_THREADS", allowed))))


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], *, stop: threading.Event | None = None
) -> list[Result]:
    """``[function(item) for item in items]``, several at a time; the work must release the interpreter's lock.

    Plain threads of this process, made for the call: nothing outlives it, so it works after a fork and without any
    threading layer. Where threads cannot be started, and within the work of another such call, whose items keep the
    processors busy, the items are taken one after another, with the same results.

    If one fails, or the wait is interrupted, those not begun are left; those at work are waited for: `stop` is set, so
    that they can end early.
    """
    items = list(items)
    threads = min(n_threads(), len(items))
    if threads > 1 and not getattr(_here, "busy", False):
        try:
            with ThreadPoolExecutor(threads, initializer=_begin, initargs=(users_line(),)) as pool:
                futures = [pool.submit(function, item) for item in items]
                try:
                    return [future.result() for future in futures]
                except BaseException:
                    if stop is not None:
                        stop.set()
                    for future in futures:
                        future.cancel()
                    raise
        except RuntimeError as error:
            if "start new thread" not in str(error):
                raise
    return [function(item) for item in items]


def _begin(line: Line) -> None:
    _here.busy = True
    work_for(line)


def sums_of_groups(n: int, start: Callable[[], Sums], visit: Callable[[Sums, int], None]) -> Sums:
    """Sums over the items 0 to n - 1, which are added to by ``visit(sums, i)``, several at a time.

    The items go in fixed groups, each with sums of its own, as `start` makes them, that are added up in order at the
    end. Neither the groups nor the order depend on the number of threads, so neither do the sums.
    """
    n_bytes = 8 * sum(part.size for part in start())
    n_groups = int(np.clip(_MAX_SUMS_BYTES // max(n_bytes, 1), 1, _MAX_GROUPS))

    def run(items: np.ndarray) -> Sums:
        sums = start()
        for i in items.tolist():
            visit(sums, i)
        return sums

    total, *others = ordered_map(run, np.array_split(np.arange(n), min(n_groups, n)))
    for other in others:
        for whole, more in zip(total, other, strict=True):
            whole += more
    return total


def counter(callback: Callable[[int, int], Any] | None, total: int) -> Callable[[int], None]:
    """A function to be called, by any thread, with how many more are done; it calls ``callback(done, total)``."""
    done, lock = 0, threading.Lock()

    def count(n: int) -> None:
        nonlocal done
        with lock:
            done += n
            if callback is not None:
                callback(done, total)

    return count


@contextmanager
def computing() -> Iterator[None]:
    """Around a long computation: BLAS keeps to one thread, and an interrupt comes out as one.

    The blocks are the parallel work, and sums then come out the same every time.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"), interruptible():
        yield


@contextmanager
def interruptible() -> Iterator[None]:
    """Around code that calls compiled functions: an interrupt comes out as KeyboardInterrupt.

    Where an interrupt meets the call of a compiled function, Numba raises SystemError from it.
    """
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while isinstance(cause, SystemError):
            cause = cause.__cause__
        if isinstance(cause, KeyboardInterrupt):
            raise cause from None
        raise
