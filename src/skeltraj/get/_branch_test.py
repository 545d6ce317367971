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
    """The results of `tl.branch_test`, with scanpy's names where scanpy has one.

    Parameters
    ----------
    <adata_ordered>
    test
        Name of the test: a fork ("F1"), or two places ("root-T2"). None: all tests there are, one after the other.
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
    records how it was tested. Of several tests, the tables stand one below the other, each sorted, with the name of the
    test in the first column, ``test``; what one test has and another lacks is NaN, and ``attrs`` has a record for each.

    Raises
    ------
    KeyError
        If the test has not been run.
    ValueError
        If `gene_symbols` is called as a column of the table itself; if a table was changed since it was stored.

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
    >>> st.get.branch_test(adata)["test"].unique().tolist()
    ['F1', 'F2', 'F3']
    """
    ordered(adata, key)
    fit, keys = stored(adata, key), Keys(key)
    tests = made(fit, Entry.BRANCH_TEST, key) or {}
    if keys.branch_test not in adata.varm or not tests:
        raise KeyError(
            f"adata.varm has no {keys.branch_test!r}. Run skeltraj.tl.branch_test(adata, key={key!r}) first."
        )
    if test is not None and test not in tests:
        raise KeyError(f"test={test!r} has not been run. Available: {available(tests)}.")
    names = list(tests) if test is None else [test]
    tables = []
    for name in names:
        table = table_of(adata, fit, Entry.BRANCH_TEST, key, f"{name}_")
        assert table is not None
        tables.append(ranked(table, adata, Column.CHANGE, pval_cutoff, log2fc_min, gene_symbols))
        if len(names) > 1:
            tables[-1].insert(0, "test", name)
    result = tables[0] if len(names) == 1 else pd.concat(tables, ignore_index=True)
    attrs = {name: plain(made(fit, Entry.BRANCH_TEST, key, name)) for name in names}
    result.attrs = attrs[names[0]] if len(names) == 1 else attrs
    return result
