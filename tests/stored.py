"""Comparing what an AnnData holds before and after."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import sparse

SLOTS = ("obs", "var", "obsm", "varm", "obsp", "varp", "layers", "uns")


def snapshot(adata):
    return adata.copy()


def equal(a, b):
    """Assert that two stored entries hold the same."""
    if isinstance(a, Mapping):
        assert isinstance(b, Mapping)
        assert set(a) == set(b)
        for key in a:
            equal(a[key], b[key])
    elif isinstance(a, pd.DataFrame):
        # a written index of strings may come back with another string dtype
        pd.testing.assert_frame_equal(a, b, check_index_type=False, check_column_type=False, check_names=False)
    elif isinstance(a, pd.Series):
        pd.testing.assert_series_equal(a, b, check_index_type=False, check_categorical=False)
    elif sparse.issparse(a):
        assert sparse.issparse(b)
        assert a.shape == b.shape
        assert (a != b).nnz == 0
    else:
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def same(adata, before, but=None):
    """Assert that `adata` holds what `before` held, and besides only the keys in `but`."""
    but = but or {}
    assert adata.shape == before.shape
    equal(adata.X, before.X)
    for slot in SLOTS:
        now, then = getattr(adata, slot), getattr(before, slot)
        assert set(now.keys()) - set(then.keys()) == but.get(slot, set())
        assert set(then.keys()) - set(now.keys()) == set()
        for key in then.keys():
            equal(now[key], then[key])
