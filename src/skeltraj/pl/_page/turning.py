"""A view of the tree that can be turned: a page within the page."""

from __future__ import annotations

import tempfile
from pathlib import Path

from skeltraj._keys import Keys
from skeltraj.pl._graph_3d import graph_3d

from .section import Section, Study

_MAX_CELLS = 30_000  # in the view, about 50 bytes each; the page holds pictures of all


def turning_view(section: Section, study: Study) -> None:
    """The view, or how to get it."""
    if study.tree.nodes.shape[1] < 3 and not study.interactive:
        return
    if not study.interactive:
        named = "" if study.key == "ddrtree" else f", {study.key!r}"
        section.text(
            f"To turn it in three components: st.pl.graph_3d(adata{named}, save='tree.html'), or a page with "
            "interactive=True; both need python -m pip install 'skeltraj[html]'."
        )
        return
    along = [] if study.order is None else [Keys(study.key).pseudotime]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "view.html"
        color = [*study.groupby, *along] or None
        graph_3d(study.adata, study.key, color=color, max_cells=_MAX_CELLS, title="", save=file)
        text = file.read_text(encoding="utf-8")
    section.text("In three components, to be turned and zoomed; names of cells show under the pointer.")
    section.view(text)
