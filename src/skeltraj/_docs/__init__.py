"""Texts that the docstrings of several functions share, and how they come into these.

A line of a docstring that holds the name of a text alone, as ``<name>``, is replaced by that text.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from .data import TEXTS as DATA
from .drawing import TEXTS as DRAWING
from .examples import TEXTS as EXAMPLES
from .fitting import TEXTS as FITTING
from .simulating import TEXTS as SIMULATING
from .testing import TEXTS as TESTING

Documented = TypeVar("Documented", bound=Callable[..., object])

_TEXTS = DATA | FITTING | DRAWING | SIMULATING | TESTING | EXAMPLES
_PLACE = re.compile(r"( *)<(\w+)>(,?)")


def shared_texts(function: Documented) -> Documented:
    """Put the shared texts into the docstring of a function or class."""
    if function.__doc__ is not None:  # python -OO
        function.__doc__ = filled(function.__doc__, _TEXTS)
    return function


def texts_of(source: Callable[..., object]) -> Callable[[Documented], Documented]:
    """Put the texts of another function's parameters into a docstring, by their names, and the shared texts."""
    texts = _TEXTS | parameters(source.__doc__ or "")

    def put(function: Documented) -> Documented:
        if function.__doc__ is not None:
            function.__doc__ = filled(function.__doc__, texts)
        return function

    return put


def filled(doc: str, texts: Mapping[str, str]) -> str:
    """A docstring without its indentation (which Python from 3.13 takes off by itself), the texts in their places.

    Raises
    ------
    KeyError
        If there is no text of a name.
    """
    lines = []
    for line in inspect.cleandoc(doc).splitlines():
        if place := _PLACE.fullmatch(line):
            indent, name, comma = place.groups()
            line = indent + texts[name].replace("\n", f"\n{indent}") + comma
        lines.append(line)
    return "\n".join(lines)


def parameters(doc: str) -> dict[str, str]:
    """What a docstring in numpy style says of each parameter: its name and the text below, by name."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n\S|\Z)", inspect.cleandoc(doc), re.DOTALL | re.MULTILINE)
    if section is None:
        return {}
    return {entry.partition("\n")[0]: entry for entry in re.split(r"\n(?=\S)", section[1])}
