"""Cells that were taken out since they were ordered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from anndata import AnnData
from scipy import sparse

from skeltraj._keys import Column, Entry, Keys, OrderEntry
from skeltraj.core._runtime.warn import warn

from .checks import columns_in_memory

_LEAST_HELD = 0.01  # cells, by their assignment, from which on a node has its own; chosen by eye


def n_then_and_now(adata: AnnData, fit: Mapping[str, Any], key: str) -> tuple[int, int]:
    """Numbers of cells with a branch, when they were ordered and now; the same if the first is not known."""
    branches, column = fit.get(Entry.ORDER, {}).get(OrderEntry.BRANCHES), Keys(key).branch
    if branches is None or column not in adata.obs:
        return adata.n_obs, adata.n_obs
    return int(branches[Column.N_CELLS].sum()), int(columns_in_memory(adata.obs, [column])[column].notna().sum())


def warn_of_lost_places(
    adata: AnnData, fit: Mapping[str, Any], assignment: sparse.csr_matrix, name: str, key: str
) -> None:
    """Warn if cells were taken out by which nodes stood where they did in an embedding."""
    before, now = n_then_and_now(adata, fit, key)
    if before <= now:
        return
    lost = int((np.asarray(assignment.sum(axis=0)).ravel() < _LEAST_HELD).sum())
    if lost:
        warn(
            f"{lost} of {assignment.shape[1]} nodes have no cell near them among the {now} that are left of the "
            f"{before} that were ordered: in {name!r} they are drawn at other cells than they would be with all. "
            f"{Keys(key).coordinates!r} shows them where they are."
        )
