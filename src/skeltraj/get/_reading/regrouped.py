"""Groups of cells that are others than when they were compared."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._keys import Keys

from .lost_cells import n_then_and_now


def regrouped(adata: AnnData, groupby: str, sample: str | None, n_cells: Mapping[str, int], key: str) -> str | None:
    """What is to be said if the groups of a column have other numbers of cells than when they were compared.

    None: they have the same; the column is not there; cells were taken out since, which explains it; or the tables
    name groups that are none any more, which shows.

    Parameters
    ----------
    adata
        Annotated data with ordered cells.
    groupby, sample
        The columns of `obs` with the groups and, if there were any, the samples.
    n_cells
        Of each group that was compared.
    key
        Name of the fit.
    """
    keys, columns = Keys(key), [groupby] if sample is None else [groupby, sample]
    if any(column not in adata.obs for column in (*columns, keys.branch, keys.pseudotime)):
        return None
    there = adata.obs[[*dict.fromkeys(columns), keys.branch]]
    if there.columns.has_duplicates:
        return None
    then, now = n_then_and_now(adata, adata.uns[key], key)
    if then != now:
        return None
    usable = there.notna().all(axis=1).to_numpy() & np.isfinite(adata.obs[keys.pseudotime].to_numpy(dtype=np.float64))
    labels = pd.Series(there.loc[usable, groupby].astype(str).to_numpy(), dtype=str)
    counted = labels.value_counts().to_dict()
    differing = [name for name in {**n_cells, **counted} if counted.get(name, 0) != n_cells.get(name, 0)]
    if not differing or not set(n_cells) <= set(counted):
        return None
    name = differing[0]
    return (
        f"adata.obs[{groupby!r}] is another than when its groups were compared: group {name!r} had "
        f"{n_cells.get(name, 0):,} cells and has {counted[name]:,}. Run skeltraj.tl.composition(adata, {groupby!r}, "
        f"key={key!r}) again."
    )
