from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core, get
from skeltraj._docs import shared_texts
from skeltraj._keys import Keys, OrderEntry
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.core._runtime.warn import warn
from skeltraj.get._reading.certainty import empty_stretch_warnings
from skeltraj.get._reading.checks import refuse_empty
from skeltraj.get._reading.coordinates import cells_in_embedding
from skeltraj.get._reading.unexplained import unexplained_stretches
from skeltraj.tl._inputs.cells_of_fit import warn_of_cells_of_another_fit
from skeltraj.tl._inputs.copies import refuse_copy_on_disk
from skeltraj.tl._inputs.root import Root, refuse_point, root_node
from skeltraj.tl._results.write_order import store_order


@interruptible()
@as_declared
@shared_texts
def order(adata: AnnData, root: Root = None, *, key: str = "ddrtree", copy: bool = False) -> AnnData | None:
    """Order the cells along the stored tree: their pseudotime, branches and lineages.

    Every cell is put on its exact nearest point of the whole tree; its pseudotime is the path length from the root to
    that point, in the units of the embedding. If the skeleton joins the cells themselves (`tl.mpme`, `tl.spl`),
    pseudotime is the length of the shortest path along similar cells; what is said about tips below then holds for all
    cells, each connected part is one branch, and there are no lineages.

    Parameters
    ----------
    adata
        Annotated data with a fitted tree.
    root
        Where the process begins. One of:

        - the name of a cell: the node nearest to it in the embedding;
        - where no cell is called so, a tip or fork by its name in pictures and tables ("T3", "F1");
        - likewise "direction": the root that `tl.direction` found to agree best with all branches;
        - ``{"stage": "normal"}`` or ``{"day": 0}``, a column of `obs` and one of its values: the tip with the smallest
          mean path length to these cells;
        - ``{"score": "max"}`` or ``"min"``, a numeric column of `obs`, or a gene (its values in `X`): the tip around
          which it is highest or lowest (mean over the twentieth of the cells nearest to the tip, at least 10);
        - an int: that node, a row of ``adata.uns["ddrtree"]["nodes"]``;
        - None: the tip with the largest mean path length to all cells. That is a guess of the direction: a warning says
          so, and the ranking of the tips is stored.
    <key>
    <copy>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets the following fields (for ``key="ddrtree"``):

    ``.obs["ddrtree_pseudotime"]`` : float64
        Path length from the root; NaN for cells on a component without the root.
    ``.obs["ddrtree_branch"]`` : categorical
        Branch on which the cell lies: "B1", "B2", ... The ids do not depend on the root.
    ``.uns["ddrtree_branch_colors"]`` : array of str
        A colour for each branch, where scanpy looks for it. Existing colours stay if the number of branches is the
        same.
    ``.obs["ddrtree_component"]`` : categorical
        Only if the skeleton is in several parts: "C1", "C2", ...
    ``.obsm["ddrtree_position"]`` : DataFrame
        ``edge`` (row of the stored edges), ``fraction`` along it (0 at its first node), ``distance`` to the tree.
    ``.obsm["ddrtree_lineages"]`` : DataFrame
        One column per lineage, named by the tip at which it ends ("T1", ...): the share of the cell's assignment
        that lies on the path from the root to that tip. Cells of the trunk have 1 in every lineage.
    ``.uns["ddrtree"]["order"]`` : dict
        ``root`` (node), ``root_rule``, ``node_pseudotime`` (n_nodes), ``tips`` and ``forks`` (tables: id and node),
        ``branches`` (table: id, its two ends, length, cells), and, if the root was guessed, ``ranking`` (table).

    Results that belong to an earlier order are removed: tests and curves of genes (also those written by
    :func:`skeltraj.tl.rank_genes_groups`), composition, survival and stability.
    The direction of the branches stays.

    Raises
    ------
    KeyError
        If there is no fit of that name, no such cell, column, gene or category, or no direction is stored.
    TypeError, ValueError
        If the root cannot be read, a node does not exist, or a gene or score is the same for all cells. `adata` is
        then unchanged.

    Warns
    -----
    UserWarning
        If the root was guessed, if its name is that of both a cell and a tip or fork elsewhere, if it was taken from a
        direction that is not significant, if it is the tip nearest to a group but most cells around it are of other
        groups, or if cells lie on components without the root; if many cells lie far from the nodes to which they are
        assigned, as after `anndata.concat` of two fits of one name; if no cell lies on a long stretch of the tree
        (:func:`skeltraj.core.empty_stretches`) that is not an edge of :func:`skeltraj.tl.attach`.

    Examples
    --------
    <example_fitted>
    >>> st.tl.order(adata, root={"cell_type": "progenitor"})
    >>> adata.uns["ddrtree"]["order"]["root_rule"]
    'the tip nearest to cell_type = progenitor'
    >>> adata.obs["ddrtree_branch"].cat.categories.tolist()
    ['B1', 'B2', 'B3', 'B4', 'B5', 'B6', 'B7']

    Other ways to say where the process begins:

    >>> # a tip, as it is called in pictures and tables
    >>> st.tl.order(adata, root="T3")
    >>> # a cell
    >>> st.tl.order(adata, root=adata.obs_names[0])
    >>> # where a gene or a numeric column of `obs` is highest
    >>> st.tl.order(adata, root={"Gata2": "max"})
    >>> # a node
    >>> st.tl.order(adata, root=12)
    """
    refuse_copy_on_disk(adata, copy)
    keys = Keys(key)
    graph = get.graph(adata, key)
    refuse_empty(adata)
    points, assignment = cells_in_embedding(adata, key, graph.nodes), get.assignment(adata, key)
    mesh = isinstance(graph, core.Mesh)
    if not mesh:
        warn_of_cells_of_another_fit(adata, graph, points, assignment, key)
    position = core.at_nodes(graph, assignment.indices) if mesh else core.locate(graph, points)
    node, rule = root_node(adata, root, graph, position, points, key)
    if mesh:
        refuse_point(graph, node, key)
    ordering = core.order(graph, position, node, assignment)

    record: dict[str, Any] = {OrderEntry.ROOT: node, OrderEntry.RULE: rule}
    if root is None:
        record[OrderEntry.RANKING] = _ranking(graph, position)
        warn(_guessed(record[OrderEntry.RANKING], graph, key))
    if not len(ordering.tips) and not mesh:
        warn(
            "No lineage was found: no other tip can be reached from the root, as on a ring or in a mesh of loops. "
            "Pseudotime is the length of the shortest path from the root."
        )
    n_lost = int(np.isnan(ordering.pseudotime).sum())
    if n_lost:
        warn(_lost(n_lost, graph, position, node, keys))
    for message in empty_stretch_warnings(unexplained_stretches(get.stored(adata, key), graph, position)):
        warn(message)

    adata = adata.copy() if copy else adata
    store_order(adata, keys, graph, ordering, record)
    return adata if copy else None


def _ranking(graph: core.Graph, position: core.Position) -> pd.DataFrame:
    """The tips by their mean path length to all cells, the largest first; nodes, where there are no tips."""
    tips, mean = core.rank_tips(graph, position)
    tip_names = dict(zip(graph.tips.tolist(), graph.tip_names, strict=True))
    labels = [tip_names.get(tip, f"node {tip}") for tip in tips.tolist()]
    return pd.DataFrame({"node": tips, "mean_path_length": mean}, index=pd.Index(labels, name="tip"))


def _guessed(ranking: pd.DataFrame, graph: core.Graph, key: str) -> str:
    """The message that the root is the first of the ranking."""
    label, node = ranking.index[0], ranking["node"].iloc[0]
    first = f"tip {label} (node {node})" if label in graph.tip_names else label
    return (
        f"No root was given: {first} was taken, the one with the largest mean path length to all cells. The "
        f"direction is a guess; the ranking is in adata.uns[{key!r}]['order']['ranking']."
    )


def _lost(n_lost: int, graph: core.Graph, position: core.Position, root: int, keys: Keys) -> str:
    """The message that cells lie on components without the root."""
    count = np.bincount(position.component(graph))
    sizes = ", ".join(f"C{i + 1} ({n} cells)" for i, n in enumerate(count) if n)
    remedy = (
        "learn them again with a smaller lam (skeltraj.tl.mpme), more neighbours or a larger scale (skeltraj.tl.spl)"
        if isinstance(graph, core.Mesh)
        else "join the parts (skeltraj.tl.attach), learn a tree (skeltraj.tl.principal_tree), or "
        "allow more pairs of nodes (`candidates`, a smaller `min_weight`)"
    )
    return (
        f"{n_lost} of {count.sum()} cells lie on components without the root and have no pseudotime (NaN). "
        f"Components: {sizes}; the root lies in C{graph.component[root] + 1}; adata.obs[{keys.component!r}] names "
        f"each cell's. To order them together, {remedy}; else order each part by itself."
    )
