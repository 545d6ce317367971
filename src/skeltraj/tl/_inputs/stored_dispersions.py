"""Dispersions that a test has stored."""

from __future__ import annotations

import numpy as np
from anndata import AnnData

from skeltraj._keys import Column, Entry, Keys, TestEntry
from skeltraj.core._runtime.lazy import column_of, in_memory
from skeltraj.get._reading.tests import table_of

from .responses import Genes

_N_COMPARED = 4  # genes by whose means counts are told from others; chosen by eye


def stored_dispersions(
    adata: AnnData, keys: Keys, what: Genes, covariates: list[str], usable: np.ndarray
) -> np.ndarray | None:
    """Dispersions that `tl.association` estimated around the curves on the whole tree from the same counts, if any.

    None if they are those of other counts, or not there for all genes: they are NaN for genes that were not tested.
    Counts are the same if they have the same name, as many of the cells are `usable`, and some genes the same means.
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
    if not np.isfinite(known).all() or record[TestEntry.N_CELLS] != usable.sum():
        return None
    return known if _same_means(table[Column.MEAN].to_numpy()[what.tested], what, usable) else None


def _same_means(mean: np.ndarray, what: Genes, usable: np.ndarray) -> bool:
    """Whether some genes have these means among the cells; of a matrix on disk it is taken for granted."""
    if not in_memory(what.matrix) or what.size_factors is None:
        return True
    total = what.size_factors[usable].sum()
    for j in np.unique(np.linspace(0, len(mean) - 1, _N_COMPARED).astype(int)).tolist():
        if not np.isclose(column_of(what.matrix, j)[usable].sum(dtype=np.float64) / total, mean[j], rtol=1e-6, atol=0):
            return False
    return True
