"""Whether groups of cells have changed since they were compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from anndata import AnnData

from skeltraj._keys import Column, Keys

from .checks import category

# How the warning begins. A page tells it once, in its text, and silences it where its pictures are drawn.
BEGINNING = "The groups of adata.obs"


def regrouped(adata: AnnData, tables: Any, key: str) -> str | None:
    """What is to be said if groups have other numbers of cells than when `tl.composition` compared them.

    None: they have the same, or the columns are not there. Nor is anything said if there are more or fewer cells in all
    than there were: other messages are about that.

    Parameters
    ----------
    adata
        Annotated data with ordered cells.
    tables
        What `get.composition` returns.
    key
        Name of the fit.
    """
    keys, needed = Keys(key), [tables.groupby] if tables.sample is None else [tables.groupby, tables.sample]
    needed += [keys.branch, keys.pseudotime]
    if any((adata.obs.columns == name).sum() != 1 for name in needed):
        return None
    if adata.n_obs != tables.n_cells + sum(tables.left_out.values()):
        return None
    then = tables.pseudotime.set_index("group")[Column.N_CELLS].to_dict()
    now = _n_cells(adata, tables.groupby, needed, key)
    differing = [name for name in {**then, **now} if then.get(name, 0) != now.get(name, 0)]
    if not differing:
        return None
    name = differing[0]
    among = "" if tables.sample is None else f", with a value in {tables.sample!r},"
    return (
        f"{BEGINNING}[{tables.groupby!r}]{among} have other numbers of cells than when they were compared: group "
        f"{name!r} had {then.get(name, 0):,} and has {now.get(name, 0):,}. Run skeltraj.tl.composition(adata, "
        f"{tables.groupby!r}, key={key!r}) again."
    )


def _n_cells(adata: AnnData, groupby: str, needed: list[str], key: str) -> dict[str, int]:
    """Numbers of the cells of each group that could be compared now; none of a column that holds no groups."""
    try:
        labels = category(adata, groupby, key)
    except TypeError:
        return {}
    usable = adata.obs[needed].notna().all(axis=1).to_numpy()
    codes = labels.cat.codes.to_numpy()[usable]
    counts = np.bincount(codes[codes >= 0], minlength=len(labels.cat.categories))
    return {str(name): int(n) for name, n in zip(labels.cat.categories, counts, strict=True) if n}
