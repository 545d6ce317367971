"""A line that shows how a fit goes."""

from __future__ import annotations

import sys
import time
from types import TracebackType

_SECONDS_BETWEEN_UPDATES = 0.1  # chosen by eye


class Progress:
    """Shows round and objective on standard error; pass it as the `callback` of a fit, inside ``with``.

    Of permutations, replicates, responses and starts, the methods of those names show how many are done.

    Parameters
    ----------
    label
        What is being fitted.
    show
        Whether to show anything; None: if scanpy is loaded and its verbosity is 2 ("info") or more.
    """

    def __init__(self, label: str, show: bool | None = None) -> None:
        scanpy = sys.modules.get("scanpy")
        self._show = show if show is not None else scanpy is not None and int(scanpy.settings.verbosity) >= 2
        self._label = label
        self._began = time.perf_counter()
        self._drawn = -_SECONDS_BETWEEN_UPDATES
        self._before = float("nan")
        self._line = ""

    def __enter__(self) -> Progress:
        return self

    def __call__(self, iteration: int, objective: float) -> None:
        line = f"{self._label}: round {iteration}, objective {objective:.6g}"
        if iteration:
            change = abs(self._before - objective) / max(abs(self._before), abs(objective), sys.float_info.min)
            line += f", relative change {change:.1e}"
        self._before = objective
        self._say(line)

    def permutations(self, done: int, total: int) -> None:
        """Show that `done` of `total` permutations are done."""
        self._say(f"{self._label}: {done:,} of {total:,} permutations")

    def replicates(self, done: int, total: int) -> None:
        """Show that `done` of `total` replicates are done."""
        self._say(f"{self._label}: {done:,} of {total:,} replicates")

    def responses(self, done: int, total: int) -> None:
        """Show that `done` of `total` fits of genes or columns are done."""
        self._say(f"{self._label}: {done:,} of {total:,} fits")

    def splits(self, done: int, total: int) -> None:
        """Show that `done` of `total` splits of the counts are done."""
        self._say(f"{self._label}: {done} of {total} splits")

    def starts(self, done: int, total: int) -> None:
        """Show that the fits from `done` of `total` starts are done."""
        self._say(f"{self._label}: {done} of {total} starts")

    def step(self, what: str) -> None:
        """Show what is being done beside the rounds."""
        rounds = self._line
        self._say(f"{self._label}: {what}")
        self._line = rounds  # the line that stays at the end

    def _say(self, line: str) -> None:
        if not self._show:
            return
        now = time.perf_counter() - self._began
        self._line = f"{line}, {now:.1f} s"
        if now - self._drawn >= _SECONDS_BETWEEN_UPDATES:
            self._drawn = now
            sys.stderr.write(f"\r{self._line:<79}")
            sys.stderr.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._show and self._line:
            sys.stderr.write(f"\r{self._line:<79}\n")
            sys.stderr.flush()
