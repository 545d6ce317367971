"""The command line as a whole: its commands, its messages, its exit status."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version

from . import demo, fit, ingest, order, report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status is 0, or 1 after one line that says what was wrong."""
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.filterwarnings("always", category=UserWarning, module="skeltraj")
            print(options.run(options))
        for warning in caught:
            print(f"warning: {warning.message}", file=sys.stderr)
    except KeyboardInterrupt:
        print("skeltraj: interrupted", file=sys.stderr)
        return 130
    except (ImportError, KeyError, TypeError, ValueError, OSError, RuntimeError) as error:
        # a KeyError's text is its argument in quotes
        text = error.args[0] if isinstance(error, KeyError) and error.args else error
        print(f"skeltraj: {' '.join(str(text).split())}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m skeltraj",
        description="Learn a tree through the cells of a file, order them along it, write a page about it.",
        epilog="Each command tells more: python -m skeltraj COMMAND --help.",
    )
    parser.add_argument("--version", action="version", version=f"skeltraj {version('skeltraj')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (demo, fit, order, ingest, report):
        command.add(commands)
    return parser
