"""What a docstring says."""

from __future__ import annotations

import re


def described(doc, title):
    """Names in a section of a docstring, "Parameters" or "Attributes", in their order."""
    section = re.search(rf"^{title}\n-+\n(.*?)(?=\n\n\S|\Z)", doc, re.DOTALL | re.MULTILINE)
    lines = section[1].splitlines() if section else []
    return [name.lstrip("*") for line in lines if line and not line.startswith(" ") for name in line.split(", ")]
