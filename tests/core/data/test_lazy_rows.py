"""The same fit from dask arrays, and on a cluster that loses a worker."""

from __future__ import annotations

import os
import pickle
import signal

import numpy as np
import pytest
from scipy import sparse

from comparing import same_fit
from samples import forked
from skeltraj import core
from skeltraj.core._data.lazy_rows import LazyRows

da = pytest.importorskip("dask.array", reason="dask is not installed (pip install 'skeltraj[dask]')")


@pytest.mark.compiled("takes minutes")
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
    same_fit(a, b)
    assert isinstance(a.embedding, da.Array)
    assert isinstance(a.assignment, da.Array)
    assert isinstance(a.assignment.blocks[0].compute(), sparse.csr_matrix)
    np.testing.assert_allclose(a.mean, b.mean, atol=1e-12)


@pytest.mark.parametrize("options", [dict(n_nodes="all"), dict(preset="kdd2015"), {}], ids=["all", "kdd2015", "few"])
def test_one_node_for_each_row_of_a_dask_array(options):
    X = forked(90)[0]  # of up to 100 rows each has a node of its own
    fits = [core.ddrtree(Y, max_iter=5, tol=0, **options) for Y in (da.from_array(X, chunks=(40, -1)), X)]
    same_fit(*fits)
    assert len(fits[0].nodes) == 90


@pytest.fixture
def cluster():
    distributed = pytest.importorskip(
        "distributed", reason="distributed is not installed (pip install 'skeltraj[dask]')"
    )
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster):
            yield cluster


@pytest.mark.compiled("takes minutes")
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
    same_fit(a, core.ddrtree(X, **options))


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


@pytest.mark.parametrize("dtype", [float, int])
@pytest.mark.parametrize("learn", [core.ddrtree, core.principal_graph, core.denoise])
def test_masked_values_of_a_block_are_refused(learn, dtype):
    X = np.ma.array(forked(50)[0] * 100, dtype=dtype)
    X[37, 2] = np.ma.masked
    with pytest.raises(ValueError, match=r"X has 1 masked value\(s\); wanted all of them"):
        learn(da.from_array(X, chunks=(10, 3), asarray=False))


def test_points_that_are_masked_where_they_are_computed_are_refused():
    points = da.from_array(np.ma.masked_greater(np.arange(8.0).reshape(4, 2), 6), chunks=2, asarray=False)
    with pytest.raises(ValueError, match=r"points has 1 masked value\(s\)"):
        core.locate(core.Graph([[0.0, 0.0], [1.0, 1.0]], [[0, 1]]), points)


def test_unknown_chunks_are_refused():
    X = da.from_array(forked(50)[0], chunks=(10, 6))
    with pytest.raises(ValueError, match=r"X has unknown shape .* call its compute_chunk_sizes\(\) first"):
        core.ddrtree(X[X[:, 0] > 0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("learn", [core.ddrtree, core.principal_tree, core.denoise])
def test_blocks_without_rows_change_nothing(learn):
    X = forked(300)[0]
    empty, whole = (da.from_array(X, chunks=(rows, -1)) for rows in ((150, 0, 150), (150, 150)))
    one, other = learn(empty), learn(whole)
    of = lambda result: np.asarray(result.values if learn is core.denoise else result.embedding)
    np.testing.assert_array_equal(of(one), of(other))


@pytest.mark.parametrize("learn", [core.ddrtree, core.principal_tree])
def test_what_goes_to_the_workers_does_not_grow_with_the_rows(monkeypatch, learn):
    cloudpickle = pytest.importorskip("cloudpickle")
    sizes, of_all = [], LazyRows.map

    def watched(self, function, *columns):
        sizes.append(len(cloudpickle.dumps(function)))
        return of_all(self, function, *columns)

    monkeypatch.setattr(LazyRows, "map", watched)
    X = np.random.default_rng(0).standard_normal((100_000, 3))
    learn(da.from_array(X, chunks=(50_000, -1)), n_nodes=20, max_iter=2)
    assert max(sizes) < X.nbytes / 10


@pytest.mark.parametrize("learn", [core.ddrtree, core.principal_tree])
def test_fits_of_dask_arrays_can_be_pickled(learn):
    X = np.random.default_rng(0).normal(size=(90, 3))
    X[:, 0] += np.linspace(0, 9, 90)
    fit = learn(da.from_array(X, chunks=(30, 3)), n_nodes=10)
    again = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(again.nodes, fit.nodes)
    np.testing.assert_array_equal(np.asarray(again.embedding), np.asarray(fit.embedding))
    np.testing.assert_array_equal(again.assignment.compute().toarray(), fit.assignment.compute().toarray())
