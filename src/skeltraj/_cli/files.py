"""Annotated data in files: h5ad and zarr, told apart by their suffix."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import anndata
from anndata import AnnData

SUFFIXES = (".h5ad", ".zarr")


def read(name: str) -> AnnData:
    """The annotated data of a file, or of a zarr store (a folder).

    Raises
    ------
    OSError
        If it is not there, or cannot be read.
    """
    path = Path(name)
    if path.suffix == ".zarr" or path.is_dir():
        if not path.is_dir():
            raise FileNotFoundError(f"{path} is not a folder; wanted a zarr store.")
        return _read(anndata.read_zarr, path, "zarr")
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file; wanted an h5ad file.")
    return _read(anndata.read_h5ad, path, "h5ad")


def _read(reader: Callable[[Path], AnnData], path: Path, kind: str) -> AnnData:
    try:
        return reader(path)
    except (OSError, TypeError, KeyError, ValueError, AttributeError) as error:
        raise OSError(f"{path} cannot be read as {kind}: {error}") from error


def check_out(name: str) -> Path:
    """Where annotated data are to be written, checked before any work is done.

    Raises
    ------
    ValueError
        If the suffix says neither h5ad nor zarr.
    OSError
        If there is no such folder to write into, or something of another kind stands there.
    """
    path = Path(name)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"-o {path} ends in {path.suffix!r}; wanted one of {list(SUFFIXES)}.")
    folder = path.resolve().parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"-o {path}: there is no folder {folder}.")
    if path.suffix == ".h5ad" and path.is_dir():
        raise IsADirectoryError(f"-o {path} is a folder; wanted the name of an h5ad file.")
    if path.suffix == ".zarr" and path.exists() and not (path.is_dir() and _is_zarr(path)):
        raise FileExistsError(f"-o {path} is there and is no zarr store; wanted another name.")
    return path


def write(adata: AnnData, path: Path) -> None:
    """Write annotated data beside `path` and put them in its place when they are whole; a link stays one."""
    kind, path = path.suffix, path.resolve()
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of anndata about formats to come
        new = Path(folder) / path.name
        if kind == ".h5ad":
            adata.write_h5ad(new)
            os.replace(new, path)
            return
        adata.write_zarr(new)
        old = Path(folder) / "old"
        if path.exists():
            os.replace(path, old)
        try:
            os.replace(new, path)
        except OSError:
            if old.exists():
                os.replace(old, path)
            raise
        shutil.rmtree(old, ignore_errors=True)


def _is_zarr(path: Path) -> bool:
    return any((path / name).exists() for name in (".zgroup", "zarr.json")) or not any(path.iterdir())
