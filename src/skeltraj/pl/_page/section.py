"""A section of a page, and what it is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd
from anndata import AnnData

from skeltraj.core import Graph

from .pictures import picture
from .tables import N_ROWS, Table, table


@dataclass(frozen=True)
class Study:
    """What a page is about.

    Parameters
    ----------
    adata, key
        Annotated data, and the name of the fit.
    fit, tree
        The stored dictionary, and the skeleton.
    order
        What `tl.order` recorded; None if the cells have not been ordered.
    groupby
        Columns of `obs` with groups.
    genes
        Genes to draw; None: chosen by what draws them.
    basis
        A further embedding to draw on, if there is one.
    interactive
        Whether to put a view in that can be turned.
    """

    adata: AnnData
    key: str
    fit: dict[str, Any]
    tree: Graph
    order: dict[str, Any] | None
    groupby: list[str]
    genes: list[str] | None
    basis: str | None
    interactive: bool

    def call(self, function: str, *arguments: str) -> str:
        """How to call a function of `tl` for this fit."""
        named = [] if self.key == "ddrtree" else [f"key={self.key!r}"]
        return f"st.tl.{function}({', '.join(['adata', *arguments, *named])})"


@dataclass(frozen=True)
class Block:
    """A part of a section: its kind, and what the page needs to show it."""

    kind: Literal["text", "heading", "warning", "calls", "facts", "pictures", "table", "view"]
    content: Any


@dataclass
class Section:
    """A section: parts are added in the order in which they stand; `lacking` is what is not stored, with its call.

    What is stored may not fit the cells any longer (groups renamed, genes left out since). A part that cannot be made
    is then a warning on the page, and the rest of the page stands.
    """

    id: str
    title: str
    blocks: list[Block] = field(default_factory=list)
    lacking: list[tuple[str, str]] = field(default_factory=list)

    def text(self, text: str) -> None:
        """A paragraph."""
        self.blocks.append(Block("text", text))

    def heading(self, text: str) -> None:
        """A heading within the section."""
        self.blocks.append(Block("heading", text))

    def warning(self, text: str) -> None:
        """Something that a reader should not miss."""
        self.blocks.append(Block("warning", text))

    def missing(self, what: str, call: str) -> None:
        """What is not stored, and the call that makes it."""
        self.lacking.append((what, call))

    def calls(self, calls: Sequence[tuple[str, str]]) -> None:
        """What could be known, each with its call."""
        self.blocks.append(Block("calls", list(calls)))

    def facts(self, facts: Sequence[tuple[str, str]]) -> None:
        """Names with values."""
        self.blocks.append(Block("facts", list(facts)))

    def view(self, page: str) -> None:
        """A page within the page, which may run the scripts that it holds."""
        self.blocks.append(Block("view", page))

    def picture(
        self, draw: Callable[[], Any], alt: str, caption: str, *, n_marks: int = 0, beside: bool = False
    ) -> None:
        """A picture; `beside` the one before, where the page is wide enough."""
        try:
            made = picture(draw, alt, caption, n_marks)
        except (KeyError, TypeError, ValueError) as error:
            self.warning(f"{caption} This could not be drawn: {_error_text(error)}")
            return
        if beside and self.blocks and self.blocks[-1].kind == "pictures":
            self.blocks[-1].content.append(made)
        else:
            self.blocks.append(Block("pictures", [made]))

    def table(
        self,
        make: Callable[[], pd.DataFrame],
        caption: str,
        file: str,
        *,
        columns: Sequence[str] | None = None,
        n_rows: int = N_ROWS,
    ) -> None:
        """A table; see :func:`table`."""
        try:
            made: Table = table(make(), caption, file, columns=columns, n_rows=n_rows)
        except (KeyError, TypeError, ValueError) as error:
            self.warning(f"{caption} This could not be read: {_error_text(error)}")
            return
        self.blocks.append(Block("table", made))


def _error_text(error: Exception) -> str:
    return str(error.args[0] if isinstance(error, KeyError) and error.args else error)
