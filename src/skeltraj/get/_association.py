from __future__ import annotations

from typing import Literal

import pandas as pd
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Entry, Keys
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.entries import made
from skeltraj.get._reading.tests import plain, ranked, table_of

from ._ordered import ordered
from ._stored import stored


@as_declared
@shared_texts
def association(
    adata: AnnData,
    key: str = "ddrtree",
    *,
    test: Literal["tree", "condition"] = "tree",
    columns: bool = False,
    pval_cutoff: float | None = None,
    log2fc_min: float | None = None,
    gene_symbols: str | None = None,
) -> pd.DataFrame:
    """The results of `tl.association`, with scanpy's names where scanpy has one.

    Parameters
    ----------
    <adata_ordered>
    <key>
    test
        "tree": whether genes change along the tree; "condition": whether their curves differ between conditions.
    columns
        Whether to read the test of columns of `obs` instead of that of genes.
    pval_cutoff
        Largest adjusted p-value of the rows that are returned. None: all.
    log2fc_min
        Smallest absolute `logfoldchanges` of the rows that are returned. None: all.
    gene_symbols
        Column of `var` whose values are added as a column of that name.

    Returns
    -------
    A table of copies, sorted by p-value and, for equal p-values, by score: ``names``, ``scores``, ``logfoldchanges``
    (the largest change from the root, negative if it falls; for conditions, the largest difference from the first),
    ``pvals``, ``pvals_adj``, then everything else that :func:`skeltraj.tl.association` stores. Genes without a p-value
    come last. ``attrs`` records how it was tested.

    Raises
    ------
    KeyError
        If the test has not been run.
    ValueError
        If `test` is neither of the two, or with ``columns=True`` "condition", or `gene_symbols` is given; if
        `gene_symbols` is called as a column of the table itself.

    Examples
    --------
    <example_ordered>
    >>> st.tl.association(adata)
    >>> table = st.get.association(adata, pval_cutoff=0.05, log2fc_min=0.6)
    >>> list(table.columns[:5])
    ['names', 'scores', 'logfoldchanges', 'pvals', 'pvals_adj']
    >>> sorted(set(adata.var_names) - set(table["names"]))  # changes by less
    ['Fog1']
    """
    check.choice(test, "test", ("tree", "condition"))
    if columns and test == "condition":
        raise ValueError("columns=True was given with test='condition'; columns are tested along the tree only.")
    if columns and gene_symbols is not None:
        raise ValueError(f"gene_symbols={gene_symbols!r} was given with columns=True; columns of obs have none.")
    ordered(adata, key)
    fit, keys = stored(adata, key), Keys(key)
    arguments = "columns=[...], " if columns else "condition=..., " if test == "condition" else ""
    again = f"Run skeltraj.tl.association(adata, {arguments}key={key!r}) first."
    if columns:
        if Entry.COLUMN_ASSOCIATION not in fit:
            raise KeyError(f"adata.uns[{key!r}] holds no {Entry.COLUMN_ASSOCIATION!r}. {again}")
        table, attrs = made(fit, Entry.COLUMN_ASSOCIATION, key), made(fit, Entry.COLUMN_TEST, key) or {}
    else:
        slot, record = keys.association, Entry.ASSOCIATION
        if test == "condition":
            slot, record = keys.condition_test, Entry.CONDITION_TEST
        table = table_of(adata, fit, record, key)
        if table is None:
            raise KeyError(f"adata.varm has no {slot!r}. {again}")
        attrs = fit[record]
    result = ranked(table, adata, Column.CHANGE, pval_cutoff, log2fc_min, gene_symbols)
    result.attrs = plain(attrs)
    return result
