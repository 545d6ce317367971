"""A bar that shows how long work goes."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from skeltraj.core._runtime import check
from skeltraj.core._runtime.compile import is_compiling
from skeltraj.core._runtime.interrupts import interrupts_later
from skeltraj.core._runtime.threads import started
from skeltraj.core._runtime.warn import before_warnings

_SECONDS_BEFORE = 1.0  # work that is done sooner shows no bar unless asked to; chosen by eye
_SECONDS_BETWEEN_UPDATES = 0.1  # chosen by eye
_SECONDS_BETWEEN_TICKS = 0.5  # the clock goes on while nothing is counted; chosen by eye
_COMPILING = "compiling, which only the first call after an installation does"
_COUNTED = "{desc}: {percentage:3.0f}%|{bar}| {unit}"  # fields of tqdm; `unit` is the text after the bar
_NOT_COUNTED = "{desc}: {unit}"


class Progress:
    """Shows on standard error what is being done and how much of it is done; use it inside ``with``.

    It is called as the `callback` of a fit, with round and objective. Of permutations, replicates, fits and so on, the
    methods of those names show how many are done. When all went well the last line stays, else it is wiped. It is text,
    in notebooks too, so that they can be saved with it and need no widgets.

    Parameters
    ----------
    label
        What is being done.
    show
        Whether to show anything. True: from the beginning. None: after a second, see `is_watched`.

    Raises
    ------
    TypeError
        If `show` is neither True, False nor None.
    """

    def __init__(self, label: str, show: bool | None = None) -> None:
        show = check.flag_or_none(show, "progress")
        self._show = is_watched() if show is None else show
        self._after = _SECONDS_BEFORE if show is None else 0.0
        self._label, self._stage = label, label
        self._done, self._total, self._of = 0, 0, ""  # of what is counted: how many of how many of what
        self._text = ""  # of what is not
        self._last: tuple[str, int, int, str] | None = None  # of these, what stays at the end
        self._objective = float("nan")
        self._bar: Any = None
        self._began = self._stage_began = time.perf_counter()
        self._drawn = float("-inf")
        self._lock, self._over = threading.RLock(), threading.Event()
        self._cleanup = ExitStack()

    def __enter__(self) -> Progress:
        if self._show:
            try:
                with interrupts_later():
                    self._start()
            except BaseException:
                self._cleanup.close()
                raise
        return self

    def _start(self) -> None:
        ticks = threading.Thread(target=self._redraw_regularly, name=f"{self._label}, clock", daemon=True)
        if started(ticks):  # else the line is drawn when something is counted
            self._cleanup.callback(ticks.join, 1.0)
        self._cleanup.callback(self._over.set)
        self._cleanup.enter_context(before_warnings(self._clear))

    def __call__(self, iteration: int, objective: float) -> None:
        change = abs(self._objective - objective) / max(abs(self._objective), abs(objective), sys.float_info.min)
        self._objective = objective
        text = f"round {iteration}, objective {objective:.6g}"
        with self._lock:
            self._show_text(text + (f", relative change {change:.1e}" if iteration else ""))
            self._remember_count()

    def stage(self, name: str) -> None:
        """What is done now is a part of the work; it has counts of its own."""
        with self._lock:
            self._stage = f"{self._label} {name}"

    def step(self, name: str) -> None:
        """Show what is being done, of which nothing is counted."""
        self._show_text(name)

    def permutations(self, done: int, total: int) -> None:
        """Show that `done` of `total` permutations are done."""
        self._count(done, total, "permutations")

    def replicates(self, done: int, total: int) -> None:
        """Show that `done` of `total` replicates are done."""
        self._count(done, total, "replicates")

    def responses(self, done: int, total: int) -> None:
        """Show that `done` of `total` fits of genes or columns are done."""
        self._count(done, total, "fits")

    def splits(self, done: int, total: int) -> None:
        """Show that `done` of `total` splits of the counts are done."""
        self._count(done, total, "splits")

    def trees(self, done: int, total: int) -> None:
        """Show that `done` of `total` trees, from several starts and of parts of the cells, are learned."""
        self._count(done, total, "trees")

    def sections(self, done: int, total: int) -> None:
        """Show that `done` of `total` sections of a page are done."""
        self._count(done, total, "sections")

    def cells(self, done: int, total: int) -> None:
        """Show that `done` of `total` cells are done, those of the reference included."""
        self._count(done, total, "cells")

    def _show_text(self, text: str) -> None:
        with self._lock:
            self._text, self._total = text, 0
            self._draw()

    def _count(self, done: int, total: int, of: str) -> None:
        with self._lock:
            if done <= self._done or (total, of) != (self._total, self._of):
                self._stage_began = time.perf_counter()
            self._done, self._total, self._of = done, total, of
            self._remember_count()
            self._draw()

    def _remember_count(self) -> None:
        self._last = self._text, self._done, self._total, self._of

    def _draw(self) -> None:
        """Draw the line as it is now, unless it is too soon."""
        now = time.perf_counter()
        if self._show and now - self._began >= self._after and now - self._drawn >= _SECONDS_BETWEEN_UPDATES:
            self._drawn = now
            with interrupts_later():  # tqdm has a lock for all bars of a process, which an interrupt would leave locked
                self._refresh()

    def _refresh(self) -> None:
        from tqdm import tqdm

        line: dict[str, Any] = dict(desc=self._stage, total=self._total or None, unit=self._status_text())
        line |= dict(bar_format=_COUNTED if self._total else _NOT_COUNTED)
        if self._bar is None:
            self._bar = tqdm(initial=self._done, **line, dynamic_ncols=True, leave=False)
            return
        for name, value in dict(n=self._done, **line).items():
            setattr(self._bar, name, value)
        with self._bar.get_lock():
            self._bar.refresh(nolock=True)

    def _status_text(self) -> str:
        """The text after the bar, or in its place."""
        now = time.perf_counter()
        seconds = f"{now - self._began:.0f} s"
        if is_compiling():
            seconds += f", {_COMPILING}"
        if not self._total:
            return f"{self._text}, {seconds}" if self._text else seconds
        text = f"{self._done:,} of {self._total:,} {self._of}, {seconds}"
        if 0 < self._done < self._total and not is_compiling():
            text += f", {(now - self._stage_began) * (self._total / self._done - 1):.0f} s left"
        return text

    def _redraw_regularly(self) -> None:
        while not self._over.wait(_SECONDS_BETWEEN_TICKS):
            with self._lock:
                if not self._over.is_set():
                    self._draw()

    def _clear(self) -> None:
        """Wipe the line; the next update draws it again."""
        with interrupts_later(), self._lock:
            if self._bar is not None:
                with self._bar.get_lock():
                    self._bar.clear(nolock=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with interrupts_later():
            self._cleanup.close()
            if self._bar is not None:
                if kind is None:
                    self._text, self._done, self._total, self._of = self._last or (self._text, 0, 0, "")
                    self._refresh()
                self._bar.leave = kind is None
                self._bar.close()


def is_watched() -> bool:
    """Whether someone watches: standard error is a terminal, or this is the kernel of a notebook.

    Nobody does in a run of continuous integration (the environment variable CI is set); and nobody wants to if scanpy
    is loaded and its verbosity is 0.
    """
    settings = getattr(sys.modules.get("scanpy"), "settings", None)
    if settings is not None and int(settings.verbosity) == 0:
        return False
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        return False
    is_terminal = getattr(sys.stderr, "isatty", lambda: False)()
    return bool(is_terminal) or _in_kernel()


def _in_kernel() -> bool:
    """Whether this is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return "IPKernelApp" in getattr(shell, "config", ())
