from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Place
from skeltraj.core._curves.intervals import intervals
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.lineages import WITHOUT_LINEAGES
from skeltraj.get._reading.tests import plain
from skeltraj.get._reading.trends import genes_by_name, lineage_names, stored_trends

from ._ordered import ordered
from ._stored import stored


@as_declared
@shared_texts
def trends(
    adata: AnnData,
    genes: str | Sequence[str] | None = None,
    lineage: str | Sequence[str] | None = None,
    key: str = "ddrtree",
    *,
    level: float = 0.95,
) -> pd.DataFrame:
    """Curves of genes along lineages, on the genes' own scale, with intervals.

    Parameters
    ----------
    <adata_trends>
    genes
        Names. None: all that have a curve.
    lineage
        Lineages by their tips ("T1"), one or several. None: all.
    <key>
    level
        Probability that the interval of a single place is to hold the truth, between 0 and 1.

    Returns
    -------
    A row for each gene, lineage and place, sorted by pseudotime: ``gene``, ``lineage``, ``branch``, ``pseudotime``,
    ``mean``, ``lower``, ``upper``. Counts are those of a cell with the median total (a size factor of 1), other values
    as they are. Intervals of counts are taken on the scale of the square root; where a gene has no counts the upper
    bound is what none among that many cells leaves. Intervals take cells as independent of one another: they are too
    narrow where donors differ, and where counts vary much among few cells. Without tips (a ring) there is one lineage,
    "all", of all branches: its rows go from one branch, and from one side of the root, to the other. ``attrs`` holds
    how the curves were made.

    Raises
    ------
    KeyError
        If there are no curves, no such gene or lineage.
    ValueError
        If a gene has no curve, or `level` is out of range.

    References
    ----------
    Anscombe. The transformation of Poisson, binomial and negative-binomial data. Biometrika 35 (1948).

    Examples
    --------
    <example_ordered>
    >>> st.tl.trends(adata, ["Gata1", "Pu.1"])
    >>> table = st.get.trends(adata)
    >>> table.columns.tolist()
    ['gene', 'lineage', 'branch', 'pseudotime', 'mean', 'lower', 'upper']
    >>> ends = table.groupby(["gene", "lineage"], observed=True)["mean"].last()
    >>> ends["Gata1"].abs().round(1).to_dict()
    {'T1': 0.0, 'T2': 0.0, 'T4': 1.0, 'T5': 1.0}
    """
    ordered(adata, key)
    curves = stored_trends(adata, stored(adata, key), key)
    if check.number(level, "level", above=0) >= 1:
        raise ValueError(f"level={level!r} is out of range; wanted a number > 0 and < 1.")
    rows = np.flatnonzero(curves.fitted) if genes is None else genes_by_name(adata, genes, curves.fitted)
    there = curves.lineages
    chosen = lineage_names(lineage, list(there), "lineage")
    time = curves.places[Place.PSEUDOTIME].to_numpy()
    branch = curves.places[Place.BRANCH]
    at = [_in_order(np.flatnonzero(there[name]), time, branch.cat.codes.to_numpy(), name) for name in chosen]
    along, number = np.concatenate(at), np.repeat(np.arange(len(at)), [len(places) for places in at])
    mean, lower, upper = intervals(*curves.of(rows), curves.support, curves.family, level)
    n_genes, n_places = len(rows), len(along)
    table = pd.DataFrame(
        {
            "gene": np.repeat(adata.var_names[rows].astype(str), n_places),
            "lineage": pd.Categorical.from_codes(np.tile(number, n_genes), categories=chosen),
            Place.BRANCH: pd.Categorical.from_codes(
                np.tile(branch.cat.codes.to_numpy()[along], n_genes), dtype=branch.dtype
            ),
            Place.PSEUDOTIME: np.tile(time[along], n_genes),
            Column.MEAN: mean[:, along].ravel(),
            "lower": lower[:, along].ravel(),
            "upper": upper[:, along].ravel(),
        }
    )
    table.attrs = plain(curves.record)
    return table


def _in_order(places: np.ndarray, time: np.ndarray, branch: np.ndarray, lineage: str) -> np.ndarray:
    """The places of a lineage by pseudotime; at a fork, where the ends of branches meet, branch by branch."""
    first = np.full(branch.max() + 1, np.inf)
    if lineage != WITHOUT_LINEAGES:  # it goes through no branch twice
        np.minimum.at(first, branch[places], time[places])
    return places[np.lexsort((time[places], first[branch[places]]))]
