"""Dispersions that a test has stored."""

from __future__ import annotations

import numpy as np
from anndata import AnnData

from skeltraj._keys import Column, Entry, Keys, TestEntry
from skeltraj.get._reading.tests import table_of

from .responses import Genes


def stored_dispersions(adata: AnnData, keys: Keys, what: Genes, covariates: list[str]) -> np.ndarray | None:
    """Dispersions that `tl.association` estimated around the curves on the whole tree from the same counts, if any.

    None if they are those of other counts, or not there for all genes: they are NaN for genes that were not tested.
    """
    fit = adata.uns[keys.uns]
    table = table_of(adata, fit, Entry.ASSOCIATION, keys.key) if what.family == "negative_binomial" else None
    if table is None:
        return None
    record = fit[Entry.ASSOCIATION]
    same = all(record.get(name) == value for name, value in what.recorded.items())
    if not same or list(record[TestEntry.COVARIATES]) != covariates or Column.DISPERSION not in table:
        return None
    known = table[Column.DISPERSION].to_numpy()[what.tested]
    return known if np.isfinite(known).all() else None
