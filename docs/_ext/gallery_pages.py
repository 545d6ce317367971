"""Pages that a script of the gallery writes, shown beneath its code."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

EXTRA = Path(__file__).parents[1] / "gallery" / "extra"  # what lies here is copied to the root of the built pages
_FRAME = """
.. raw:: html

    <iframe class="page" src="{up}pages/{name}" title="{name}" loading="lazy"></iframe>
    <p><a href="{up}pages/{name}">Open it in a window of its own</a></p>

"""


def pages(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Keep the page that the last block of a script has written (its variable `page`), and show it: a scraper."""
    page = block_vars["example_globals"].pop("page", None)
    if not isinstance(page, Path) or not page.exists():
        return ""
    (EXTRA / "pages").mkdir(parents=True, exist_ok=True)
    shutil.copy(page, EXTRA / "pages" / page.name)
    depth = (
        len(Path(block_vars["target_file"]).resolve().relative_to(Path(gallery_conf["src_dir"]).resolve()).parts) - 1
    )
    return _FRAME.format(up="../" * depth, name=page.name)


def _get_sg_image_scraper() -> Any:
    """How sphinx-gallery finds it."""
    return pages
