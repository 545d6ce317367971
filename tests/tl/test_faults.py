"""When the machine fails in the middle of a fit, the error comes out and AnnData is as it was."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest

from samples import cells
from skeltraj import tl
from skeltraj.core._data import lazy_rows, rows, temporary_files
from skeltraj.core._ddrtree_round import sweep
from stored import refused, same, snapshot

dask = pytest.importorskip("dask", reason="dask is not installed (pip install 'skeltraj[dask]')")
da = pytest.importorskip("dask.array")

PLAIN = dict(use_rep="X", n_nodes=12, max_iter=3, denoise=False, prune=False, n_starts=1)


@pytest.fixture(params=["nothing yet", "a fit with its order"])
def lazy(request):
    """Cells whose data are a dask array; of some a tree was stored before, and an order."""
    adata = cells(120)
    if request.param != "nothing yet":
        tl.ddrtree(adata, **PLAIN | dict(max_iter=100))
        tl.order(adata, root={"stage": "stem"})
    adata.X = da.from_array(adata.X, chunks=(30, -1))
    return adata


def failing(function, error, call):
    """The function, which fails at one of its calls."""
    n = iter(range(1_000_000))

    def sometimes(*args, **kwargs):
        if next(n) == call:
            raise error
        return function(*args, **kwargs)

    return sometimes


@pytest.mark.parametrize("call", [0, 2, 9])
def test_no_memory_for_a_block(lazy, call, monkeypatch):
    no_room = MemoryError("Unable to allocate 3 GiB")
    monkeypatch.setattr(lazy_rows, "block_of", failing(lazy_rows.block_of, no_room, call))
    refused(lazy, MemoryError, "Unable to allocate 3 GiB", lambda: tl.ddrtree(lazy, **PLAIN))


@pytest.mark.parametrize("call", [0, 3])
def test_no_memory_in_a_thread(call, monkeypatch):
    adata = cells(120)
    monkeypatch.setattr("skeltraj.core._runtime.threads.n_threads", lambda: 3)
    no_room = MemoryError("Unable to allocate 3 GiB")
    monkeypatch.setattr(rows, "BLOCK_ENTRIES", 1 << 6)  # many blocks
    monkeypatch.setattr(sweep, "_sweep", failing(sweep._sweep, no_room, call))
    refused(adata, MemoryError, "Unable to allocate 3 GiB", lambda: tl.ddrtree(adata, n_nodes=12))


@pytest.mark.skipif(not hasattr(os, "pwrite"), reason="this system writes files from one place to the next")
@pytest.mark.parametrize("call", [0, 5])
def test_a_disk_that_fills(lazy, call, monkeypatch):
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(temporary_files, "_IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(os, "pwrite", failing(os.pwrite, full, call))
    refused(lazy, OSError, "has no room for what dask's threads keep", lambda: tl.ddrtree(lazy, **PLAIN))


def test_no_more_threads_for_dask(lazy):
    class NoThreads(dask.threaded.ThreadPoolExecutor):
        def submit(self, *args, **kwargs):
            raise RuntimeError("can't start new thread")

    before = snapshot(lazy)
    with dask.config.set(pool=NoThreads(1)), pytest.raises(RuntimeError, match="can't start new thread"):
        tl.ddrtree(lazy, **PLAIN)
    same(lazy, before)


@pytest.mark.parametrize("lazy", ["a fit with its order"], indirect=True)
@pytest.mark.filterwarnings("ignore")  # what the cluster says of its lost workers
def test_workers_of_a_cluster_that_die_again_and_again(lazy):
    distributed = pytest.importorskip("distributed")
    mother = os.getpid()

    def die(block):
        if os.getpid() != mother and block.size and (block[0, 0] == last):
            os._exit(1)
        return block

    last = float(lazy.X[-30, 0].compute())
    lazy.X = lazy.X.map_blocks(die, dtype=np.float64, meta=np.empty((0, 0)))
    before = snapshot(lazy)
    options = dict(n_workers=1, threads_per_worker=1, dashboard_address=None, processes=True)
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
            with pytest.raises(distributed.scheduler.KilledWorker):
                tl.ddrtree(lazy, **PLAIN)
    same(lazy, before)
