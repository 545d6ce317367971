"""Arguments that may be left to the function."""

from __future__ import annotations

from typing import Any, Literal

Auto = Literal["auto"]


def is_auto(value: Any) -> bool:
    """Whether an argument is left to the function; arrays have no truth of their own, so ``==`` would not do."""
    return isinstance(value, str) and value == "auto"
