"""``python -m skeltraj``: the command line."""

from __future__ import annotations

import sys


def run() -> int:
    """Run the command line; an interrupt ends it with a line and status 130 also while modules are still imported."""
    try:
        from ._cli.main import main

        return main()
    except KeyboardInterrupt:
        print("skeltraj: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run())
