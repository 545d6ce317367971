"""The command line as a whole: its commands, its messages, its exit status."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from . import demo, fit, ingest, order, report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    The exit status is 0, or 1 after one line that says what was wrong; 130 after an interrupt, 143 after SIGTERM. A
    command that cannot be read ends the process with 2.
    """
    try:
        options = _parser().parse_args(arguments)
        with _ends_in_order(), _warnings_in_lines():
            print(_printable(options.run(options)))
    except _Terminated:
        print("skeltraj: terminated", file=sys.stderr)
        return 143
    except KeyboardInterrupt:
        print("skeltraj: interrupted", file=sys.stderr)
        return 130
    except (ImportError, KeyError, TypeError, ValueError, OSError, RuntimeError) as error:
        # a KeyError's text is its argument in quotes
        text = error.args[0] if isinstance(error, KeyError) and error.args else error
        print(f"skeltraj: {' '.join(str(text).split())}", file=sys.stderr)
        return 1
    except MemoryError as error:
        print(f"skeltraj: there is not enough memory. {error}".rstrip(), file=sys.stderr)
        return 1
    return 0


def _printable(text: str) -> str:
    """What standard output can show: other letters, as of groups on a terminal with few, by their codes.

    By then the work is done, and its files are written.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


@contextmanager
def _warnings_in_lines() -> Iterator[None]:
    """What the package warns of comes after all output, and before the message of a failure."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.filterwarnings("always", category=UserWarning, module="skeltraj")
            yield
    finally:
        for warning in caught:
            print(f"warning: {warning.message}", file=sys.stderr)


class _Terminated(KeyboardInterrupt):
    pass


@contextmanager
def _ends_in_order() -> Iterator[None]:
    """SIGTERM ends the work as an interrupt does, so that files half written are removed."""

    def end(*_: Any) -> None:
        raise _Terminated

    if threading.current_thread() is not threading.main_thread():  # which alone may say what signals do
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m skeltraj",
        description="Learn a tree through the cells of a file, order them along it, write a page about it.",
        epilog="For the options of a command: python -m skeltraj COMMAND --help.",
    )
    parser.add_argument("--version", action="version", version=f"skeltraj {version('skeltraj')}")
    commands = parser.add_subparsers(metavar="COMMAND")
    for command in (demo, fit, order, ingest, report):
        command.add(commands)

    def without_command(_: argparse.Namespace) -> str:
        parser.print_help(sys.stderr)
        sys.exit(2)

    parser.set_defaults(run=without_command)
    return parser
