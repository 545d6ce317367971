"""Where a page is written to, whole or not at all."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from skeltraj.core._runtime import check

_PICTURES = {".eps", ".jpeg", ".jpg", ".pdf", ".png", ".ps", ".svg", ".tif", ".tiff", ".webp"}


def target_of(path: Any, name: str) -> Path:
    """The file that is to be written, or an error that names the argument: no name, a folder, in none, a picture."""
    target = check.path(path, name)
    if target.suffix.lower() in _PICTURES:
        raise ValueError(f"{name}={str(target)!r} is called a picture, and what is written is HTML; wanted '.html'.")
    if target.is_dir():
        raise IsADirectoryError(f"{name}={str(target)!r} is a folder; wanted the name of a file.")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"{name}={str(target)!r}: there is no folder {str(target.parent)!r}.")
    return target


def write(text: str, path: Path) -> None:
    """Write a file beside `path` and put it in its place when it is whole; a link stays one."""
    path = path.resolve()
    name = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with name.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
        name.replace(path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
