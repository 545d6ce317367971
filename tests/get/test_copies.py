"""What `get` hands out, and copies that `tl` makes, can be changed without a change of what is stored elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from annotated import CALLS, call, studied_cells

THEMSELVES = {"get.stored", "get.ordered"}


def arrays(value, seen=None):
    """Every array within a result."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield value
    elif sparse.issparse(value):
        yield from (value.data, value.indices, value.indptr)
    elif isinstance(value, pd.DataFrame | pd.Series):
        table = value.to_frame() if isinstance(value, pd.Series) else value
        for _, column in table.items():
            yield column.cat.codes.to_numpy() if isinstance(column.dtype, pd.CategoricalDtype) else column.to_numpy()
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from arrays(one, seen)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from arrays(one, seen)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from arrays(getattr(value, field.name), seen)


def stored(adata) -> list[np.ndarray]:
    """Every array within an AnnData but X."""
    return [array for slot in ("obs", "obsm", "varm", "uns", "obsp") for array in arrays(dict(getattr(adata, slot)))]


def share(some: list[np.ndarray], others: list[np.ndarray]) -> bool:
    return any(array.size and np.shares_memory(array, other) for array in some for other in others)


@pytest.mark.parametrize("name", sorted(name for name in CALLS if name.startswith("get.") and name not in THEMSELVES))
@pytest.mark.filterwarnings("ignore:No cell lies on segment")
def test_nothing_stored_is_handed_out(name):
    adata = studied_cells()
    there = stored(adata)
    assert not share(list(arrays(call(name, adata))), there)


@pytest.mark.parametrize("name", sorted(name for name in CALLS if name.startswith("tl.")))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_copy_and_a_view_share_nothing_with_the_data_they_are_of(name):
    adata = studied_cells()
    made = call(name, adata) if name == "tl.select_path" else call(name, adata, copy=True)
    assert not share(stored(made), stored(adata))
    if name != "tl.select_path":
        view = adata[:]
        call(name, view)
        assert not share(stored(view), stored(adata))
