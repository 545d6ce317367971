"""Run the Python of the pages and of the README, each in a process of its own.

``python docs/run_pages.py`` runs all of them, or the files that are named. A page fails if one of its blocks raises.
Blocks that are not marked ``python`` (what needs other packages or files) are left alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGES = [HERE.parent / "README.md", *sorted(HERE.glob("*.md")), *sorted(HERE.glob("coming_from/*.md"))]


def blocks(page: Path) -> list[str]:
    """The blocks of a page that are marked as Python."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def main() -> None:
    """Run pages one after the other and end with an error if one has failed."""
    failed = []
    for page in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        text = "\n".join(blocks(page))
        if not text:
            continue
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", text],
            env={**os.environ, "MPLBACKEND": "Agg"},
            capture_output=True,
            text=True,
        )
        name = page.relative_to(HERE.parent)
        print(f"{name}: {'failed' if done.returncode else 'runs'} ({time.perf_counter() - start:.0f} s)", flush=True)
        if done.returncode:
            failed.append(name)
            print(done.stderr[-2000:])
    if failed:
        sys.exit(f"failed: {', '.join(map(str, failed))}")


if __name__ == "__main__":
    main()
