"""A view of the tree that can be turned."""

from __future__ import annotations

from .section import Section, Study


def turning_view(section: Section, study: Study) -> None:
    """How to get it."""
    if study.tree.nodes.shape[1] > 2:
        named = "" if study.key == "ddrtree" else f", {study.key!r}"
        section.text(f"To turn it in three components: st.pl.graph_3d(adata{named}, save='tree.html').")
