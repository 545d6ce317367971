"""What several commands read from their arguments."""

from __future__ import annotations

import argparse
from typing import Any

from anndata import AnnData

_CELL, _NODE = "cell:", "node:"
ROOT_HELP = (
    "COLUMN=VALUE, GENE=max, GENE=min, a node's number, a tip or fork (T3, F1) or a cell's name; if "
    f"ambiguous, {_NODE}12 or {_CELL}12"
)


def add_key(parser: argparse.ArgumentParser) -> None:
    """The option that names a fit."""
    parser.add_argument("--key", default="ddrtree", help="name under which the fit is stored (default: %(default)s)")


def number(text: str) -> int | float:
    """A whole number or another."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def value(text: str) -> int | float | bool | str:
    """A number, yes or no, or a word such as "auto", which the function that takes it checks."""
    known = {"yes": True, "true": True, "no": False, "false": False}
    if text.lower() in known:
        return known[text.lower()]
    try:
        return number(text)
    except argparse.ArgumentTypeError:
        return text


def root_of(text: str, adata: AnnData) -> Any:
    """A root as :func:`skeltraj.tl.order` takes it.

    Raises
    ------
    KeyError, ValueError
        If it can be read in two ways, or names no cell or node as it says.
    """
    is_cell = text in adata.obs_names
    if text.isdecimal():
        if is_cell:  # as of data whose cells have no names
            raise ValueError(
                f"--root {text} is the name of a cell and may be the number of a node; wanted {_CELL}{text} or "
                f"{_NODE}{text}."
            )
        return int(text)
    if is_cell:
        return text
    cuts = [at for at, letter in enumerate(text) if letter == "="]
    known = [at for at in cuts if text[:at] in adata.obs or text[:at] in adata.var_names]
    if len(known) > 1:
        names = " and ".join(repr(text[:at]) for at in known)
        raise ValueError(f"--root {text}: {names} are columns of obs or genes; wanted one of them by another name.")
    if known:
        return {text[: known[0]]: text[known[0] + 1 :]}
    if text.startswith(_CELL):
        name = text.removeprefix(_CELL)
        if name not in adata.obs_names:
            raise KeyError(f"--root {text}: no cell is called {name!r}.")
        return name
    if text.startswith(_NODE):
        node = text.removeprefix(_NODE)
        if not node.isdecimal():
            raise ValueError(f"--root {text}: {node!r} is not the number of a node.")
        return int(node)
    if cuts:
        return {text[: cuts[0]]: text[cuts[0] + 1 :]}
    return int(text) if text.removeprefix("-").isdecimal() else text
