"""Where a matrix is."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest
from scipy import sparse

from skeltraj.core._runtime.lazy import in_memory, is_lazy, loaded


def test_dask_arrays_of_views_are_lazy_too():
    da = pytest.importorskip("dask.array")
    values = np.arange(12.0).reshape(4, 3)
    adata = ad.AnnData(np.zeros((4, 1)), obsm={"values": da.from_array(values, chunks=(2, 3))})
    for view in (adata.obsm["values"], adata[[0, 2]].obsm["values"]):
        assert is_lazy(view)
        assert not in_memory(view)
    np.testing.assert_array_equal(loaded(adata[[0, 2]].obsm["values"]), values[[0, 2]])
    rows = da.from_array(values, chunks=(2, 3)).map_blocks(sparse.csr_matrix)
    assert sparse.issparse(loaded(rows))
    for held in (values, sparse.csr_matrix(values)):
        assert in_memory(held)
        assert not is_lazy(held)
        assert loaded(held) is held
