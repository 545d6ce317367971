"""Beneath each function, which matrices it takes: its rows of the tables in `api/inputs.md`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_PAGE = Path(__file__).parents[1] / "api" / "inputs.md"
_HEAD = re.compile(r"^\| function \| \w+ \| (.*) \|$")
_ROW = re.compile(r"^\| \{(?:func|class)\}`[^<`]*<([\w.]+)>` \| (.*?) \| (.*) \|$")


def setup(app: Sphinx) -> dict[str, Any]:
    """Read the tables, and add to docstrings."""
    rows = _rows()
    app.connect(
        "autodoc-process-docstring",
        lambda app, what, name, documented, options, lines: _add(rows.get(name, []), lines),
        priority=600,  # after napoleon, which comes at 500
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _rows() -> dict[str, list[str]]:
    """What each function takes, in words, argument by argument."""
    found: dict[str, list[str]] = {}
    kinds: list[str] = []
    for line in _PAGE.read_text(encoding="utf-8").splitlines():
        if head := _HEAD.match(line):
            kinds = head[1].split(" | ")
        elif row := _ROW.match(line):
            how: dict[str, list[str]] = {}
            for kind, answer in zip(kinds, row[3].split(" | "), strict=True):
                how.setdefault(answer, []).append(kind)
            said = "; ".join(f"{', '.join(kinds)}: {answer}" for answer, kinds in how.items())
            argument = re.sub(r"``?([^`]+)``?", r"``\1``", row[2])
            found.setdefault(row[1], []).append(f"* {argument}: {said}")
    if not found:
        raise ValueError(f"{_PAGE} has no rows of functions; wanted its tables.")
    return found


def _add(rows: list[str], lines: list[str]) -> None:
    if rows:
        lines += ["", ".. rubric:: Matrices", "", *rows, "", ":doc:`What these words mean </api/inputs>`", ""]
