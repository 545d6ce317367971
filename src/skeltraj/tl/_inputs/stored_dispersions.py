"""Dispersions that a test has stored."""

from __future__ import annotations

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._keys import Column, Entry, Keys, TestEntry
from skeltraj.core._data.stream import Stream
from skeltraj.get._reading.tests import table_of

from .covariates import Covariates
from .tested_genes import Genes

_TOLERANCE = 1e-12  # of a sum, as a share of that of absolute values: rounding in another order, no other count


def stored_dispersions(
    adata: AnnData, keys: Keys, gene_data: Genes, covariates: Covariates, usable: np.ndarray
) -> np.ndarray | None:
    """Dispersions that `tl.association` estimated around the curves on the whole tree from the same counts, if any.

    None if they are those of other counts, or not there for all genes: they are NaN for genes that were not tested.
    Counts are the same if they have the same name, and all that they were read with the same `digest`.
    """
    fit = adata.uns[keys.uns]
    table = table_of(adata, fit, Entry.ASSOCIATION, keys.key) if gene_data.family == "negative_binomial" else None
    if table is None:
        return None
    record = fit[Entry.ASSOCIATION]
    same = all(record.get(name) == value for name, value in gene_data.recorded.items())
    if not same or list(record[TestEntry.COVARIATES]) != covariates.names or Column.DISPERSION not in table:
        return None
    known = table[Column.DISPERSION].to_numpy()[gene_data.tested]
    if not np.isfinite(known).all() or record[TestEntry.N_CELLS] != usable.sum() or TestEntry.DIGEST not in record:
        return None
    now, size = _sums(adata, gene_data, covariates, usable)
    then = np.asarray(record[TestEntry.DIGEST], dtype=np.float64)
    return known if len(then) == len(now) and (np.abs(then - now) <= _TOLERANCE * size).all() else None


def digest(adata: AnnData, gene_data: Genes, covariates: Covariates, usable: np.ndarray) -> np.ndarray:
    """Numbers that depend on which cells are usable, and on each of their counts, size factors and covariates.

    In whatever order cells and genes are: each has a weight that depends on its name.
    """
    return _sums(adata, gene_data, covariates, usable)[0]


def _sums(
    adata: AnnData, gene_data: Genes, covariates: Covariates, usable: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted sums of values, and of absolute values."""
    of_cell, of_gene = np.where(usable, _weights(adata.obs_names), 0.0), _weights(adata.var_names)
    counts = np.empty(adata.n_obs)
    for at, block in Stream(gene_data.whole, name=gene_data.name).blocks():
        counts[at] = block @ of_gene
    columns = [np.ones(adata.n_obs), counts]
    columns += [] if gene_data.size_factors is None else [gene_data.size_factors]
    columns += [] if covariates.filled is None else list(covariates.filled.T)
    values = np.column_stack(columns)
    return of_cell @ values, of_cell @ np.abs(values)


def _weights(names: pd.Index) -> np.ndarray:
    """A number from 0.5 to 1.5 for each name."""
    hashed = pd.util.hash_array(names.astype(str).to_numpy(dtype=object), categorize=False)
    return 0.5 + hashed / 2.0**64
