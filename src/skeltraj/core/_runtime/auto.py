"""The type of an argument that may be left to the function."""

from __future__ import annotations

from typing import Literal

Auto = Literal["auto"]
