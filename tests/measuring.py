"""How much memory a call takes."""

from __future__ import annotations

import tracemalloc


def peak_memory(call):
    """The most bytes that were held at one time while `call` ran, as Python and numpy tell; and what it returned."""
    tracemalloc.start()
    try:
        value = call()
        return tracemalloc.get_traced_memory()[1], value
    finally:
        tracemalloc.stop()
