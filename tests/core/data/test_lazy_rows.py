"""The same fit from dask arrays, from disk, and on a cluster that loses a worker."""

from __future__ import annotations

import os
import signal

import anndata as ad
import dask.array as da
import h5py
import numpy as np
import pytest
import zarr
from distributed import Client, LocalCluster
from scipy import sparse

from comparing import agree
from samples import forked
from skeltraj import core, tl


@pytest.mark.parametrize("kind", ["dense", "chunked columns", "float32", "sparse", "uneven"])
@pytest.mark.parametrize("center", [True, False])
def test_a_dask_array_gives_the_same_fit_and_stays_lazy(kind, center):
    X = forked(2000, 12)[0]
    if kind == "float32":
        X = X.astype(np.float32)
    if kind == "sparse":
        X = sparse.csr_matrix(np.where(np.abs(X) > 0.1, X, 0))
    chunks = {"chunked columns": (300, 5), "uneven": ((1, 1000, 999), 12)}.get(kind, (300, 12))
    lazy = da.from_array(X, chunks=chunks)
    options = dict(n_components=3, center=center, max_iter=12, tol=0)
    a, b = core.ddrtree(lazy, **options), core.ddrtree(X, **options)
    agree(a, b)
    assert isinstance(a.embedding, da.Array)
    assert isinstance(a.assignment, da.Array)
    assert isinstance(a.assignment.blocks[0].compute(), sparse.csr_matrix)
    np.testing.assert_allclose(a.mean, b.mean, atol=1e-12)


@pytest.mark.parametrize("store", ["hdf5", "hdf5 sparse", "zarr", "anndata backed"])
@pytest.mark.filterwarnings("ignore:Writing zarr v2 data")
def test_a_matrix_on_disk_gives_the_same_fit(store, tmp_path):
    X = forked(1000, 8)[0]
    if store in ("hdf5 sparse", "anndata backed"):
        X = sparse.csr_matrix(np.where(np.abs(X) > 0.1, X, 0))
    options = dict(n_components=3, max_iter=12, tol=0)
    if store == "hdf5":
        with h5py.File(tmp_path / "x.h5", "w") as file:
            agree(core.ddrtree(file.create_dataset("x", data=X), **options), core.ddrtree(X, **options))
    elif store == "zarr":
        on_disk = zarr.open_array(str(tmp_path / "x.zarr"), mode="w", shape=X.shape, dtype=X.dtype)
        on_disk[:] = X
        agree(core.ddrtree(on_disk, **options), core.ddrtree(X, **options))
    else:
        ad.AnnData(X).write_h5ad(tmp_path / "x.h5ad")
        backed = ad.read_h5ad(tmp_path / "x.h5ad", backed="r")
        agree(core.ddrtree(backed.X, **options), core.ddrtree(X, **options))
        tl.ddrtree(backed, 3, max_iter=300)
        assert backed.obsm["X_ddrtree"].shape == (1000, 3)
        assert backed.isbacked


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with Client(cluster):
            yield cluster


@pytest.mark.filterwarnings("ignore")  # what the cluster says of its lost worker
def test_a_cluster_that_loses_a_worker_gives_the_same_fit(cluster):
    X = forked(4000, 12)[0]
    killed = []

    def kill(iteration, objective):
        if iteration == 4 and not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    options = dict(n_components=3, max_iter=10, tol=0)
    a = core.ddrtree(da.from_array(X, chunks=(500, 12)), callback=kill, **options)
    assert len(killed) == 1
    agree(a, core.ddrtree(X, **options))


@pytest.mark.parametrize(
    ("X", "options", "kind", "message"),
    [
        (np.full((20, 3), np.nan), {}, ValueError, r"X holds 60 value\(s\) that are NaN or infinite, out of 20 x 3"),
        (np.full((20, 3), 2.0), {}, ValueError, r"all 3 columns \(genes\) are constant"),
        (np.ones((20, 3)), dict(n_components=4), ValueError, "n_components=4 is out of range"),
        (np.ones((20, 3)), dict(init=np.ones((20, 2))), TypeError, "a dask array starts from PCA"),
        (np.ones((20, 20)), dict(kernel="precomputed"), TypeError, "a kernel matrix must be in memory"),
        (np.ones((5000, 3)), dict(n_nodes=4500), ValueError, "n_nodes=4500 for a dask array; wanted at most 4000"),
    ],
)
def test_errors_for_dask(X, options, kind, message):
    with pytest.raises(kind, match=message):
        core.ddrtree(da.from_array(X, chunks=(7, 2)), **options)


def test_unknown_chunks_are_refused():
    X = da.from_array(forked(50)[0], chunks=(10, 6))
    with pytest.raises(ValueError, match=r"X has unknown shape .* call its compute_chunk_sizes\(\) first"):
        core.ddrtree(X[X[:, 0] > 0])
