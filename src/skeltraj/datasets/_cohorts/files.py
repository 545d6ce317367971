"""The files of a cohort: given by the user, or fetched once into a cache folder."""

from __future__ import annotations

import errno
import hashlib
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from skeltraj.core._runtime import check

_TIMEOUT_SECONDS = 60.0  # without an answer from the server; chosen by eye
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of a disk, of a user's share, of a file
_CHUNK_BYTES = 1 << 16  # read at once; chosen by eye
_DIGEST = ".sha256"  # what the name of a download's checksum ends with


def existing(path: str | Path) -> Path:
    """The `path` of a loader, or an error if nothing is there."""
    given = _path(path, "path")
    if not given.exists():
        raise FileNotFoundError(f"path={str(given)!r} does not exist; wanted a file or a folder.")
    return given


def cache_folder(cache_dir: str | Path | None, name: str) -> Path:
    """Folder for the downloads of a cohort, from the `cache_dir` of its loader."""
    if cache_dir is None:
        return Path(_imported("pooch").os_cache("skeltraj")) / name
    return _path(cache_dir, "cache_dir") / name


def _path(given: str | Path, name: str) -> Path:
    if not isinstance(given, str | os.PathLike):
        raise TypeError(f"{name}={check.in_message(given)} is a {type(given).__name__}; wanted a path.")
    return Path(given).expanduser()


def fetch(url: str, folder: Path, *, instead: str, progress: bool) -> Path:
    """The local copy of a file, downloaded the first time.

    The copy appears in `folder` only when the whole body has come; a body shorter than the server announced is an
    error. No hash is known of any of the files as they are served, so their content is checked when they are read. The
    SHA-256 of what came is kept beside the copy, and a copy that has changed since is refused.

    Parameters
    ----------
    url
        Address of the file; its last part is the name of the local copy.
    folder
        Folder that holds the copy; made if needed.
    instead
        What the loader takes as its `path` instead of a download, for the error.
    progress
        Show a progress bar.

    Returns
    -------
    Path of the local copy.

    Raises
    ------
    ImportError
        If the packages of the extra `download` are missing.
    OSError
        If the file is not in `folder` and cannot be fetched.
    ValueError
        If the file in `folder` is not what was downloaded.
    """
    copy = folder / url.rsplit("/", maxsplit=1)[-1]
    digest = copy.with_name(copy.name + _DIGEST)
    if copy.exists():
        _check_unchanged(copy, digest, url)
        return copy
    pooch = _imported("pooch")
    if progress:
        _imported("tqdm")
    log = pooch.get_logger()
    level = log.level
    log.setLevel("WARNING")  # else pooch advises to pass a hash, which means nothing to the caller of a loader
    try:
        downloader = pooch.HTTPDownloader(progressbar=progress, chunk_size=_CHUNK_BYTES, timeout=_TIMEOUT_SECONDS)
        digest.unlink(missing_ok=True)  # of a copy that is gone
        pooch.retrieve(url, known_hash=None, fname=copy.name, path=folder, downloader=downloader)
        digest.write_text(_sha256(copy))
    except OSError as error:  # of which the errors of requests are
        if error.errno in _FULL:
            raise OSError(error.errno, f"{folder} has no room for {url}; give another folder as cache_dir") from error
        raise OSError(f"could not download {url}: {error}. Without a connection, give path=: {instead}.") from error
    finally:
        log.setLevel(level)
    return copy


def _check_unchanged(copy: Path, digest: Path, url: str) -> None:
    """Refuse a copy whose checksum is not the one that was kept; copies that were put there by hand have none."""
    if not digest.exists():
        return
    kept, found = digest.read_text().strip(), _sha256(copy)
    if found != kept:
        raise ValueError(
            f"{copy} has SHA-256 {found}; as downloaded from {url} it had {kept}. Remove it, so that the next call "
            "downloads again, or give its location as `path` if you trust it."
        )


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


@contextmanager
def removed_if_bad(*files: Path) -> Iterator[None]:
    """Remove downloaded files from the cache if reading them raises a ValueError, and say so."""
    try:
        yield
    except ValueError as error:
        for file in files:
            file.unlink(missing_ok=True)
            file.with_name(file.name + _DIGEST).unlink(missing_ok=True)
        names = ", ".join(file.name for file in files)
        raise ValueError(
            f"{str(error).removesuffix('.')}. Removed from the cache, so that the next call downloads again: {names}. "
            "If you have a good copy, give its location as `path`."
        ) from error


def _imported(package: str) -> ModuleType:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"downloading needs the {package} package; install it with \"python -m pip install 'skeltraj[download]'\", "
            "or give what you have downloaded as path=."
        ) from error
