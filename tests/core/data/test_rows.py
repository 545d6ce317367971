"""The same fit from memory and from disk."""

from __future__ import annotations

import gc

import anndata as ad
import numpy as np
import pytest
from scipy import sparse

from comparing import same_fit
from samples import forked
from skeltraj import core, tl
from skeltraj.core._data import rows as rows_module
from skeltraj.core._data.rows import Rows


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("store", ["hdf5", "hdf5 sparse", "zarr", "anndata backed"])
def test_a_matrix_on_disk_gives_the_same_fit(store, tmp_path):
    X = forked(1000, 8)[0]
    if store in ("hdf5 sparse", "anndata backed"):
        X = sparse.csr_matrix(np.where(np.abs(X) > 0.1, X, 0))
    options = dict(n_components=3, max_iter=12, tol=0)
    if store == "hdf5":
        h5py = pytest.importorskip("h5py")
        with h5py.File(tmp_path / "x.h5", "w") as file:
            same_fit(core.ddrtree(file.create_dataset("x", data=X), **options), core.ddrtree(X, **options))
    elif store == "zarr":
        zarr = pytest.importorskip("zarr")
        on_disk = zarr.open_array(str(tmp_path / "x.zarr"), mode="w", shape=X.shape, dtype=X.dtype)
        on_disk[:] = X
        same_fit(core.ddrtree(on_disk, **options), core.ddrtree(X, **options))
    else:
        ad.AnnData(X).write_h5ad(tmp_path / "x.h5ad")
        backed = ad.read_h5ad(tmp_path / "x.h5ad", backed="r")
        same_fit(core.ddrtree(backed.X, **options), core.ddrtree(X, **options))
        tl.ddrtree(backed, 3, max_iter=300)
        assert backed.obsm["X_ddrtree"].shape == (1000, 3)
        assert backed.isbacked


def test_blocks_are_kept_while_there_is_room(monkeypatch):
    X = np.random.default_rng(0).standard_normal((104, 4))  # the rows of a block are made a multiple of eight
    monkeypatch.setattr(rows_module, "_room", rows_module._MemoryBudget(8 * X.size + 1))
    first = Rows(X, center=True)
    second = Rows(X, center=True)
    assert first.block(0) is first.block(0)
    assert second.block(0) is not second.block(0)
    np.testing.assert_array_equal(first.block(0).filled(), second.block(0).filled())
    del first
    gc.collect()
    third = Rows(X, center=True)
    assert third.block(0) is third.block(0)


@pytest.mark.parametrize(("n", "sizes"), [(1999, [1999]), (2000, [1000, 1000]), (2001, [1001, 1000])])
def test_two_threads_find_blocks_of_few_rows(n, sizes):
    X = np.random.default_rng(0).standard_normal((n, 3))
    rows = Rows(X, center=True)
    assert [at.stop - at.start for at in rows.slices] == sizes
    np.testing.assert_allclose(rows.mean, X.mean(axis=0), atol=1e-12)


def test_blocks_are_not_larger_than_a_cache_holds():
    rows = Rows(np.random.default_rng(0).standard_normal((6000, 100)), center=False)
    assert [at.stop - at.start for at in rows.slices] == [2621, 2621, 758]
