"""What several commands read from their arguments."""

from __future__ import annotations

import argparse
from typing import Any

from anndata import AnnData

ROOT_HELP = "COLUMN=VALUE, GENE=max, GENE=min, a node's number, a tip or fork (T3, F1) or a cell's name"


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
    """A root as :func:`skeltraj.tl.order` takes it."""
    name, sign, chosen = text.partition("=")
    if text in adata.obs_names:
        return text
    if sign:
        return {name: chosen}
    return int(text) if text.removeprefix("-").isdecimal() else text
