"""An ordered tree whose leaves are its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from anndata import AnnData

from skeltraj.core import Graph, Position

from .one_tree import milestones, rank_from

if TYPE_CHECKING:
    from networkx import DiGraph


def cell_tree(tree: Graph, position: Position, root: int, adata: AnnData, key: str) -> DiGraph:
    """The ordered tree as a directed graph away from the root, whose leaves are the cells; see `to_treedata`."""
    from networkx import DiGraph

    cells = adata.obs_names.to_numpy()
    if not adata.obs_names.is_unique:
        twice = adata.obs_names[adata.obs_names.duplicated()][0]
        raise ValueError(
            f"{twice!r} names several cells in adata.obs_names; wanted one each (adata.obs_names_make_unique())."
        )
    label = milestones(tree, root)
    node_name = [f"{key}:{label.get(v, f'N{v}')}" for v in range(tree.n_nodes)]
    taken = [cell for cell in cells if str(cell).startswith(f"{key}:")]
    if taken:
        raise ValueError(
            f"cell {taken[0]!r} has a name like those of the tree's nodes; wanted none that begins with {key + ':'!r}."
        )

    rank, time, t = rank_from(tree, root), tree.distances_from(root), position.distances_from(tree, root)
    branch = tree.branch_names[tree.branch_of_edge]
    turned = rank[tree.edges[:, 0]] > rank[tree.edges[:, 1]]
    upper = np.where(turned, tree.edges[:, 1], tree.edges[:, 0])
    lower = np.where(turned, tree.edges[:, 0], tree.edges[:, 1])
    share = np.where(turned[position.edge], 1 - position.fraction, position.fraction)  # of the edge, from the root
    by = np.lexsort((cells.astype(str), share, position.edge))
    starts = np.searchsorted(position.edge[by], np.arange(len(tree.edges) + 1))

    rooted = DiGraph()
    rooted.add_node(node_name[root], depth=0.0)

    def lead(start: str, end: str, depth: float, e: int) -> None:
        rooted.add_node(end, depth=depth)
        rooted.add_edge(start, end, length=max(depth - rooted.nodes[start]["depth"], 0.0), branch=str(branch[e]))

    for e in np.argsort(rank[lower]).tolist():  # from the root outwards
        at, end, reached = node_name[upper[e]], node_name[lower[e]], 0.0
        for i in by[starts[e] : starts[e + 1]].tolist():
            if share[i] > reached:  # the edge is cut here, unless the cell is at its end
                point, reached = end if share[i] == 1 else f"{key}:at {cells[i]}", share[i]
                lead(at, point, float(time[lower[e]] if share[i] == 1 else t[i]), e)
                at = point
            lead(at, cells[i], float(t[i]), e)
        if at != end:
            lead(at, end, float(time[lower[e]]), e)
    for e in np.argsort(-rank[lower]).tolist():  # ends beyond the last cell
        if not rooted.out_degree(node_name[lower[e]]):
            rooted.remove_node(node_name[lower[e]])
    return rooted
