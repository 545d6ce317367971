"""``python -m skeltraj``: the whole path from the command line."""

from __future__ import annotations

import sys

from ._demo import main

if __name__ == "__main__":
    sys.exit(main())
