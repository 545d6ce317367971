"""Arguments of public functions that are checked as they are declared: switches, names, lists of names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from . import check

P = ParamSpec("P")
T = TypeVar("T")


def _names(value: Any, name: str) -> None:
    if value is not None:  # a list may hold None, which stands for cells in one colour
        check.texts([one for one in value if one is not None] if isinstance(value, list | tuple) else value, name)


_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "bool": check.flag,
    "bool | None": check.flag_or_none,
    "str": check.text,
    "str | None": lambda value, name: value is None or check.text(value, name),
    "Sequence[str] | None": _names,
    "str | Sequence[str] | None": _names,
    "Sequence[str] | str | None": _names,
}

_CHECKED_WITHIN = {"key_added"}  # where it is stored, with what else a key must be


def as_declared(function: Callable[P, T]) -> Callable[P, T]:
    """A function that refuses, before it begins, switches, names and lists of names that are none.

    These are the arguments whose annotation says just that; what an argument may hold is the function's own matter.
    """
    signature = inspect.signature(function)
    checks = {
        name: _CHECKS[parameter.annotation]
        for name, parameter in signature.parameters.items()
        if parameter.annotation in _CHECKS and name not in _CHECKED_WITHIN
    }
    places = list(signature.parameters)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        for name, value in (*zip(places, args, strict=False), *kwargs.items()):
            if name in checks:
                checks[name](value, name)
        return function(*args, **kwargs)

    return checked
