"""What an AnnData holds: before and after, and read without the package."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import anndata as ad
import networkx as nx
import numpy as np
import pandas as pd
import pytest
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


def written(adata, kind, place):
    """Writes the cells to a place, and returns it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Writing zarr v2 data")
        getattr(adata, f"write_{kind}")(place)
    return place


def written_and_read(adata, kind, folder):
    """The same cells from an h5ad file in `folder` or a zarr store; skips where zarr is not installed."""
    # a store in memory holds what one in files would, in a third of the time
    place = folder / "a.h5ad" if kind == "h5ad" else pytest.importorskip("zarr.storage").MemoryStore()
    return getattr(ad, f"read_{kind}")(written(adata, kind, place))


def refused(adata, error, match, call):
    """Assert that a call raises and leaves `adata` as it was."""
    before = snapshot(adata)
    with pytest.raises(error, match=match):
        call()
    same(adata, before)


def as_networkx(adata, key="ddrtree"):
    """The stored skeleton as a networkx graph with the edges' lengths for weights."""
    stored = adata.uns[key]
    graph = nx.Graph()
    graph.add_nodes_from(range(len(stored["nodes"])))
    graph.add_weighted_edges_from(
        (*edge, length) for edge, length in zip(stored["edges"].tolist(), stored["edge_length"], strict=True)
    )
    return graph


def attached_edges(adata, key="ddrtree"):
    """Edge, nodes and parts of what `tl.attach` has joined, one tuple each."""
    columns = ["edge", "node_a", "node_b", "part_a", "part_b"]
    return [tuple(row) for row in adata.uns[key]["attached"][columns].itertuples(index=False)]
