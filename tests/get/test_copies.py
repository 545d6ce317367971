"""What `get` hands out can be changed without a change of what is stored, but for what `get.stored` gives."""

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


@pytest.mark.parametrize("name", sorted(name for name in CALLS if name.startswith("get.") and name not in THEMSELVES))
@pytest.mark.filterwarnings("ignore:No cell lies on segment")
def test_nothing_stored_is_handed_out(name):
    adata = studied_cells()
    stored = [array for slot in ("obs", "obsm", "varm", "uns", "obsp") for array in arrays(dict(getattr(adata, slot)))]
    result = call(name, adata)
    for array in arrays(result):
        assert not any(array.size and np.shares_memory(array, other) for other in stored)
