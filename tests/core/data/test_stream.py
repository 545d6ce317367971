"""Rows read block by block."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from skeltraj.core._data.stream import Stream, column_means


def test_chunks_of_a_dask_array_come_one_after_another():
    array = pytest.importorskip("dask.array")
    X = np.arange(60.0).reshape(20, 3)
    parts = list(Stream(array.from_array(X, chunks=((7, 0, 8, 5), -1))).blocks(4))
    assert [(at.start, at.stop) for at, _ in parts] == [(0, 4), (4, 7), (7, 11), (11, 15), (15, 19), (19, 20)]
    np.testing.assert_array_equal(np.vstack([block for _, block in parts]), X)


def test_nothing_is_read_as_a_whole():
    class Counted:
        """A matrix that can only be sliced, and notes how much at a time."""

        def __init__(self, X):
            self.X, self.shape, self.dtype, self.most = X, X.shape, X.dtype, 0

        def __getitem__(self, at):
            part = self.X[at]
            self.most = max(self.most, len(part))
            return part

    X = Counted(np.arange(60.0).reshape(20, 3))
    stream = Stream(X, np.array([2, 0]))
    blocks = [(at, block) for at, block in stream.blocks(6)]
    assert X.most == 6
    assert [at.stop for at, _ in blocks] == [6, 12, 18, 20]
    np.testing.assert_array_equal(np.vstack([block for _, block in blocks]), X.X[:, [2, 0]])
    np.testing.assert_allclose(column_means(stream), X.X[:, [2, 0]].mean(axis=0))
    X.X[13, 2] = np.nan
    with pytest.raises(ValueError, match=r"X, rows 12 to 17, holds 1 value\(s\) that are NaN"):
        list(stream.blocks(6))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
def test_means_of_single_precision_are_double(form):
    X = np.log1p(np.random.default_rng(0).poisson(1.0, (4000, 3))).astype(np.float32)
    np.testing.assert_allclose(column_means(Stream(form(X))), X.mean(axis=0, dtype=np.float64), rtol=1e-13)
