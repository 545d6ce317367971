"""What dask's threads keep of every row between passes: in files, where it is much."""

from __future__ import annotations

import os
import tempfile
import weakref
from typing import Any

import numpy as np

_IN_MEMORY_BYTES = 1 << 27  # up to which it stays in memory; chosen by eye, see benchmarks/out_of_core.py


def keeps_on_disk(n_bytes: int) -> bool:
    """Whether so much goes to files: if dask runs in this process. Workers of a cluster write to disk themselves."""
    import dask

    get = dask.base.get_scheduler()
    return n_bytes > _IN_MEMORY_BYTES and get in (None, dask.threaded.get, dask.local.get_sync)


class OnDisk:
    """An array in a file of dask's ``temporary-directory``; the file goes when nothing refers to it any more.

    Pickled, it is the array itself, for the copy may outlive this one, or be elsewhere.
    """

    def __init__(self, values: np.ndarray) -> None:
        import dask

        folder = dask.config.get("temporary-directory", None)
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
        handle, self._path = tempfile.mkstemp(prefix="skeltraj-", suffix=".npy", dir=folder)
        weakref.finalize(self, _remove, self._path, os.getpid())
        with os.fdopen(handle, "wb") as file:
            np.save(file, values, allow_pickle=False)

    def load(self) -> np.ndarray:
        """The array."""
        return np.load(self._path)

    def __reduce__(self) -> tuple[Any, ...]:
        return loaded, (self.load(),)


def _remove(path: str, owner: int) -> None:
    if os.getpid() == owner and os.path.exists(path):  # a forked process that ends must not remove it
        os.remove(path)


def loaded(kept: Any) -> Any:
    """An array that was kept, wherever that was."""
    return kept.load() if isinstance(kept, OnDisk) else kept


def persisted(array: Any) -> Any:
    """A dask array of dense blocks of rows, made now and kept in memory, with the workers, or in files."""
    import dask
    import dask.array as da

    if not keeps_on_disk(array.nbytes):
        return array.persist()
    keep, load = dask.delayed(OnDisk, pure=False), dask.delayed(loaded, pure=False)
    kept = dask.persist(*(keep(block) for block in array.to_delayed().ravel()))
    shapes = ((n, array.shape[1]) for n in array.chunks[0])
    return da.concatenate([da.from_delayed(load(b), shape, array.dtype) for b, shape in zip(kept, shapes, strict=True)])
