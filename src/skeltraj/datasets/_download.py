"""Fetching files into a cache folder."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

INSTALL_HINT = "python -m pip install pooch tqdm"
TIMEOUT_SECONDS = 60.0
_CHUNK_BYTES = 1 << 16


class _SizeError(Exception):
    """The body that came is not as long as the server said."""


def default_cache_dir() -> Path:
    """Return the folder for downloads of this package, following the habits of the operating system."""
    return Path(_import("pooch").os_cache("skeltraj"))


def fetch(url: str, folder: Path, *, progress: bool) -> Path:
    """
    Return the local copy of a file, downloading it the first time.

    The copy appears in `folder` only when the whole body has come: its size is compared with the Content-Length of the
    answer (where the server sends one and does not re-encode the body).

    Parameters
    ----------
    url
        Address of the file; its last part is the name of the local copy.
    folder
        Folder that holds the copy; made when needed.
    progress
        Show a progress bar.

    Returns
    -------
    Path of the local copy.

    Raises
    ------
    ImportError
        When the packages of the `download` extra are missing.
    OSError
        When the file is not in `folder` and cannot be fetched.
    """
    target = folder / url.rsplit("/", maxsplit=1)[-1]
    if target.exists():
        return target
    pooch = _import("pooch")
    if progress:
        _import("tqdm")
    request_error = _import("requests").RequestException
    try:
        with _quiet(pooch.get_logger()):
            pooch.retrieve(
                url,
                known_hash=None,
                fname=target.name,
                path=folder,
                downloader=lambda *args: _download(pooch, *args, progress=progress),
            )
    except (request_error, _SizeError) as error:
        msg = (
            f"could not download {url}: {error}. "
            "If you have the file, or can fetch it in another way, give its location as `path`."
        )
        raise OSError(msg) from error
    return target


def _download(pooch: ModuleType, url: str, output_file: str, pooch_object: object, *, progress: bool) -> None:
    announced: dict[str, int] = {}

    def note_size(response: Any, **_: object) -> None:
        # called for every answer, redirects included: the last one is that of the file
        announced.clear()
        if "Content-Length" in response.headers and "Content-Encoding" not in response.headers:
            announced["bytes"] = int(response.headers["Content-Length"])

    downloader = pooch.HTTPDownloader(
        progressbar=progress,
        chunk_size=_CHUNK_BYTES,
        timeout=TIMEOUT_SECONDS,
        # an encoded body would have another size than the file that is written
        headers={"Accept-Encoding": "identity"},
        hooks={"response": note_size},
    )
    downloader(url, output_file, pooch_object)
    received = Path(output_file).stat().st_size
    if announced and received != announced["bytes"]:
        msg = f"{received} bytes came, the server announced {announced['bytes']}"
        raise _SizeError(msg)


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        msg = f"downloading needs the package {name!r}: {INSTALL_HINT}"
        raise ImportError(msg) from error


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    # at its usual level pooch advises to pass a hash, which means nothing to the caller of a loader
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
