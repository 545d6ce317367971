from __future__ import annotations

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Entry, Keys
from skeltraj.core import median_node
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.checks import category
from skeltraj.get._reading.positions import positions

from ._graph import graph
from ._ordered import ordered
from ._stored import stored


@as_declared
@shared_texts
def groups(adata: AnnData, groupby: str, key: str = "ddrtree") -> pd.DataFrame:
    """Where groups of cells lie along the tree.

    Parameters
    ----------
    <adata_ordered>
    groupby
        Categorical column of `obs`.
    <key>

    Returns
    -------
    One row per group that has cells, by median pseudotime: ``n_cells``; ``median_pseudotime`` and its quartiles ``q25``
    and ``q75``; ``node``, the tree's median of the group's cells (the node with the smallest sum of path lengths to
    them); ``branch``, the branch with most of its cells; and ``share_on_branch``, their share (both missing if all its
    cells are at a node without edges). If the tree was compared with others when it was learned, also ``starts``, the
    share of these that have that branch.

    Raises
    ------
    KeyError
        If there is no such column, or the cells have not been ordered.
    TypeError
        If the column is numeric.
    ValueError
        If no cell belongs to a group, or cells have no place on the skeleton.

    Examples
    --------
    <example_ordered>
    >>> table = st.get.groups(adata, "cell_type")
    >>> table.index[0], table["n_cells"].to_dict()
    ('progenitor', {'progenitor': 320, 'Neu': 80, 'Mo': 80, 'Mk': 80, 'Ery': 80})
    >>> table.loc["Ery", ["branch", "share_on_branch"]].to_dict()
    {'branch': 'B7', 'share_on_branch': 1.0}
    """
    ordered(adata, key)
    keys, tree = Keys(key), graph(adata, key)
    labels = category(adata, groupby, key)
    if labels.isna().all():
        raise ValueError(f"adata.obs[{groupby!r}] is missing for all {adata.n_obs} cells; wanted groups.")
    nearest = positions(adata, tree, key).nearest_end(tree)
    rows = {}
    for label in labels.cat.categories:
        cells = np.flatnonzero((labels == label).to_numpy())
        if not len(cells):
            continue
        pseudotime = adata.obs[keys.pseudotime].iloc[cells].dropna()
        branch = adata.obs[keys.branch].iloc[cells].value_counts()
        rows[label] = {
            Column.N_CELLS: len(cells),
            "median_pseudotime": np.nan if pseudotime.empty else pseudotime.median(),  # in a part without the root
            "q25": pseudotime.quantile(0.25),
            "q75": pseudotime.quantile(0.75),
            "node": median_node(tree, np.bincount(nearest[cells], minlength=tree.n_nodes)),
            # cells at a node without edges lie on none
            "branch": str(branch.index[0]) if branch.sum() else None,
            "share_on_branch": float(branch.iloc[0] / len(cells)) if branch.sum() else np.nan,
        }
    table = pd.DataFrame.from_dict(rows, orient="index")
    starts = stored(adata, key).get(Entry.STARTS)
    if starts is not None:
        table[Column.STARTS] = starts[Column.FOUND_AGAIN].reindex(table["branch"]).to_numpy(dtype=np.float64)
    return table.sort_values("median_pseudotime", kind="stable").rename_axis(groupby)
