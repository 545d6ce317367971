"""Stored curves of genes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._keys import Column, Entry, Keys, Place, TestEntry, TrendsEntry
from skeltraj._printing import Printed
from skeltraj.core._curves.shapes import heights
from skeltraj.core._runtime import check

from .checks import available
from .entries import made
from .lineages import WITHOUT_LINEAGES
from .tests import table_of


@dataclass(frozen=True, eq=False, repr=False)
class StoredTrends(Printed):
    """Curves of genes as `tl.trends` stored them.

    Parameters
    ----------
    curve, error
        (n_vars, n_places), on the scale of the link; NaN rows for genes without a curve.
    places
        Table of the places.
    record
        How they were made.
    """

    curve: np.ndarray
    error: np.ndarray
    places: pd.DataFrame
    record: dict[str, Any]

    @property
    def family(self) -> Any:
        """Of the genes."""
        return str(self.record[TestEntry.FAMILY])

    @property
    def support(self) -> np.ndarray:
        """How many cells a curve rests on at each place."""
        return self.places[Place.SUPPORT].to_numpy()

    @property
    def fitted(self) -> np.ndarray:
        """Which genes have a curve, (n_vars,)."""
        return np.isfinite(self.curve).any(axis=1)

    @property
    def lineages(self) -> dict[str, np.ndarray]:
        """Which places lie on each lineage; without lineages, all on one."""
        columns = [name for name in self.places.columns if name not in Place.ALL]
        return {str(name): self.places[name].to_numpy(dtype=bool) for name in columns} or {
            WITHOUT_LINEAGES: np.ones(len(self.places), dtype=bool)
        }

    def of(self, genes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Curves and errors of some genes, by number, in double precision."""
        return self.curve[genes].astype(np.float64), self.error[genes].astype(np.float64)


def stored_trends(adata: AnnData, fit: dict[str, Any], key: str) -> StoredTrends:
    """The curves stored beside a fit.

    Raises
    ------
    KeyError
        If there are none.
    ValueError
        If arrays and places do not belong together.
    """
    keys, again = Keys(key), f"Run skeltraj.tl.trends(adata, key={key!r})"
    if Entry.TRENDS not in fit or keys.trends not in adata.varm or keys.trends_error not in adata.varm:
        raise KeyError(f"adata.varm has no {keys.trends!r} that belongs to adata.uns[{key!r}]. {again} first.")
    record = made(fit, Entry.TRENDS, key)
    curve, error = np.asarray(adata.varm[keys.trends]), np.asarray(adata.varm[keys.trends_error])
    places = record[TrendsEntry.PLACES]
    if not curve.shape == error.shape == (adata.n_vars, len(places)):
        raise ValueError(
            f"adata.varm[{keys.trends!r}] is of shape {curve.shape}, its standard errors of {error.shape}, and "
            f"{len(places)} places are stored; wanted {(adata.n_vars, len(places))}. {again} again."
        )
    return StoredTrends(curve, error, places, dict(record))


def genes_by_name(adata: AnnData, genes: str | Sequence[str], fitted: np.ndarray) -> np.ndarray:
    """Numbers of genes, in the order in which they are named.

    Raises
    ------
    KeyError
        If there is no such gene, or several.
    ValueError
        If none is named, or one has no curve.
    """
    requested = check.texts(genes, "genes")
    if not requested:
        raise ValueError("genes is an empty list; wanted at least one, or None.")
    names = adata.var_names
    unknown = [name for name in requested if name not in names]
    if unknown:
        raise KeyError(f"genes: {unknown[0]!r} is not in adata.var_names ({len(unknown)} of {len(requested)} are not).")
    rows = []
    for name in dict.fromkeys(requested):
        at = np.flatnonzero(names == name)
        if len(at) > 1:
            raise KeyError(f"genes: {len(at)} genes are called {name!r}; wanted one.")
        if not fitted[at[0]]:
            raise ValueError(
                f"genes: {name!r} has no curve: it was not among the genes that skeltraj.tl.trends was given, or "
                "has the same value in all cells."
            )
        rows.append(int(at[0]))
    return np.array(rows)


def lineage_names(chosen: str | Sequence[str] | None, there: Sequence[str], argument: str) -> list[str]:
    """Names of lineages, checked; None: all."""
    requested = list(there) if chosen is None else check.texts(chosen, argument)
    unknown = [name for name in requested if name not in there]
    if unknown:
        raise KeyError(f"{argument}: there is no {unknown[0]!r}. Available: {available(there)}.")
    if not requested:
        raise ValueError(f"{argument} is an empty list; wanted at least one, or None for all.")
    return list(dict.fromkeys(requested))


def _by_p_value(adata: AnnData, fit: dict[str, Any], key: str, fork: str | None) -> tuple[np.ndarray, str] | None:
    """Numbers of the genes by the p-value of the test of a fork, or of association; and by which.

    Genes without a p-value are left out. None if neither test has been run.
    """
    table, source = None, ""
    if fork is not None and fork in (made(fit, Entry.BRANCH_TEST, key) or {}):
        table, source = table_of(adata, fit, Entry.BRANCH_TEST, key, f"{fork}_"), f"test of {fork}"
    if table is None:
        table, source = table_of(adata, fit, Entry.ASSOCIATION, key), "association"
    if table is None:
        return None
    p_value, score = (table[name].to_numpy(dtype=np.float64) for name in (Column.P_VALUE, Column.SCORE))
    order = np.lexsort((-np.nan_to_num(score), p_value))
    return order[np.isfinite(p_value[order])], source


def chosen_genes(
    adata: AnnData,
    fit: dict[str, Any],
    key: str,
    curves: StoredTrends,
    genes: str | Sequence[str] | None,
    fork: str | None,
    n_genes: int,
) -> tuple[np.ndarray, str]:
    """Numbers of the genes that are shown, and in words which these are: those named, or the first by p-value."""
    if genes is not None:
        rows = genes_by_name(adata, genes, curves.fitted)
        return rows, f"{len(rows)} gene{'s' if len(rows) > 1 else ''}"
    n_fitted = int(curves.fitted.sum())
    if not n_fitted:
        raise ValueError("no gene has a curve; wanted at least one.")
    tested = _by_p_value(adata, fit, key, fork)
    if tested is not None:
        ranked, source = tested
        rows = ranked[curves.fitted[ranked]][:n_genes]
        if len(rows):
            return rows, f"{len(rows)} of {n_fitted:,} genes: smallest p-values ({source})"
    height = heights(curves.of(np.flatnonzero(curves.fitted))[0], curves.support, curves.family)
    change = np.nanmax(height, axis=1) - np.nanmin(height, axis=1)
    rows = np.flatnonzero(curves.fitted)[np.argsort(-change, kind="stable")][:n_genes]
    return rows, f"{len(rows)} of {n_fitted:,} genes: largest change"
