"""A view of the tree that can be turned."""

from __future__ import annotations

from .section import Section, Study


def turning_view(section: Section, study: Study) -> None:
    """The view, or how to get it."""
