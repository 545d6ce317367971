"""Lines about what was done, for those who ask for them."""

from __future__ import annotations

import logging
import sys

logger = logging.getLogger("skeltraj")


def info(message: str) -> None:
    """Log a line as scanpy logs its own, from verbosity 2 on; where scanpy is not loaded, by Python's logging."""
    of_scanpy = getattr(sys.modules.get("scanpy"), "logging", None)
    if of_scanpy is not None:
        of_scanpy.info(message)
    else:
        logger.info(message)
