from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Entry, Keys, TestEntry, check_name
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.get._reading.checks import available
from skeltraj.get._reading.entries import made
from skeltraj.get._reading.tests import table_of
from skeltraj.tl._inputs.copies import refuse_copy_on_disk
from skeltraj.tl._results.changes import Changes

_ASSOCIATION = "association"


@interruptible()
@as_declared
@shared_texts
def rank_genes_groups(
    adata: AnnData,
    test: str | None = None,
    *,
    n_genes: int | None = None,
    key_added: str = "rank_genes_groups",
    key: str = "ddrtree",
    copy: bool = False,
) -> AnnData | None:
    """Write a test along the tree in the format of scanpy's `rank_genes_groups`, for programs that read it.

    The groups are branches. For the test of a fork, they are the first branches of its arms, and a gene's score is
    positive where its arm is above the mean of all arms. For the association, they are all branches; the score is that
    of the whole tree, positive where the gene rises along the branch, away from the root, and negative where it falls
    (on a branch with the root inside, from the root to the farther end). Where neither is certain (`sign` of the
    association is 0), the score is 0 and the p-values are 1. Genes without a p-value are left out.

    Parameters
    ----------
    <adata_ordered>
    test
        A fork whose branches were compared ("F1"), or "association". None: the only fork that was tested, or else the
        association.
    n_genes
        Genes to keep in each group. None: all.
    key_added
        Key in `uns`; an earlier result there is replaced. It is removed along with the order, since its groups are
        branches: by :func:`skeltraj.tl.order`, a new fit, and whatever else changes the tree.
    <key>
    <copy>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets ``.uns[key_added]``: ``names``, ``scores``, ``pvals``, ``pvals_adj`` and
    ``logfoldchanges``, structured arrays with a field for each group, and ``params``.
    `scanpy.get.rank_genes_groups_df`, `scanpy.pl.rank_genes_groups_dotplot`, decoupler and gseapy read them.

    Raises
    ------
    KeyError
        If the test has not been run.
    TypeError, ValueError
        If the test compares two places, which are not groups, or `n_genes` is not a number from 1 up; if something
        other than such a result is stored under `key_added`.

    Examples
    --------
    <example_ordered>
    >>> st.tl.branch_test(adata, "F3")
    >>> st.tl.rank_genes_groups(adata, "F3")
    >>> # also sc.pl.rank_genes_groups and others
    >>> table = sc.get.rank_genes_groups_df(adata, group="B7")
    >>> list(table.columns)
    ['names', 'scores', 'logfoldchanges', 'pvals', 'pvals_adj']
    """
    refuse_copy_on_disk(adata, copy)
    keys = Keys(key)
    check_name(key_added, "what is stored for scanpy")
    there = adata.uns.get(key_added)
    if there is not None and not (hasattr(there, "keys") and "params" in there and "names" in there):
        raise ValueError(
            f"key_added={key_added!r} would overwrite adata.uns[{key_added!r}], which is no result of "
            "rank_genes_groups; wanted another name."
        )
    n_genes = None if n_genes is None else check.count(n_genes, "n_genes")
    table, changes_of, record = _table(adata, test, key)
    known = table[Column.P_VALUE].notna().to_numpy()
    table, genes = table[known], adata.var_names[known].to_numpy().astype(str)
    fields: dict[str, dict[str, np.ndarray]] = {}
    for group, column in changes_of.items():
        change = table[column].to_numpy()
        sign = np.sign(change)
        if record is None:
            sign = table[f"{Column.SIGN}_{group}"].to_numpy()
        score = table[Column.SCORE].to_numpy() * sign
        p_value, q_value = (np.where(sign == 0, 1.0, table[name]) for name in (Column.P_VALUE, Column.Q_VALUE))
        best = np.lexsort((genes, -score))[:n_genes]
        columns = {
            "names": genes[best],
            "scores": score[best],
            "pvals": p_value[best],
            "pvals_adj": q_value[best],
            "logfoldchanges": change[best],
        }
        for name, values in columns.items():
            fields.setdefault(name, {})[group] = values
    entry: dict[str, Any] = {
        "params": {
            "groupby": keys.branch,
            "reference": "rest",
            "method": f"skeltraj.tl.{'association' if record is None else 'branch_test'}",
            "use_raw": False,
            "layer": (record or adata.uns[keys.uns][Entry.ASSOCIATION]).get(TestEntry.LAYER),
            "corr_method": "benjamini-hochberg",
        }
    }
    if entry["params"]["layer"] is None:
        del entry["params"]["layer"]
    for name, columns in fields.items():
        dtype = object if name == "names" else np.float64
        arrays = [values.astype(dtype) for values in columns.values()]
        entry[name] = np.rec.fromarrays(arrays, dtype=[(group, dtype) for group in columns])
    changes = Changes()
    changes.put("uns", key_added, entry)
    adata = adata.copy() if copy else adata
    changes.make(adata)
    return adata if copy else None


def _table(adata: AnnData, test: str | None, key: str) -> tuple[pd.DataFrame, dict[str, str], dict[str, Any] | None]:
    """The stored table of a test, the column of changes of each group, and how a fork was tested."""
    get.ordered(adata, key)
    keys, fit = Keys(key), get.stored(adata, key)
    records = (made(fit, Entry.BRANCH_TEST, key) or {}) if keys.branch_test in adata.varm else {}
    associated = table_of(adata, fit, Entry.ASSOCIATION, key)
    forks = [name for name, record in records.items() if TestEntry.ARMS in record]
    tests = forks + [_ASSOCIATION] * (associated is not None)
    if test is None:
        if not tests:
            raise KeyError(
                f"Neither a fork nor the association was tested. Run skeltraj.tl.branch_test(adata, key={key!r}) first."
            )
        if len(forks) > 1:
            raise KeyError(
                f"{len(forks)} forks were tested; wanted the name of a test, as test={forks[0]!r}. Available: "
                f"{available(tests)}."
            )
        test = tests[0]
    if test in records and test not in forks:
        raise ValueError(f"test={test!r} compares two places, which are no groups. Available: {available(tests)}.")
    if test not in tests:
        raise KeyError(f"test={test!r} has not been run. Available: {available(tests)}.")
    prefix = f"{Column.CHANGE}_B"
    if test == _ASSOCIATION:
        table, record = associated, None
    else:
        table, record = table_of(adata, fit, Entry.BRANCH_TEST, key, f"{test}_"), records[test]
    assert table is not None
    groups = [name for name in table.columns if name.startswith(prefix)]
    return table, {name.removeprefix(f"{Column.CHANGE}_"): name for name in groups}, record
