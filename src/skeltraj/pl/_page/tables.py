"""Tables on a page: the first rows to read and to sort, and the whole to download."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

import numpy as np
import pandas as pd

from skeltraj.get._reading.checks import holds_numbers

N_ROWS = 200  # of a table on the page; chosen by eye
MAX_DOWNLOAD = 1_500_000  # characters of a download: several tables of all genes must fit on one page
_SMALLEST = 1e-300  # smaller ones are said to be; about where double precision ends
_AS_THEY_ARE = " ,.;:!()*'/=+@$"  # in an address of data, inside quotes


@dataclass(frozen=True)
class Cell:
    """An entry: the text to read, and the number to sort by, as text; "" where it is missing."""

    text: str
    number: str | None = None


@dataclass(frozen=True)
class Table:
    """A table.

    Parameters
    ----------
    caption
        What it holds.
    columns
        Names, and whether they hold numbers.
    rows
        Of the page.
    n_rows
        How many there are in all.
    download, file
        The address of the whole as comma-separated values, and the name of its file.
    n_download
        How many rows of it are in that.
    """

    caption: str
    columns: list[tuple[str, bool]]
    rows: list[list[Cell]]
    n_rows: int
    download: str
    file: str
    n_download: int


def table(
    frame: pd.DataFrame, caption: str, file: str, *, columns: Sequence[str] | None = None, n_rows: int = N_ROWS
) -> Table:
    """A table of which the page shows some `columns` (those that are there; None: all) and the first `n_rows`.

    A named index becomes the first column.
    """
    if frame.index.name is not None:
        frame = frame.reset_index(allow_duplicates=True)
    shown = frame if columns is None else frame[[name for name in columns if name in frame]]
    head = shown.head(n_rows)
    texts = [_cells(head.iloc[:, i]) for i in range(head.shape[1])]
    download, n_download = _download(frame)
    return Table(
        caption=caption,
        columns=[(_words(name), holds_numbers(shown.iloc[:, i])) for i, name in enumerate(shown.columns)],
        rows=[list(row) for row in zip(*texts, strict=True)],
        n_rows=len(frame),
        download=download,
        file=re.sub(r"[^A-Za-z0-9]+", "_", file).strip("_") + ".csv",
        n_download=n_download,
    )


def _words(name: object) -> str:
    return str(name).replace("_", " ")


def _cells(column: pd.Series) -> list[Cell]:
    if not holds_numbers(column):
        return [Cell("" if _missing(entry) else _word(entry)) for entry in column]
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    sorts = ["" if np.isnan(value) else f"{value:.10g}" for value in values]
    if pd.api.types.is_integer_dtype(column):
        texts = ["" if np.isnan(value) else f"{int(value):,}" for value in values]
    else:
        largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
        digits = next((n for n, above in ((0, 1e4), (1, 100), (2, 1)) if largest > above), 3)
        texts = [number(value, digits) for value in values]
    return [Cell(text, sort) for text, sort in zip(texts, sorts, strict=True)]


def number(value: float, digits: int = 3) -> str:
    """A number with as many decimals, or with an exponent where these would show nothing of it."""
    if np.isnan(value):
        return ""
    if 0 < value < _SMALLEST:
        return f"<{_SMALLEST:.0e}"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value != 0 and abs(value) < 10.0**-digits:
        return f"{value:.1e}".replace("e-0", "e-")
    return f"{value:,.{digits}f}"


def _missing(entry: object) -> bool:
    return entry is None or (np.isscalar(entry) and bool(pd.isna(entry)))


def _word(entry: object) -> str:
    return {True: "yes", False: "no"}[bool(entry)] if isinstance(entry, bool | np.bool_) else str(entry)


def _download(frame: pd.DataFrame) -> tuple[str, int]:
    """The address of the table, or of as many of its first rows as have room, and their number."""
    n = len(frame)
    while True:
        text = frame.head(n).to_csv(index=False, float_format="%.6g", lineterminator="\n")
        address = "data:text/csv;charset=utf-8," + quote(text, safe=_AS_THEY_ARE)
        if len(address) <= MAX_DOWNLOAD or n <= 1:
            return address, n
        n = max(1, int(0.98 * n * MAX_DOWNLOAD / len(address)))
