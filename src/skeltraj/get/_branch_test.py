from __future__ import annotations

import pandas as pd
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Entry, Keys
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.checks import available
from skeltraj.get._reading.entries import made
from skeltraj.get._reading.tests import plain, ranked, table_of

from ._ordered import ordered
from ._stored import stored


@as_declared
@shared_texts
def branch_test(
    adata: AnnData,
    test: str | None = None,
    key: str = "ddrtree",
    *,
    pval_cutoff: float | None = None,
    log2fc_min: float | None = None,
    gene_symbols: str | None = None,
) -> pd.DataFrame:
    """The results of one test of `tl.branch_test`, with scanpy's names where scanpy has one.

    Parameters
    ----------
    <adata_ordered>
    test
        Name of the test: a fork ("F1"), or two places ("root-T2"). None: the only existing one.
    <key>
    pval_cutoff
        Largest adjusted p-value of the rows that are returned. None: all.
    log2fc_min
        Smallest absolute `logfoldchanges` of the rows that are returned. None: all.
    gene_symbols
        Column of `var` whose values are added as a column of that name.

    Returns
    -------
    A table of copies, sorted by p-value and, for equal p-values, by score: ``names``, ``scores``, ``logfoldchanges``,
    ``pvals``, ``pvals_adj``, then everything else that :func:`skeltraj.tl.branch_test` stores for the test. ``attrs``
    records how it was tested.

    Raises
    ------
    KeyError
        If the test has not been run, or several have and none is named.
    ValueError
        If `gene_symbols` is called as a column of the table itself.

    Examples
    --------
    <example_ordered>
    >>> st.tl.branch_test(adata)
    >>> # the fork between Ery and Mk
    >>> table = st.get.branch_test(adata, "F3", log2fc_min=0.2)
    >>> sorted(table["names"])
    ['EKLF', 'Fli1']
    >>> list(table.columns[:6])
    ['names', 'scores', 'logfoldchanges', 'pvals', 'pvals_adj', 'up']
    """
    ordered(adata, key)
    fit, keys = stored(adata, key), Keys(key)
    tests = made(fit, Entry.BRANCH_TEST, key) or {}
    if keys.branch_test not in adata.varm or not tests:
        raise KeyError(
            f"adata.varm has no {keys.branch_test!r}. Run skeltraj.tl.branch_test(adata, key={key!r}) first."
        )
    if test is None and len(tests) > 1:
        raise KeyError(f"there are {len(tests)} tests; wanted the name of one. Available: {available(tests)}.")
    test = next(iter(tests)) if test is None else test
    if test not in tests:
        raise KeyError(f"test={test!r} has not been run. Available: {available(tests)}.")
    table = table_of(adata, fit, Entry.BRANCH_TEST, key, f"{test}_")
    assert table is not None
    result = ranked(table, adata, Column.CHANGE, pval_cutoff, log2fc_min, gene_symbols)
    result.attrs = plain(made(fit, Entry.BRANCH_TEST, key, test))
    return result
