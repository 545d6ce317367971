"""Dispersions that a test has stored."""

from __future__ import annotations

import numpy as np
from anndata import AnnData

from skeltraj._keys import Column, Entry, Keys, TestEntry

from .responses import Genes


def stored_dispersions(adata: AnnData, keys: Keys, what: Genes, covariates: list[str]) -> np.ndarray | None:
    """Dispersions that `tl.association` estimated around the curves on the whole tree from the same counts, if any.

    None if they are those of other counts, or not there for all genes: they are NaN for genes that were not tested.
    """
    record = adata.uns[keys.uns].get(Entry.ASSOCIATION)
    if what.family != "negative_binomial" or record is None or keys.association not in adata.varm:
        return None
    same = all(record.get(name) == value for name, value in what.recorded.items())
    table = adata.varm[keys.association]
    if not same or list(record[TestEntry.COVARIATES]) != covariates or Column.DISPERSION not in table:
        return None
    known = table[Column.DISPERSION].to_numpy()[what.tested]
    return known if np.isfinite(known).all() else None
