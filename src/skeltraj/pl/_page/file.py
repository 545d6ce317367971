"""Where a page is written to, whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from skeltraj.core._runtime import check


def target_of(path: Any, name: str) -> Path:
    """The file that is to be written, or an error that names the argument: no name, a folder, or in none."""
    target = check.path(path, name)
    if target.is_dir():
        raise IsADirectoryError(f"{name}={str(target)!r} is a folder; wanted the name of a file.")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"{name}={str(target)!r}: there is no folder {str(target.parent)!r}.")
    return target


def write(text: str, path: Path) -> None:
    """Write a file beside `path` and put it in its place when it is whole."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
        os.chmod(name, 0o666 & ~_umask())  # as of any new file; that of a temporary one is the user's alone
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
