"""Make the inventories that intersphinx reads from the list `objects.txt`; no other machine is asked.

Run ``python docs/_inventories/make.py`` after a change of the list, or with ``--check`` to see whether they are made
from it.
"""

from __future__ import annotations

import re
import sys
import zlib
from pathlib import Path

HERE = Path(__file__).parent
_PROJECT = re.compile(r"\[(\w+) (\S+)\]")


def projects() -> dict[str, tuple[str, list[str]]]:
    """The address of each project, and the lines of its inventory, by its name."""
    found: dict[str, tuple[str, list[str]]] = {}
    lines: list[str] = []
    for line in (HERE / "objects.txt").read_text(encoding="utf-8").splitlines():
        if project := _PROJECT.fullmatch(line):
            name, address = project.groups()
            lines = []
            found[name] = (address, lines)
        elif line and not line.startswith("#"):
            name, kind, page = line.split()
            lines.append(f"{name} {kind} 1 {page} -\n")
    return found


def inventory(name: str, lines: list[str]) -> bytes:
    """An inventory of Sphinx's, version 2."""
    head = f"# Sphinx inventory version 2\n# Project: {name}\n# Version: \n"
    head += "# The remainder of this file is compressed using zlib.\n"
    return head.encode() + zlib.compress("".join(sorted(lines)).encode(), 9)


def main() -> int:
    """Write them, or tell which are not up to date."""
    made = {HERE / f"{name}.inv": inventory(name, lines) for name, (_, lines) in projects().items()}
    if "--check" in sys.argv[1:]:
        old = [
            path.name for path, data in made.items() if not path.exists() or _plain(path.read_bytes()) != _plain(data)
        ]
        print(f"not made from objects.txt: {', '.join(old)}" if old else "all are made from objects.txt")
        return bool(old)
    for path, data in made.items():
        path.write_bytes(data)
    return 0


def _plain(data: bytes) -> bytes:
    """An inventory without its compression, which differs between versions of zlib."""
    return zlib.decompress(data.split(b"\n", 4)[4])


if __name__ == "__main__":
    sys.exit(main())
