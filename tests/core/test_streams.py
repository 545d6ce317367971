"""The same fit from dask arrays, from disk, and on a cluster that loses a worker; threads."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys

import anndata as ad
import cloudpickle
import dask
import dask.array as da
import h5py
import numpy as np
import pytest
import zarr
from distributed import Client, LocalCluster
from scipy import sparse

from samples import cells, forked
from skeltraj import core, get, tl
from skeltraj.core._data import rows as _rows
from skeltraj.core._data import temporary_files as _scratch
from skeltraj.core._data.kept_assignment import Cells
from skeltraj.core._data.sweep import Sweep
from skeltraj.core._geometry.assign import assign
from skeltraj.core._runtime import threads as _threads


def agree(a, b, tolerance=1e-8):
    """Two fits of the same data."""
    computed = lambda x: x.compute() if hasattr(x, "compute") else x
    for name in ("embedding", "nodes", "loadings", "objective"):
        one, other = computed(getattr(a, name)), computed(getattr(b, name))
        assert np.abs(one - other).max() <= tolerance * np.abs(other).max(), name
    assert abs(computed(a.assignment) - computed(b.assignment)).max() <= tolerance
    np.testing.assert_array_equal(a.edges, b.edges)
    assert a.n_iter == b.n_iter


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


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
@pytest.mark.parametrize("extrapolate", [False, True])
def test_much_that_is_kept_goes_to_files_that_go_in_the_end(scheduler, extrapolate, monkeypatch, tmp_path):
    X = forked(600, 6)[0]
    lazy = da.from_array(X, chunks=(100, 6))
    options = dict(n_nodes=40, max_iter=8, tol=0, extrapolate=extrapolate)
    seen = []
    files = lambda *_: seen.append(len(list(tmp_path.iterdir())))
    with dask.config.set({"scheduler": scheduler, "temporary-directory": str(tmp_path)}):
        wanted = core.ddrtree(lazy, **options)
        smooth_wanted = core.denoise(lazy, 3).values
        assert not list(tmp_path.iterdir())
        monkeypatch.setattr(_scratch, "_MUCH", 0)
        fit = core.ddrtree(lazy, **options, callback=files)
        np.testing.assert_array_equal(fit.embedding.compute(), wanted.embedding.compute())
        assert (fit.assignment.compute() != wanted.assignment.compute()).nnz == 0
        assert 6 <= min(seen) <= max(seen) <= 18  # the six blocks of this round, and of a try
        apart = cloudpickle.dumps(fit.embedding)
        del fit
        gc.collect()
        assert not list(tmp_path.iterdir())
        np.testing.assert_array_equal(cloudpickle.loads(apart).compute(), wanted.embedding.compute())
        smooth = core.denoise(lazy, 3).values
        np.testing.assert_array_equal(smooth.compute(), smooth_wanted.compute())
        assert len(list(tmp_path.iterdir())) == 6
        del smooth
        gc.collect()
        assert not list(tmp_path.iterdir())


FORKED = """
import os, sys
import dask, numpy as np
from skeltraj.core._data.temporary_files import OnDisk
with dask.config.set({"temporary-directory": sys.argv[1]}):
    kept = OnDisk(np.arange(3.0))
child = os.fork()
if child == 0:
    sys.exit(0)
os.waitpid(child, 0)
assert kept.load().sum() == 3
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_leaves_the_files_to_its_parent(tmp_path):
    folder = tmp_path / "made when it is needed"
    subprocess.run([sys.executable, "-c", FORKED, str(folder)], check=True)
    assert not list(folder.iterdir())


def test_more_cells_than_the_start_looks_at():
    # the sample from which the nodes start is the same whether it is taken in one piece or block by block
    X = forked(25_000, 4)[0]
    options = dict(n_nodes=30, max_iter=5, tol=0)
    whole = core.ddrtree(X, **options)
    agree(core.ddrtree(da.from_array(X, chunks=(4000, 4)), **options), whole)
    shuffled = core.ddrtree(X[np.random.default_rng(0).permutation(len(X))], **options)
    np.testing.assert_array_equal(shuffled.nodes, whole.nodes)
    scaled = core.ddrtree(100 * X, **options)
    np.testing.assert_allclose(scaled.nodes, 100 * whole.nodes, rtol=1e-6, atol=1e-6)


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


def test_tl_keeps_what_was_lazy_lazy(tmp_path):
    adata = cells(400)
    lazy = adata.copy()
    lazy.obsm["X_lazy"] = da.from_array(adata.X, chunks=(100, 6))
    tl.ddrtree(lazy, 3, use_rep="X_lazy")
    tl.ddrtree(adata, 3, use_rep="X")
    assert isinstance(lazy.obsm["X_ddrtree"], da.Array)
    assert isinstance(lazy.obsm["ddrtree_assignment"], da.Array)
    np.testing.assert_allclose(lazy.obsm["X_ddrtree"].compute(), adata.obsm["X_ddrtree"], atol=1e-8)
    for each in (lazy, adata):
        tl.order(each, root={"stage": "stem"})
    np.testing.assert_allclose(lazy.obs["ddrtree_pseudotime"], adata.obs["ddrtree_pseudotime"], atol=1e-7)
    del lazy.obsm["X_lazy"]
    lazy.write_h5ad(tmp_path / "a.h5ad")
    back = ad.read_h5ad(tmp_path / "a.h5ad")
    np.testing.assert_array_equal(back.obsm["X_ddrtree"], lazy.obsm["X_ddrtree"].compute())
    assert get.graph(back).is_tree


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


@pytest.mark.parametrize("n_nodes", [40, "all"])
def test_the_number_of_threads_does_not_matter_to_the_last_bit(n_nodes, monkeypatch):
    monkeypatch.setattr(_rows, "_BLOCK", 1 << 10)  # many blocks
    X = forked(1500, 6)[0]
    fits = []
    for threads in (1, 2, 7):
        monkeypatch.setattr(_threads, "n_threads", lambda threads=threads: threads)
        fits.append(core.ddrtree(X, n_nodes=n_nodes, max_iter=5, tol=0))
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.embedding, fits[0].embedding)
        np.testing.assert_array_equal(fit.objective, fits[0].objective)


@pytest.mark.parametrize("extrapolate", [False, True])
@pytest.mark.parametrize(
    ("n_nodes", "lam", "asked"),
    [(40, 100.0, 0), (40, 1e18, 1), ("all", 1500.0, 1), (600, 1500.0, 1)],
    ids=["factorised", "not to be factorised", "conjugate gradients", "first these, then those"],
)
def test_what_is_kept_of_the_assignment_does_not_matter_to_the_last_bit(n_nodes, lam, asked, extrapolate, monkeypatch):
    monkeypatch.setattr(_rows, "_BLOCK", 1 << 10)  # many blocks, and some of them kept
    X = forked(1500, 6)[0]
    fits, without, whole = [], [], []
    keep, entries = Cells.keep, Cells.entries

    def watched(cells, i, R):
        keep(cells, i, R)
        without.append(not cells._blocks[i].kept)

    monkeypatch.setattr(Cells, "keep", watched)
    monkeypatch.setattr(Cells, "entries", lambda cells: whole.append(1) or entries(cells))
    for most in (1 << 27, 1 << 17, 0):
        monkeypatch.setattr(_rows, "_KEPT", most)
        without.clear(), whole.clear()
        fits.append(core.ddrtree(X, n_nodes=n_nodes, lam=lam, max_iter=6, tol=0, extrapolate=extrapolate))
        assert any(without) == (most < 1 << 27 and n_nodes != "all")
        assert bool(whole) == bool(asked)
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.embedding, fits[0].embedding)
        np.testing.assert_array_equal(fit.objective, fits[0].objective)
        assert (fit.assignment != fits[0].assignment).nnz == 0


def test_cells_keep_as_much_of_the_assignment_as_they_may():
    X = np.random.default_rng(0).normal(size=(200, 2))
    nodes = X[:30].copy()
    sweep = Sweep(np.eye(2), nodes, 0.1, 1.0, True)
    R = assign(X, nodes, 0.1).weights
    slices = [slice(i, i + 20) for i in range(0, 200, 20)]
    cells = Cells(slices, 30, X.copy(), False, most=int(5 * R.nnz))  # of 10 bytes for each entry, and slack
    for all_of_it in (True, False):
        cells.begin(all_of_it)
        for i, at in enumerate(slices):
            cells.keep(i, R[at])
        cells.swept(sweep)
        assert all(block.kept for block in cells._blocks) == all_of_it
    kept = [block.kept for block in cells._blocks]
    assert 2 <= sum(kept) <= 5
    assert sum(block.weights.nbytes + block.numbers.nbytes for block in cells._blocks) <= 5 * R.nnz
    for i, at in enumerate(slices):
        assert (cells.assignment(i) != R[at]).nnz == 0
    assert sum(len(weights) for _, _, weights in cells.entries()) == R.nnz
    hard = assign(X, nodes, 0.0).weights  # one entry each: once the rest is given up, there is room for all
    for _ in range(2):
        cells.begin(all_of_it=False)
        for i, at in enumerate(slices):
            cells.keep(i, hard[at])
    assert all(block.kept for block in cells._blocks)


def test_where_threads_cannot_start_it_runs_in_one(monkeypatch):
    X = forked(500)[0]
    wanted = core.ddrtree(X)

    class NoThreads(_threads.ThreadPoolExecutor):
        def submit(self, *args, **kwargs):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_threads, "n_threads", lambda: 4)
    monkeypatch.setattr(_threads, "ThreadPoolExecutor", NoThreads)
    np.testing.assert_array_equal(core.ddrtree(X).embedding, wanted.embedding)


def _fit(X, queue):
    queue.put(core.ddrtree(X).embedding)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_gives_the_same_fit():
    X = forked(500)[0]
    wanted = core.ddrtree(X).embedding
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=_fit, args=(X, queue))
    process.start()
    np.testing.assert_array_equal(queue.get(), wanted)
    process.join()
    assert process.exitcode == 0
