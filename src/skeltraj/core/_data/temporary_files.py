"""What dask's threads keep of every row between passes: in files, where it is much."""

from __future__ import annotations

import errno
import os
import tempfile
import threading
import weakref
from typing import Any

import numpy as np

_IN_MEMORY_BYTES = 1 << 27  # up to which it stays in memory; chosen by eye, see benchmarks/out_of_core.py
_AT_ONCE = 1 << 30  # bytes; systems read and write no more than about twice this in one call
_HAS_PLACES = hasattr(os, "pread")  # whether a file can be read at a place without moving to it
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def keeps_on_disk(n_bytes: int) -> bool:
    """Whether so much goes to files: if dask runs in this process. Workers of a cluster write to disk themselves."""
    import dask

    get = dask.base.get_scheduler()
    return n_bytes > _IN_MEMORY_BYTES and get in (None, dask.threaded.get, dask.local.get_sync)


class TemporaryFile:
    """A file for the blocks of one array, in dask's ``temporary-directory``.

    It has no name that could stay behind: the system frees it when the last of its blocks is gone or the process ends,
    however it ends.
    """

    def __init__(self) -> None:
        import dask

        folder = dask.config.get("temporary-directory", None)
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
        self._folder = folder or tempfile.gettempdir()
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)
        weakref.finalize(self, self._file.close)
        self._size = 0
        self._lock = threading.Lock()

    def keep(self, values: np.ndarray) -> OnDisk:
        """Write an array.

        Raises
        ------
        OSError
            If there is no room for it.
        """
        values = np.ascontiguousarray(values)
        with self._lock:
            start = self._size
            self._size += values.nbytes
        try:
            self._write(_bytes_of(values), start)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise OSError(
                error.errno,
                f"{self._folder} has no room for what dask's threads keep of every row: after {start:,} bytes, "
                f"{values.nbytes:,} more could not be written. Free some, or name another folder: "
                "dask.config.set({'temporary-directory': ...})",
            ) from error
        return OnDisk(self, start, values.shape, values.dtype)

    def read(self, start: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """The array that was written there."""
        values = np.empty(shape, dtype)
        left = _bytes_of(values)
        while left:
            part = self._read(min(len(left), _AT_ONCE), start)
            if not part:
                raise OSError(f"a temporary file in {self._folder} ends at {start:,} bytes; wanted {len(left):,} more.")
            left[: len(part)] = part
            left, start = left[len(part) :], start + len(part)
        return values

    def _read(self, n: int, start: int) -> bytes:
        if _HAS_PLACES:
            return os.pread(self._file.fileno(), n, start)
        with self._lock:
            self._file.seek(start)
            return self._file.read(n) or b""

    def _write(self, left: memoryview, start: int) -> None:
        while left:
            if _HAS_PLACES:
                n = os.pwrite(self._file.fileno(), left[:_AT_ONCE], start)
            else:
                with self._lock:
                    self._file.seek(start)
                    n = self._file.write(left[:_AT_ONCE]) or 0
            left, start = left[n:], start + n


def _bytes_of(values: np.ndarray) -> memoryview:
    return values.reshape(-1).view(np.uint8).data


class OnDisk:
    """An array in a temporary file.

    Pickled, it is the array itself, for the copy may outlive this one, or be elsewhere.
    """

    def __init__(self, file: TemporaryFile, start: int, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self._file, self._start, self._shape, self._dtype = file, start, shape, dtype

    def load(self) -> np.ndarray:
        """The array."""
        return self._file.read(self._start, self._shape, self._dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return loaded, (self.load(),)


def loaded(kept: Any) -> Any:
    """An array that was kept, wherever that was."""
    return kept.load() if isinstance(kept, OnDisk) else kept


def persisted(array: Any) -> Any:
    """A dask array of dense blocks of rows, made now and kept in memory, with the workers, or in a file."""
    import dask
    import dask.array as da

    if not keeps_on_disk(array.nbytes):
        return array.persist()
    keep, load = dask.delayed(TemporaryFile().keep, pure=False), dask.delayed(loaded, pure=False)
    kept = dask.persist(*(keep(block) for block in array.to_delayed().ravel()))
    shapes = ((n, array.shape[1]) for n in array.chunks[0])
    return da.concatenate([da.from_delayed(load(b), shape, array.dtype) for b, shape in zip(kept, shapes, strict=True)])
