"""Warnings that name the user's line."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

# What stands between a user's line and the code that warns: this package, what runs its functions for the user
# (scikit-learn, joblib, Numba), and the standard library's wrappers and threads.
_BETWEEN = frozenset(
    ("skeltraj", "numba", "sklearn", "joblib", "concurrent", "contextlib", "functools", "multiprocessing", "threading")
)
_CLI = "skeltraj._cli."  # programs that use this package as anyone does


class Line(NamedTuple):
    """A line of code, as `warnings` wants it."""

    filename: str
    lineno: int
    module: str
    registry: dict[Any, Any]  # what was warned of there: some filters show the same warning once


_before: list[Callable[[], None]] = []  # called before each warning
_thread = threading.local()  # `line`: in a thread of this package, that of the user who waits for its work


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning at the first line outside this package, through however many functions it came."""
    line = users_line()
    for do in tuple(_before):
        do()
    warnings.warn_explicit(message, category, line.filename, line.lineno, line.module, line.registry)


@contextmanager
def before_warnings(do: Callable[[], None]) -> Iterator[None]:
    """Within this, `do` is called before each warning, such as to wipe the line on which it would be written."""
    _before.append(do)
    try:
        yield
    finally:
        _before.remove(do)


def users_line() -> Line:
    """The user's line that is being run; if all code on the way is known, the outermost."""
    frame = sys._getframe(1)
    while _is_between(frame.f_globals.get("__name__", "")):
        if frame.f_back is None:
            started: Line | None = getattr(_thread, "line", None)
            if started is not None:
                return started
            break
        frame = frame.f_back
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    return Line(frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__", "<string>"), registry)


def work_for(line: Line) -> None:
    """In a new thread: its warnings, where no line of the user is found in it, are at this one."""
    _thread.line = line


def _is_between(module: str) -> bool:
    return module.partition(".")[0] in _BETWEEN and not module.startswith(_CLI)
