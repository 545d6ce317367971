"""The page around the sections: one file of HTML that asks for nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from importlib import import_module, resources
from typing import Any

from .pictures import GROUND, INK
from .section import Section

INSTALL = "python -m pip install 'skeltraj[html]'"


class Page(str):
    """The HTML of a page; a notebook shows it in a frame."""

    def __repr__(self) -> str:
        return f"A page of {len(self.encode()) / 1e6:.1f} MB; skeltraj.pl.report(adata, path) writes it to a file."

    def _repr_html_(self) -> str:
        frame = 'style="width: 100%; height: 46rem; border: 1px solid #8884" sandbox="allow-scripts allow-downloads"'
        return f'<iframe title="report" {frame} srcdoc="{html.escape(self)}"></iframe>'


def templates() -> Any:
    """The package that fills templates.

    Raises
    ------
    ImportError
        If it is not installed; the message says how to.
    """
    try:
        return import_module("jinja2")
    except ImportError as error:
        raise ImportError(f"skeltraj.pl.report needs jinja2. Install it with: {INSTALL}") from error


def page(title: str, lead: str, sections: Sequence[Section], made: str) -> Page:
    """The whole page; everything that comes from data is escaped where it is put in.

    Parameters
    ----------
    title, lead
        Of the page, and a sentence below it.
    sections
        In their order.
    made
        When and by what.
    """
    jinja2 = templates()
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    style = environment.from_string(_file("page.css")).render(ground=GROUND, ink=INK)
    script = _file("page.js")
    return Page(
        environment.from_string(_file("page.html")).render(
            title=title,
            lead=lead,
            sections=sections,
            made=made,
            style=style,
            script=script,
            allowed=_allowed(style, script, sections),
        )
    )


def _allowed(style: str, script: str, sections: Sequence[Section]) -> dict[str, str]:
    """What a browser may use: nothing but these runs and nothing is asked for, whatever stands in the data.

    A page within the page is under the same rules. What draws it writes styles of its own, so these are then free.
    """
    views = [block.content for section in sections for block in section.blocks if block.kind == "view"]
    scripts = [script, *(inner for view in views for inner in re.findall(r"<script>(.*?)</script>", view, re.DOTALL))]
    return {
        "styles": "'unsafe-inline'" if views else f"'{_digest(style)}'",
        "scripts": " ".join(dict.fromkeys(f"'{_digest(text)}'" for text in scripts)),
    }


def _file(name: str) -> str:
    return resources.files("skeltraj.pl._page").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """As a browser knows a script or a style again."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
