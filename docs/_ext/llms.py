"""`llms.txt` at the root of the built pages: what there is, as plain text, for programs that read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the page once the others are there."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    env = app.env
    root = env.get_doctree(env.config.root_doc)
    lines = [f"# {env.config.project}", "", f"> {_first_paragraph(root)}", ""]
    for tree in root.findall(addnodes.toctree):
        if tree.get("caption"):
            lines += ["", f"## {tree['caption']}", ""]
        for _, name in tree["entries"]:
            if name in env.all_docs:
                lines += _entry(app, name, 0)
    Path(app.outdir, "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _entry(app: Sphinx, name: str, depth: int) -> list[str]:
    """A page and those beneath it, a line each."""
    env = app.env
    title = env.titles[name].astext()
    about = _first_paragraph(env.get_doctree(name))
    lines = [f"{'  ' * depth}- [{title}]({app.builder.get_target_uri(name)})" + (f": {about}" if about else "")]
    for child in env.toctree_includes.get(name, []):
        lines += _entry(app, child, depth + 1)
    return lines


def _first_paragraph(page: nodes.document) -> str:
    """What a page says first; of a function or class the first line of its docstring."""
    for paragraph in page.findall(nodes.paragraph):
        if not isinstance(paragraph.parent, nodes.admonition | nodes.note | nodes.list_item | nodes.entry):
            return " ".join(paragraph.astext().split())
    return ""
