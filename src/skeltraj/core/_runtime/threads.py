"""Threads over independent pieces of work, with results that do not depend on how many there are."""

from __future__ import annotations

import os
import sys
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

from . import check
from .interrupts import interrupts_later
from .warn import users_line, work_for

Item = TypeVar("Item")
Result = TypeVar("Result")
Sums = list[np.ndarray]

_MAX_GROUPS = 32  # of items with sums of their own: the most threads that find work
_MAX_SUMS_BYTES = 1 << 28  # that these sums may take; chosen by eye

# `busy` in threads that do one of several items; `depth`: of computations in computations; `helpers` of a computation
_here = threading.local()


def n_threads() -> int:
    """Threads to use: the processors that this process may run on, or less if NUMBA_NUM_THREADS says so.

    Raises
    ------
    ValueError
        If that is set, to anything but a whole number from 1 up.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("NUMBA_NUM_THREADS", "").strip()
    if not wanted:
        return allowed
    if not (wanted.isdecimal() and int(wanted) > 0):
        raise ValueError(
            f"the environment variable NUMBA_NUM_THREADS is {wanted!r}; wanted a number of threads, from 1 up, or none."
        )
    return min(allowed, int(wanted))


def started(thread: threading.Thread) -> bool:
    """Start a thread; False where the system has none left (a limit on processes, or on memory)."""
    try:
        thread.start()
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        return False
    return True


class _Helper:
    """A thread that does what it is given until it is ended.

    An interrupt may meet any line of who gives it work. So nothing is held meanwhile, and who waits looks at how much
    is done, of which the messages tell only that it has changed.
    """

    def __init__(self) -> None:
        self._inbox: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._messages: SimpleQueue[None] = SimpleQueue()
        self._given = self._done = 0
        # a process ends even if interrupts left one behind
        self.thread = threading.Thread(target=self._run, name="skeltraj", daemon=True)

    def _run(self) -> None:
        _here.busy = True
        while (work := self._inbox.get()) is not None:
            try:
                work()
            finally:
                self._done += 1
                self._messages.put(None)

    def do(self, work: Callable[[], None]) -> None:
        """Begin with some work, which raises nothing."""
        self._inbox.put(work)
        self._given += 1

    def wait(self) -> None:
        """Until that is done."""
        while self._done < self._given:
            self._messages.get()

    def end(self) -> None:
        """Let it end, once it has done what it was given."""
        self._inbox.put(None)


@contextmanager
def _helpers() -> Iterator[list[_Helper]]:
    """Threads that help this one, to be added to: those of its computation, else of this call.

    To start a thread takes longer than to wake one, and a computation gives out work thousands of times.
    """
    kept: list[_Helper] | None = getattr(_here, "helpers", None)
    helpers: list[_Helper] = [] if kept is None else kept
    try:
        yield helpers
    finally:
        if kept is None:
            with interrupts_later():
                _end(helpers)
            _wait_for(helpers)


def _end(helpers: Iterable[_Helper]) -> None:
    for helper in helpers:
        helper.end()


def _wait_for(helpers: Iterable[_Helper]) -> None:
    for helper in helpers:
        helper.thread.join()


def ordered_map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    most: int | None = None,
    stop: threading.Event | None = None,
) -> list[Result]:
    """``[function(item) for item in items]``, several at a time; the work must release the interpreter's lock.

    As many at a time as there are threads to use (`n_threads`), or `most`, if that is less.

    This thread and others of this process, made for the call, or for the computation that it is part of: nothing
    outlives that, so it works after a fork and without any threading layer. Where fewer threads can be started these do
    all; where none can, and within the work of another such call, whose items keep the processors busy, the items are
    taken one after another, with the same results.

    If one fails, or the wait is interrupted, those not begun are left; those at work are waited for: `stop` is set, so
    that they can end early.
    """
    items = list(items)
    wanted = 1 if getattr(_here, "busy", False) else min(n_threads(), len(items), most or len(items))
    if wanted <= 1:
        return [function(item) for item in items]
    left = deque(range(len(items)))
    results: dict[int, Result] = {}
    errors: dict[int, BaseException] = {}
    line = users_line()

    def end() -> None:
        left.clear()
        if stop is not None:
            stop.set()

    def work() -> None:
        work_for(line)
        take()

    def take() -> None:
        while True:
            try:
                i = left.popleft()
            except IndexError:
                return
            try:
                results[i] = function(items[i])
            except BaseException as error:  # noqa: BLE001, raised by who waits
                errors[i] = error
                end()

    with _helpers() as helpers:
        if len(helpers) < wanted - 1:
            with interrupts_later():  # one that was started and is not known would wait for work for ever
                while len(helpers) < wanted - 1 and started((helper := _Helper()).thread):
                    helpers.append(helper)
        if not helpers:
            return [function(item) for item in items]
        called = helpers[: wanted - 1]
        try:
            _here.busy = True
            for helper in called:
                helper.do(work)
            take()
            for helper in called:
                helper.wait()
        except BaseException:
            end()
            for helper in called:
                helper.wait()
            raise
        finally:
            _here.busy = False
    if errors:
        try:
            raise errors[min(errors)]
        finally:
            errors.clear()  # else they hold the frames, and what is in these, until the next search for garbage
    return [results[i] for i in range(len(items))]


def sums_of_groups(
    n: int, start: Callable[[], Sums], visit: Callable[[Sums, int], None], *, most: int = _MAX_GROUPS
) -> Sums:
    """Sums over the items 0 to n - 1, which are added to by ``visit(sums, i)``, several at a time.

    The items go in fixed groups, each with sums of its own, as `start` makes them, that are added up in order at the
    end. Neither the groups nor the order depend on the number of threads, so neither do the sums. There are `most`
    groups, or less where their sums would take much memory.
    """
    if n == 1:  # small data, where all that follows would take a tenth of a round
        alone = start()
        visit(alone, 0)
        return alone
    n_bytes = 8 * sum(part.size for part in start())
    n_groups = min(max(_MAX_SUMS_BYTES // max(n_bytes, 1), 1), most)

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
    check.called(callback, "callback")
    done, lock = 0, threading.Lock()

    def count(n: int) -> None:
        nonlocal done
        with lock:
            done += n
            if callback is not None:
                callback(done, total)

    return count


class _Computing:
    """Long computations that go on in this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.number = 0
        self.limits: Any = None  # of BLAS, with what they were before the first computation
        self.libraries: Any = None  # what controls their threads, and how many modules were imported when it was made
        self.n_modules = 0


_computing = _Computing()


@contextmanager
def computing() -> Iterator[None]:
    """Around a long computation: BLAS keeps to one thread, and an interrupt comes out as one.

    The blocks are the parallel work, and sums then come out the same every time. What BLAS is allowed holds for the
    whole process, so that of several computations at once the last to end gives back what was before the first.
    """
    depth, counted = getattr(_here, "depth", 0), False
    helpers: list[_Helper] = []

    def close() -> None:
        nonlocal counted
        with interrupts_later():
            _here.depth = depth
            if not depth:
                helpers[:], _here.helpers = getattr(_here, "helpers", None) or helpers, None
                _end(helpers)
            if counted:
                with _computing.lock:
                    _computing.number -= 1
                    counted = False
                    if not _computing.number:
                        _computing.limits.restore_original_limits()
                        _release_blas()

    try:
        with interrupts_later(), _computing.lock:
            if not depth:  # a BLAS that is run by OpenMP asks each thread
                limits = _libraries().limit(limits=1, user_api="blas")
                if not _computing.number:
                    _computing.limits = limits
                _release_blas()
            _computing.number += 1
            counted = True
        _here.depth = depth + 1
        if not depth:
            _here.helpers = []
        with interruptible():
            yield
    finally:
        try:
            close()
        except BaseException:  # an interrupt may have met the call, and nothing is done
            close()
            raise
        finally:
            _wait_for(helpers)


def _release_blas() -> None:
    """Let other threads change what BLAS is allowed: threadpoolctl leaves that to the one that did so first."""
    with _libraries().limit(limits=None):
        pass


def _libraries() -> Any:
    """What controls the threads of the libraries that are loaded.

    To look for these takes milliseconds, and a computation has many blocks: so again only after an import.
    """
    from threadpoolctl import ThreadpoolController

    if _computing.libraries is None or _computing.n_modules != len(sys.modules):
        _computing.n_modules = len(sys.modules)
        _computing.libraries = ThreadpoolController()
    return _computing.libraries


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


def _begin_after_a_fork() -> None:
    """In a process made by a fork, in which only the thread that forked goes on.

    Others may have been computing. And dask would wait for the threads of its pools, for ever: it is to make new ones.
    """
    _computing.lock, _computing.number = threading.Lock(), getattr(_here, "depth", 0)
    if getattr(_here, "helpers", None) is not None:
        _here.helpers = []
    pools = sys.modules.get("dask.threaded")
    if pools is not None:
        vars(pools).update(default_pool=None, pools=defaultdict(dict), pools_lock=threading.Lock())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_after_a_fork)
