from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import CompositionEntry, Entry, entry_of
from skeltraj._printing import Printed
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.warn import warn
from skeltraj.get._reading.checks import available
from skeltraj.get._reading.entries import made
from skeltraj.get._reading.regrouped import regrouped

from ._ordered import ordered
from ._stored import stored


@dataclass(frozen=True, repr=False)
class CompositionTables(Printed):
    """Groups of cells on branches and along pseudotime, as :func:`skeltraj.tl.composition` found them.

    Parameters
    ----------
    groupby
        Column of `obs` with the groups.
    branches
        One row for each group and branch: ``group``, ``branch``, ``n_cells``, ``share_of_branch``, ``share_of_group``,
        ``log2_enrichment``, ``p_value``, ``q_value``.
    pseudotime
        One row for each group: ``group``, ``n_cells``, ``shift``, ``shift_p_value``, ``shift_q_value``,
        ``largest_gap``, ``gap_p_value``, ``gap_q_value``.
    bins
        One row for each lineage, group and bin of pseudotime: ``lineage``, ``bin``, ``group``, ``start``, ``end``,
        ``n_cells``, ``share``.
    progress
        One row for each pair of groups on each branch: ``group``, ``other``, ``branch``, ``difference``, ``p_value``,
        ``q_value``.
    chi2, chi2_p_value
        Of the whole table of groups and branches.
    permuted
        "cells", "samples", "groups within samples" or "cells within samples".
    sample
        Column of `obs` with the samples, or None.
    n_permutations, n_distinct
        Number of permutations, and of different ways to assign the labels.
    smallest_p_value
        The smallest that a test of a group against the rest can have.
    n_cells
        Number of cells used.
    left_out
        Numbers of cells left out, by what they lacked.
    """

    groupby: str
    branches: pd.DataFrame
    pseudotime: pd.DataFrame
    bins: pd.DataFrame
    progress: pd.DataFrame
    chi2: float
    chi2_p_value: float
    permuted: str
    sample: str | None
    n_permutations: int
    n_distinct: float
    smallest_p_value: float
    n_cells: int
    left_out: dict[str, int]


@as_declared
@shared_texts
def composition(adata: AnnData, groupby: str, key: str = "ddrtree") -> CompositionTables:
    """The stored composition of branches and lineages by groups of cells.

    Parameters
    ----------
    adata
        Annotated data for which :func:`skeltraj.tl.composition` was run.
    groupby
        Column of `obs` for which it was run.
    <key>

    Returns
    -------
    A :class:`CompositionTables`, of copies.

    Raises
    ------
    KeyError
        If nothing is stored for `groupby`; the message lists the columns for which something is.

    Warns
    -----
    UserWarning
        If the groups of the column have other numbers of cells than when they were compared, though the cells are as
        many.

    Examples
    --------
    <example_ordered>
    >>> st.tl.composition(adata, "cell_type", n_permutations=200)
    >>> tables = st.get.composition(adata, "cell_type")
    >>> tables.pseudotime.columns.tolist()[:3]
    ['group', 'n_cells', 'shift']
    >>> # from early to late
    >>> tables.pseudotime.set_index("group")["shift"].sort_values().index.tolist()
    ['progenitor', 'Neu', 'Mo', 'Mk', 'Ery']
    """
    ordered(adata, key)
    fit = stored(adata, key)
    record = made(fit, Entry.COMPOSITION, key, entry_of(groupby))
    if record is None:
        raise KeyError(
            f"no composition is stored for groupby={groupby!r} in adata.uns[{key!r}]. Available: "
            f"{available(made(fit, Entry.COMPOSITION, key) or {})}. Run skeltraj.tl.composition(adata, {groupby!r}, "
            f"key={key!r}) first."
        )
    tables = CompositionTables(
        groupby=groupby,
        branches=record[CompositionEntry.BRANCHES].reset_index(drop=True).copy(),
        pseudotime=record[CompositionEntry.PSEUDOTIME].reset_index(drop=True).copy(),
        bins=record[CompositionEntry.BINS].reset_index(drop=True).copy(),
        progress=record[CompositionEntry.PROGRESS].reset_index(drop=True).copy(),
        chi2=float(record[CompositionEntry.CHI2]),
        chi2_p_value=float(record[CompositionEntry.CHI2_P_VALUE]),
        permuted=str(record[CompositionEntry.PERMUTED]),
        sample=str(record[CompositionEntry.SAMPLE]) if CompositionEntry.SAMPLE in record else None,
        n_permutations=int(record[CompositionEntry.N_PERMUTATIONS]),
        n_distinct=float(record[CompositionEntry.N_DISTINCT]),
        smallest_p_value=float(record[CompositionEntry.SMALLEST_P_VALUE]),
        n_cells=int(record[CompositionEntry.N_CELLS]),
        left_out={str(name): int(n) for name, n in record[CompositionEntry.LEFT_OUT].items()},
    )
    doubt = regrouped(adata, tables, key)
    if doubt is not None:
        warn(doubt)
    return tables
