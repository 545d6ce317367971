"""What is tested along a tree: a matrix of genes, with size factors."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData
from scipy import sparse

from skeltraj._keys import TestEntry
from skeltraj.core._data.stream import Stream
from skeltraj.core._runtime import check
from skeltraj.core._runtime.lazy import in_memory
from skeltraj.core._runtime.warn import warn
from skeltraj.get._reading.checks import available, one_column

from .labelled import in_order_of
from .pick import entry

logger = logging.getLogger(__name__)

FAMILIES = ("auto", "negative_binomial", "gaussian")
_COUNTS = "counts"  # the layer in which counts usually are
_FEW = 50  # genes, whose totals those that change may rule; chosen by eye


@dataclass(frozen=True, eq=False)
class Genes:
    """A matrix of genes to be tested.

    Parameters
    ----------
    matrix
        (n_obs, number of genes tested).
    whole
        The matrix of which these are columns, (n_obs, n_vars).
    name
        What messages call it.
    family
        "negative_binomial" or "gaussian".
    size_factors
        (n_obs,) of counts; else None.
    tested
        Which genes of `adata` the columns are, (number of genes tested,).
    recorded
        How the choice is recorded.
    """

    matrix: Any
    whole: Any
    name: str
    family: Any
    size_factors: np.ndarray | None
    tested: np.ndarray
    recorded: dict[str, Any]


def read_genes(
    adata: AnnData,
    *,
    layer: str | None,
    family: str,
    size_factors: str | None,
    genes: str | Sequence[str] | np.ndarray | None = None,
) -> Genes:
    """The matrix of genes, its family and the cells' size factors.

    Parameters
    ----------
    adata
        Annotated data.
    layer
        A layer; None: `X`.
    family
        "negative_binomial", "gaussian", or "auto": the first if all entries are whole numbers from 0 up.
    size_factors
        Of counts: "auto" for the cells' totals over all genes, divided by their median; a column of `obs`; or None for
        1 everywhere.
    genes
        Names, a boolean column of `var`, or True or False for each gene, of a Series by its index; None: all.

    Warns
    -----
    UserWarning
        If `X` is taken, holds no counts, and there is a layer "counts"; or if that is taken and holds no counts.
    """
    check.choice(family, "family", FAMILIES)
    matrix = adata.X if layer is None else entry(adata, "layers", layer, "layer")
    name = "adata.X" if layer is None else f"adata.layers[{layer!r}]"
    if matrix is None:
        raise ValueError(f"adata.X is None. Name a layer: {available(adata.layers)}.")
    if adata.n_obs == 0 or adata.n_vars == 0:
        raise ValueError(f"adata is empty: {adata.n_obs} cells x {adata.n_vars} genes.")
    if sparse.issparse(matrix):
        matrix = check.entries(matrix, name)  # of several entries at a place the sum may be a count
    counts = family == "negative_binomial" or (family == "auto" and _holds_counts(matrix))
    if not counts and family == "auto" and layer == _COUNTS:
        warn(
            f"{name} holds entries that are not counts (negative, fractions or NaN), so its genes are tested as "
            "normally distributed, without size factors. Round them if they are corrected counts, or pass "
            "family='gaussian'."
        )
    if not counts and layer is None and family == "auto" and _COUNTS in adata.layers:
        warn(
            f"adata.X does not hold counts, so its genes are tested as normally distributed. There is "
            f"adata.layers[{_COUNTS!r}]: pass layer={_COUNTS!r} to test it with a model for counts."
        )
    recorded: dict[str, Any] = {TestEntry.FAMILY: "negative_binomial" if counts else "gaussian"}
    recorded |= {TestEntry.LAYER: layer} if layer is not None else {TestEntry.USE_REP: "X"}
    factors = None
    if counts:
        factors = _size_factors(adata, matrix, size_factors, name)
        recorded[TestEntry.SIZE_FACTORS] = "none" if size_factors is None else size_factors
    elif size_factors not in (None, "auto"):
        raise ValueError(f"size_factors={size_factors!r} was given, and {name} is not tested as counts; wanted None.")
    tested = _tested(adata, genes)
    return Genes(
        matrix=_columns(matrix, tested, name),
        whole=matrix,
        name=name,
        family=recorded[TestEntry.FAMILY],
        size_factors=factors,
        tested=tested,
        recorded=recorded,
    )


def _holds_counts(matrix: Any) -> bool:
    """Whether all entries are whole numbers from 0 up; of a matrix that is not in memory, those of the first rows."""
    if in_memory(matrix):
        values = matrix.data if sparse.issparse(matrix) else np.asarray(matrix)
    else:
        _, block = next(iter(Stream(matrix).blocks()))
        values = block.data if sparse.issparse(block) else block
    if values.dtype.kind in "ub":
        return True
    flat = values.reshape(-1)
    step = 1 << 22
    parts = (flat[i : i + step] for i in range(0, flat.size, step))
    with np.errstate(invalid="ignore"):  # some kinds of NaN; they are no counts
        return all(bool((part >= 0).all() and (part == np.floor(part)).all()) for part in parts)


def _size_factors(adata: AnnData, matrix: Any, chosen: str | None, name: str) -> np.ndarray:
    """Size factors of the cells, (n_obs,); 0 for cells without counts."""
    if chosen is None:
        return np.ones(adata.n_obs)
    if chosen == "auto":
        total = np.zeros(adata.n_obs)
        if in_memory(matrix):
            total[:] = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
        else:
            for at, block in Stream(matrix, name=name).blocks():
                total[at] = np.asarray(block.sum(axis=1, dtype=np.float64)).ravel()
        if (total < 0).any():
            raise ValueError(f"{name} holds negative values; wanted counts.")
        if matrix.shape[1] == 1:
            raise ValueError(
                f"size_factors='auto' with 1 gene in {name}, whose counts would be their own size factors; wanted a "
                "column of obs with the cells' totals over all genes, or None."
            )
        if matrix.shape[1] < _FEW:
            logger.warning(
                "Size factors are totals over only %d genes: they follow genes that change, and others then appear to "
                "change the other way. Keep all genes and name those to test (genes=), or name a column of obs with "
                "the totals over all genes (size_factors=).",
                matrix.shape[1],
            )
        there = total[total > 0]
        if not len(there):
            raise ValueError(f"{name} is 0 everywhere; wanted counts.")
        return total / np.median(there)
    if chosen not in adata.obs:
        raise KeyError(
            f"size_factors={chosen!r} is not in adata.obs. Available: {available(adata.obs.columns)}, or 'auto'."
        )
    column = one_column(adata.obs, chosen, "size_factors")
    if not pd.api.types.is_numeric_dtype(column):
        raise TypeError(f"size_factors: adata.obs[{chosen!r}] has type {column.dtype}; wanted numbers above 0.")
    factors = column.to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = (factors < 0) | np.isinf(factors)
    if wrong.any():
        raise ValueError(
            f"size_factors: adata.obs[{chosen!r}] holds {factors[wrong][0]:g}; wanted finite numbers above 0, or 0 or "
            "missing for cells to leave out."
        )
    return np.where(np.isnan(factors), 0.0, factors)


def _tested(adata: AnnData, genes: str | Sequence[str] | np.ndarray | None) -> np.ndarray:
    """Numbers of the genes that are to be tested."""
    if genes is None:
        return np.arange(adata.n_vars)
    if isinstance(genes, str) and genes in adata.var:
        column = one_column(adata.var, genes, "genes", "adata.var")
        if not pd.api.types.is_bool_dtype(column):
            raise TypeError(f"genes: adata.var[{genes!r}] has type {column.dtype}; wanted True or False for each gene.")
        mask = _yes_or_no(column, f"adata.var[{genes!r}]")
    elif isinstance(genes, pd.Series) and pd.api.types.is_bool_dtype(genes):
        mask = _yes_or_no(in_order_of(adata.var_names, genes, "genes", "adata.var_names"), "the Series")
    elif np.asarray(genes).dtype == bool and np.shape(genes) == (adata.n_vars,):
        mask = np.asarray(genes)
    else:
        wanted = check.texts(genes, "genes")
        unknown = [name for name in wanted if name not in adata.var_names]
        if unknown:
            raise KeyError(
                f"genes: {unknown[0]!r} is neither in adata.var_names nor a column of adata.var "
                f"({len(unknown)} of {len(wanted)} are not)."
            )
        mask = adata.var_names.isin(wanted)
    if not mask.any():
        raise ValueError(f"genes: none of {adata.n_vars} genes is chosen; wanted at least one.")
    return np.flatnonzero(mask)


def _yes_or_no(column: pd.Series, name: str) -> np.ndarray:
    """A column of True and False as an array."""
    lacking = column.isna().to_numpy()
    if lacking.any():
        raise ValueError(
            f"genes: {name} has no value for {int(lacking.sum())} of {len(column)} genes, such as "
            f"{str(column.index[lacking][0])!r}; wanted True or False for each gene."
        )
    return column.to_numpy(dtype=bool)


def _columns(matrix: Any, tested: np.ndarray, name: str) -> Any:
    """Some columns; of a matrix on disk, in memory."""
    if len(tested) == matrix.shape[1]:
        return matrix
    if in_memory(matrix):
        return matrix[:, tested] if sparse.issparse(matrix) else np.asarray(matrix)[:, tested]
    blocks = [block for _, block in Stream(matrix, tested, name=name).blocks()]
    return sparse.vstack(blocks).tocsc() if sparse.issparse(blocks[0]) else np.vstack(blocks)
