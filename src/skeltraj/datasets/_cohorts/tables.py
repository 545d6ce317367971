"""Reading text tables, packed or not, with messages that name the file."""

from __future__ import annotations

import gzip
import io
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO, cast

import numpy as np
import pandas as pd

# codes that may look like numbers
TEXT_COLUMNS = ("patient_id", "integrative_cluster", "PATIENT_ID", "SAMPLE_ID", "INTCLUST", "sample", "patient")
_LFS_POINTER = b"version https://git-lfs"
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_MAX_LISTED = 8  # values in a message


def read_table(path: Path, *, preferred: str | None = None) -> pd.DataFrame:
    """A table with commas, also packed with gzip or zip; see `zip_member` for `preferred`."""
    if zipfile.is_zipfile(path) or _begins_as_zip(path):
        name, content = zip_member(path, preferred)
        return parse_table(io.BytesIO(content), f"{path}: {name}")
    return parse_table(path.open("rb"), str(path))


def _begins_as_zip(path: Path) -> bool:
    """Whether a file begins as zip files do, also one that has lost its end, where their list of contents is."""
    with path.open("rb") as raw:
        return raw.read(len(_ZIP)) == _ZIP


def zip_member(path: Path, preferred: str | None = None) -> tuple[str, bytes]:
    """Name and content of the one table in a zip file, or of the one with the preferred name."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            tables = [n for n in names if n.endswith((".csv", ".csv.gz")) and not n.startswith("__MACOSX")]
            chosen = [n for n in tables if Path(n).name == preferred] or tables
            if len(chosen) != 1:
                wanted = "one .csv table" + (f", or one named {preferred!r}" if preferred else "")
                raise ValueError(f"{path} holds {listed(names)}; wanted {wanted}.")
            return chosen[0], archive.read(chosen[0])
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read as a zip file: {error}; wanted a whole one.") from error


@contextmanager
def _as_text(raw: IO[bytes], name: str) -> Iterator[TextIO]:
    """Decode a file that may be compressed with gzip, and say which file it was if that fails."""
    with raw:
        start = raw.read(len(_LFS_POINTER))
        raw.seek(0)
        if start == _LFS_POINTER:
            raise ValueError(f"{name} is a Git LFS pointer; wanted the file itself, which `git lfs pull` fetches.")
        # told by the content: servers and browsers decompress without changing the name
        packed = start.startswith(_GZIP)
        binary = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if packed else raw
        try:
            with io.TextIOWrapper(binary, encoding="utf-8-sig") as text:
                yield text
        except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError, pd.errors.ParserError) as error:
            raise ValueError(f"{name} cannot be read as a table: {error}.") from error
        except pd.errors.EmptyDataError as error:
            raise ValueError(f"{name} is empty; wanted a table.") from error


def parse_table(raw: IO[bytes], name: str, *, sep: str = ",") -> pd.DataFrame:
    """A table, read from an open file, which is closed."""
    with _as_text(raw, name) as text:
        return pd.read_csv(text, sep=sep, dtype=dict.fromkeys(TEXT_COLUMNS, str), low_memory=False)


def read_commented(raw: IO[bytes], name: str) -> pd.DataFrame:
    """A clinical table of cBioPortal, below its comment lines."""
    with _as_text(raw, name) as text:
        header = _skip_comments(text)
        # not by `comment="#"`, which would cut values that hold this character
        return _parse_rows(text, header, dict.fromkeys(header, str), name)


def read_gene_rows(raw: IO[bytes], name: str, first_column: str | None, keys: list[str] | None) -> pd.DataFrame:
    """A table genes x samples, or only its rows with one of the keys in the first column.

    The case of the keys does not matter. Of rows with equal keys the first counts.
    """
    with _as_text(raw, name) as text:
        header = _skip_comments(text)
        if first_column not in (None, header[0]) or len(header) < 2:
            wanted = "a column of genes" if first_column is None else f"the column {first_column!r}"
            raise ValueError(f"{name} has the columns {listed(header)}; wanted {wanted} first, then samples.")
        need_unique(pd.Index(header), name)
        lines = text if keys is None else _select_lines(text, {key.upper() for key in keys})
        kinds: dict[str, type] = dict.fromkeys(header[1:], float)
        kinds |= {header[0]: str, "Entrez_Gene_Id": str}
        rows = _parse_rows(lines, header, kinds, name)
    rows = rows.dropna(subset=header[0]).drop_duplicates(header[0])
    return rows.set_index(header[0]).rename_axis(index=None, columns=None)


def _parse_rows(text: TextIO, header: list[str], kinds: dict[str, type], name: str) -> pd.DataFrame:
    try:
        with warnings.catch_warnings():
            # rows longer than the header: pandas warns and drops values
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(text, sep="\t", names=header, index_col=False, dtype=kinds)
    except (ValueError, pd.errors.ParserWarning) as error:
        raise ValueError(f"{name} cannot be read as a table: {error}.") from error


def _select_lines(text: TextIO, keys: set[str]) -> TextIO:
    # one pass over lines is several times faster than parsing a thousand columns of every gene
    return io.StringIO("".join(line for line in text if line.partition("\t")[0].upper() in keys))


def _skip_comments(text: TextIO) -> list[str]:
    """The column names; the file is left at the first row."""
    for line in text:
        if not line.startswith("#"):
            return line.rstrip("\r\n").split("\t")
    raise pd.errors.EmptyDataError("no line with column names")


def need_columns(frame: pd.DataFrame, columns: Sequence[str], name: str) -> None:
    """Raise unless all columns are there."""
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise ValueError(f"{name} has no column(s) {listed(missing)}. Available: {listed(frame.columns)}.")


def need_unique(values: pd.Series | pd.Index, name: str) -> None:
    """Raise unless all values are there and differ."""
    gaps = int(np.sum(values.isna()))
    if gaps:
        raise ValueError(f"{name}: {gaps} row(s) have no {values.name!r}; wanted one in each.")
    twice = values[values.duplicated()]
    if len(twice):
        raise ValueError(f"{name}: {listed(twice.unique())} more than once; wanted names that differ.")


def listed(values: Iterable[object]) -> str:
    """The first few values for a message; a set in sorted order."""
    items = [str(value) for value in values]
    if isinstance(values, set):
        items.sort()
    more = f" and {len(items) - _MAX_LISTED} more" if len(items) > _MAX_LISTED else ""
    return f"{items[:_MAX_LISTED]}{more}"
