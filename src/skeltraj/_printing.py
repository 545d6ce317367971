"""How results print: a short line for each of their fields, and no raw arrays; tables as such in notebooks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

import numpy as np

WIDTH = 100  # characters of a line
_MAX_NAMED = 5  # names in a sentence; chosen by eye
_FEW = 6  # values that are listed; of more, their number and range
_ROWS = 10  # of a table in a notebook
_MOST_DECIMALS = 7
_MOST_DIGITS = 17  # of a double


class Printed:
    """A dataclass that prints as its fields, one in each line; wants ``repr=False``."""

    def __repr__(self) -> str:
        return described(self)

    def _repr_html_(self) -> str | None:
        return as_html(self)


def several(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(names: list[str]) -> str:
    """Names in a sentence, the first few of many."""
    shown = names[:_MAX_NAMED] if len(names) > _MAX_NAMED + 1 else names
    more = len(names) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def described(result: Any) -> str:
    """The name of a result's class, and a line for each field; a single line if all of them are plain values."""
    name, parts = type(result).__name__, _parts(result)
    if all(_is_plain(value) for value in parts.values()):
        line = f"{name}: " + ", ".join(f"{field} {_short_text(value)}" for field, value in parts.items())
        if len(line) <= WIDTH:
            return line
    wide = max(map(len, parts), default=0)
    lines = [f"  {field:<{wide}}  {_short_text(value)}" for field, value in parts.items()]
    return "\n".join([name, *(_cut(line) for line in lines)])


def as_html(result: Any) -> str | None:
    """The tables of a result under what else it holds, for notebooks; None if it holds no tables."""
    parts = _parts(result)
    tables = {field: value for field, value in parts.items() if _is_table(value)}
    if not tables:
        return None
    left = "style='text-align:left'"
    rest = "".join(
        f"<tr><th {left}>{escape(field)}</th><td {left}>{escape(_short_text(value))}</td></tr>"
        for field, value in parts.items()
        if field not in tables
    )
    html = [f"<div><b>{escape(type(result).__name__)}</b>", f"<table>{rest}</table>" if rest else ""]
    for field, table in tables.items():
        html.append(
            f"<p><b>{escape(field)}</b>, {_rows(table)}</p>{table.to_html(max_rows=_ROWS, max_cols=20, notebook=True)}"
        )
    return "".join([*html, "</div>"])


def _parts(result: Any) -> dict[str, Any]:
    names = [field.name for field in fields(result)] if is_dataclass(result) else list(result._fields)
    return {name: getattr(result, name) for name in names}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str | np.generic)


def _is_table(value: Any) -> bool:
    return hasattr(value, "to_html") and hasattr(value, "columns")


def _short_text(value: Any) -> str:
    """A value in at most a line."""
    if isinstance(value, np.ndarray):
        return _of_array(value)
    if isinstance(value, bool | np.bool_ | int | np.integer) or value is None:
        return f"{value}"
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, str):
        return repr(str(value))
    if _is_table(value):
        return f"table, {_rows(value)}: {', '.join(map(str, value.columns))}"
    if hasattr(value, "nnz"):
        return f"sparse {_shape(value)}, {value.nnz:,} entries"
    if hasattr(value, "to_frame"):
        return f"column, {_rows(value)}"
    if isinstance(value, Mapping):
        return _listed([f"{key}: {_short_text(item)}" for key, item in value.items()], "{}", value.values())
    if isinstance(value, Sequence) and not hasattr(value, "_fields"):
        return _listed([_short_text(item) for item in value], "[]", value)
    if isinstance(value, type) or callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    if is_dataclass(value) or hasattr(value, "_fields"):
        lines = repr(value).splitlines()
        return lines[0] if len(lines) == 1 else f"{type(value).__name__}: {', '.join(_parts(value))}"
    return repr(value).splitlines()[0]


def _of_array(values: np.ndarray) -> str:
    if values.ndim == 0:
        return _short_text(values.item())
    if values.ndim == 1 and 0 < len(values) <= _FEW:
        return _listed([_short_text(item) for item in values], "[]", values)
    summary = f"{_shape(values)} {values.dtype if values.dtype.kind not in 'OUST' else 'words'}"
    if not values.size:
        return summary
    if values.dtype.kind == "b":
        return f"{summary}, {np.count_nonzero(values):,} True"
    if values.dtype.kind in "iuf":
        known = values[np.isfinite(values)]
        lost = values.size - known.size
        span = f", {_short_text(known.min())} to {_short_text(known.max())}" if known.size else ""
        return f"{summary}{span}" + (f", {lost:,} not finite" if lost else "")
    if values.dtype.kind in "OUST" and values.ndim == 1:
        return f"{summary}: {', '.join(str(word) for word in values[:_FEW])}, ..."
    return summary


def _listed(texts: list[str], brackets: str, items: Any) -> str:
    """Items between brackets, where they are few and plain; else their number, and of what kind."""
    if all(_is_plain(item) for item in items):
        if len(texts) <= 2 * _FEW:
            return f"{brackets[0]}{', '.join(texts)}{brackets[1]}"
        return f"{len(texts):,} values: {', '.join(texts[:_FEW])}, ..."
    kinds = sorted({"array" if isinstance(item, np.ndarray) else type(item).__name__ for item in items})
    return f"{len(texts):,} of {', '.join(kinds)}"


def _rows(table: Any) -> str:
    return f"{len(table):,} {'row' if len(table) == 1 else 'rows'}"


def _shape(value: Any) -> str:
    return " x ".join(f"{size:,}" for size in value.shape)


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 4]} ..."


def ratios_as_text(*ratios: float) -> list[str]:
    """Ratios with three digits; those near 1, as of a hazard for each day of age, with two that differ from it."""
    off = max((abs(ratio - 1) for ratio in ratios if math.isfinite(ratio)), default=1.0)
    if off >= 0.1 or off == 0.0:
        return [f"{ratio:.3g}" for ratio in ratios]
    return [f"{ratio:.{min(1 - math.floor(math.log10(off)), _MOST_DECIMALS)}f}" for ratio in ratios]


def in_full(number: float) -> str:
    """A number with all its digits, as an error names it beside a limit."""
    short = f"{number:g}"
    return short if float(short) == number else repr(float(number))


def told_apart(first: float, second: float, form: str = ".3g") -> tuple[str, str]:
    """Two numbers in a sentence, with more digits than `form` has where these do not tell which is larger."""
    digits, kind = int(form[1:-1]), form[-1]
    sign = np.sign(first - second)
    for more in range(_MOST_DIGITS):
        texts = f"{first:.{digits + more}{kind}}", f"{second:.{digits + more}{kind}}"
        if np.isnan(sign) or np.sign(float(texts[0]) - float(texts[1])) == sign:
            return texts
    return in_full(first), in_full(second)
