from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Entry, Keys, Place, TestEntry, TrendsEntry
from skeltraj.core._curves.shapes import cluster_curves, heights, standardized
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.get._reading.tests import table_of
from skeltraj.get._reading.trends import StoredTrends, genes_by_name, stored_trends
from skeltraj.tl._inputs.copies import refuse_copy_on_disk
from skeltraj.tl._results.changes import Changes


@interruptible()
@as_declared
@shared_texts
def cluster_trends(
    adata: AnnData,
    n_clusters: int | str = "auto",
    *,
    genes: str | Sequence[str] | None = None,
    q_max: float = 0.05,
    key: str = "ddrtree",
    copy: bool = False,
) -> AnnData | None:
    """Group genes by the shape of their curves along the tree.

    Curves (for counts, logarithms of means) are scaled to mean 0 and standard deviation 1 over the tree, with each
    place weighted by its cells, so that neither a gene's level nor the size of its change matters. They are grouped by
    Ward's method and then k-means, without randomness.

    Parameters
    ----------
    <adata_trends>
    n_clusters
        Number of groups. "auto": the smallest, up to 12, that explains 80 % of the variance of the shapes.
    genes
        Names. None: those with a curve and, where :func:`skeltraj.tl.association` was run, an adjusted p-value of at
        most `q_max`.
    q_max
        Largest adjusted p-value of the genes that are grouped.
    <key>
    <copy>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets, for ``key="ddrtree"``:

    ``.var["ddrtree_trend_cluster"]`` : categorical
        "1", "2", ... in the order of the pseudotime at which the groups' mean curves are highest; missing for genes
        that were not grouped.
    ``.uns["ddrtree"]["trends"]["clusters"]`` : dict
        ``explained``, the share of the variance of shapes between groups; ``n_genes`` grouped, and the ``q_max`` by
        which they were chosen.

    :func:`skeltraj.tl.trends` and :func:`skeltraj.tl.order` remove them.

    Raises
    ------
    KeyError
        If there are no curves, or no such gene.
    TypeError, ValueError
        If a gene has no curve, none is left, or there are fewer different curves than groups. `adata` is then
        unchanged.

    Examples
    --------
    <example_ordered>
    >>> st.tl.trends(adata)
    >>> st.tl.cluster_trends(adata, 4)
    >>> cluster = adata.var["ddrtree_trend_cluster"]
    >>> # genes whose curves are like that of cJun
    >>> cluster.index[cluster == cluster["cJun"]].tolist()
    ['cJun', 'EgrNab']
    """
    refuse_copy_on_disk(adata, copy)
    get.ordered(adata, key)
    keys, fit = Keys(key), dict(get.stored(adata, key))
    curves = stored_trends(adata, fit, key)
    table = table_of(adata, fit, Entry.ASSOCIATION, key) if genes is None else None
    by_q = table is not None
    rows = _significant(keys, curves, q_max, table) if genes is None else genes_by_name(adata, genes, curves.fitted)
    height = heights(curves.of(rows)[0], curves.support, curves.family)
    is_fitted = np.isfinite(height).all(axis=0)
    weight = curves.places[Place.N_CELLS].to_numpy(dtype=np.float64)[is_fitted]
    time = curves.places[Place.PSEUDOTIME].to_numpy()[is_fitted]
    in_time = np.argsort(time, kind="stable")  # groups are numbered in the order of the places
    height, weight = height[:, is_fitted][:, in_time], weight[in_time]
    found = cluster_curves(standardized(height, weight), weight, n_clusters)
    label = np.full(adata.n_vars, -1)
    label[rows] = found.label
    labels = [str(k + 1) for k in range(len(found.mean))]
    record: dict[str, Any] = {TrendsEntry.EXPLAINED: found.explained, TestEntry.N_GENES: len(rows)}
    if by_q:
        record[TrendsEntry.Q_MAX] = float(q_max)
    changes = Changes()
    changes.put("var", keys.trend_cluster, pd.Categorical.from_codes(label, categories=labels))
    changes.put("uns", keys.uns, fit | {Entry.TRENDS: curves.record | {TrendsEntry.CLUSTERS: record}})
    adata = adata.copy() if copy else adata
    changes.make(adata, of_others=copy)
    return adata if copy else None


def _significant(keys: Keys, curves: StoredTrends, q_max: float, table: pd.DataFrame | None) -> np.ndarray:
    """Numbers of the genes that have a curve and a small q-value."""
    q_max = check.number(q_max, "q_max", at_least=0)
    chosen = curves.fitted
    if table is not None:
        chosen = chosen & (table[Column.Q_VALUE].to_numpy(dtype=np.float64) <= q_max)
    if not chosen.any():
        raise ValueError(
            f"none of the {int(curves.fitted.sum())} genes with a curve has a q-value of at most q_max={q_max:g} in "
            f"adata.varm[{keys.association!r}]; wanted at least one, or name genes."
            if table is not None
            else "no gene has a curve; wanted at least one."
        )
    return np.flatnonzero(chosen)
