"""Where the files of a data set are: given by the user, or in the cache of downloads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ._download import default_cache_dir


def existing(path: str | Path) -> Path:
    """Return the `path` of a loader, or raise when nothing is there."""
    place = Path(path).expanduser()
    if not place.exists():
        msg = f"`path` does not exist: {place}"
        raise FileNotFoundError(msg)
    return place


def cache_folder(cache_dir: str | Path | None, name: str) -> Path:
    """Return the folder for the downloads of a data set, from the `cache_dir` of its loader."""
    return (default_cache_dir() if cache_dir is None else Path(cache_dir).expanduser()) / name


@contextmanager
def removed_if_bad(*files: Path) -> Iterator[None]:
    """Remove downloaded files from the cache when reading them raises a ValueError, and say so."""
    try:
        yield
    except ValueError as error:
        for file in files:
            file.unlink(missing_ok=True)
        names = ", ".join(file.name for file in files)
        msg = (
            f"{error}. Removed from the cache, so that the next call downloads again: {names}. "
            "If you have a good copy, give its location as `path`."
        )
        raise ValueError(msg) from error
