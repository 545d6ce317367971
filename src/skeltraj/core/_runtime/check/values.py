"""Single values: numbers, switches, choices, names."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from skeltraj._printing import in_full
from skeltraj.core._runtime.auto import is_auto

LARGEST_COUNT = 1e9  # chosen by eye

Kind = TypeVar("Kind")
_LONGEST = 80  # characters of a value in a message; chosen by eye
_MOST_BITS = 256  # of a whole number that a message writes out

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = _LONGEST
_short.maxlist = _short.maxtuple = _short.maxdict = _short.maxset = 12


def in_message(value: Any) -> str:
    """A value as messages show it: short, whatever it is."""
    if isinstance(value, Integral) and int(value).bit_length() > _MOST_BITS:
        return f"{'-' if value < 0 else ''}2**{int(value).bit_length() - 1} or more"
    return _short.repr(value)


def flag(value: Any, name: str) -> bool:
    """Return True or False as a bool, or raise an error that names it."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={in_message(value)} is a {type(value).__name__}; wanted True or False.")
    return bool(value)


def flag_or_none(value: Any, name: str) -> bool | None:
    """Return True or False as a bool, or None, or raise an error that names it."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    raise TypeError(f"{name}={in_message(value)} is a {type(value).__name__}; wanted True, False or None.")


def choice(value: Any, name: str, options: Iterable[Any], *, beside: str = "") -> Any:
    """Return `value` if it is one of `options`, or raise an error that lists them, and what else there is `beside`."""
    options = list(options)
    value = bool(value) if isinstance(value, np.bool_) else value
    if not any(value is option or (isinstance(value, str) and value == option) for option in options):
        raise ValueError(f"{name}={in_message(value)} is not known. Available: {options}{beside}.")
    return value


def number(
    value: Any, name: str, *, above: float | None = None, at_least: float | None = None, at_most: float | None = None
) -> float:
    """Return `value` as a float, or raise an error that names it and the range that was wanted."""
    wanted = "a number"
    if above is not None:
        wanted += f" > {in_full(above)}"
    if at_least is not None:
        wanted += f" >= {in_full(at_least)}"
    if at_most is not None:
        wanted += f"{' and' if wanted != 'a number' else ''} <= {in_full(at_most)}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={in_message(value)} is a {type(value).__name__}; wanted {wanted}.")
    x = _float(value)
    if not np.isfinite(x) or (above is not None and x <= above) or (at_least is not None and x < at_least):
        raise ValueError(f"{name}={in_message(value)} is out of range; wanted {wanted}.")
    if at_most is not None and x > at_most:
        raise ValueError(f"{name}={in_message(value)} is out of range; wanted {wanted}.")
    return x


def share(value: Any, name: str) -> float:
    """Return `value` as a float between 0 and 1, or raise an error that names it."""
    x = number(value, name)
    if not 0 < x < 1:
        raise ValueError(f"{name}={in_full(x)} is out of range; wanted a number between 0 and 1.")
    return x


def number_or_inf(value: Any, name: str, *, above: float) -> float:
    """Return `value` as a float > `above`, or infinity."""
    return np.inf if isinstance(value, float | np.floating) and value == np.inf else number(value, name, above=above)


def number_or_auto(value: Any, name: str, *, above: float) -> float | None:
    """Return `value` as a float > `above`, or None for "auto"."""
    return None if is_auto(value) else number(value, name, above=above)


def _float(value: Real) -> float:
    """A number as a float: infinite where it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf  # type: ignore[operator]


def count(value: Any, name: str, *, at_least: int = 1, at_most: int | None = None, why: str = "") -> int:
    """Return `value` as an int, or raise an error that names it and the range that was wanted."""
    wanted = f"a whole number from {at_least}" + (f" to {at_most}" if at_most is not None else " up")
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={in_message(value)} is a {type(value).__name__}; wanted {wanted}{why}.")
    n = int(value)
    if n < at_least or n > (np.iinfo(np.int64).max if at_most is None else at_most):
        raise ValueError(f"{name}={in_message(value)} is out of range; wanted {wanted}{why}.")
    return n


def components(value: Any, shape: tuple[int, int]) -> int | float:
    """Return a number of components as an int, or a share of the variance, between 0 and 1, as a float."""
    if isinstance(value, np.floating):
        value = float(value)
    if isinstance(value, float) and 0 < value < 1:
        return value
    why = f" (data of shape {shape}), or a share between 0 and 1"
    return count(value, "n_components", at_most=min(shape), why=why)


def node(value: Any, name: str, n_nodes: int) -> int:
    """Return the number of a node as an int, or raise an error that names the range."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(
            f"{name}={in_message(value)} is a {type(value).__name__}; wanted a node, from 0 to {n_nodes - 1}."
        )
    if not 0 <= int(value) < n_nodes:
        raise ValueError(f"{name}={in_message(value)} is not a node; wanted a number from 0 to {n_nodes - 1}.")
    return int(value)


def generator(value: Any, name: str = "rng") -> np.random.Generator:
    """Return a seed, or a generator of either of numpy's kinds, as a Generator, or raise an error that names it."""
    if isinstance(value, np.random.RandomState):
        value = value.randint(0, 1 << 32, size=4, dtype=np.uint32)
    wanted = "a whole number from 0 up, or a numpy.random.Generator"
    if isinstance(value, bool | np.bool_ | str | float | np.floating):
        raise TypeError(f"{name}={in_message(value)} is a {type(value).__name__}; wanted {wanted}.")
    try:
        return np.random.default_rng(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}={in_message(value)} is no seed; wanted {wanted}.") from error


def instance(value: Any, name: str, kind: type[Kind]) -> Kind:
    """Return `value` if it is of that class, or raise an error that names it."""
    if not isinstance(value, kind):
        raise TypeError(f"{name}={in_message(value)} is a {type(value).__name__}; wanted a {kind.__name__}.")
    return value


def called(value: Callable[..., Any] | None, name: str) -> None:
    """Raise an error if what is to be called cannot be."""
    if value is not None and not callable(value):
        raise TypeError(f"{name}={in_message(value)} is a {type(value).__name__}; wanted a function or None.")


def text(value: Any, name: str) -> str:
    """Return `value` if it is text, or raise an error that names it."""
    if not isinstance(value, str):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; wanted a string.")
    return value


def texts(value: Any, name: str) -> list[str]:
    """Return one name, or several, as a list, or raise an error that names what is none."""
    if isinstance(value, str):
        return [value]
    several = isinstance(value, Iterable) and not isinstance(value, bytes | Mapping | Set)
    if not several or (isinstance(value, np.ndarray) and value.ndim != 1):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; wanted a name (str), or a list of names.")
    given = list(value)
    wrong = [one for one in given if not isinstance(one, str)]
    if wrong:
        raise TypeError(f"{name}: {wrong[0]!r} is a {type(wrong[0]).__name__}; wanted names (str).")
    return [str(one) for one in given]


def words(value: Any, name: str, n: int, of: str) -> list[str] | None:
    """Return names, one for each of n, as a list of str; None if none are given."""
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) != 1:
        raise TypeError(f"{name}={in_message(value)} is a {type(value).__name__}; wanted {n} names of {of}.")
    given = [str(word) for word in value]
    if len(given) != n:
        raise ValueError(f"{name}: {len(given)} names were given for {n} {of}.")
    return given


def is_list(value: Any) -> bool:
    """Whether `value` is a list, a tuple or an array with one dimension at least, and no text."""
    listed = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return listed or (isinstance(value, np.ndarray) and value.ndim > 0)


def path(value: Any, name: str) -> Path:
    """Return the name of a file as a path, or raise an error that names it."""
    if not isinstance(value, str | PathLike) or not str(value) or "\0" in str(value):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; wanted the name of a file.")
    return Path(value)
