"""Cells on one ordered tree, for programs that read no other skeleton."""

from __future__ import annotations

import numpy as np
from anndata import AnnData

from skeltraj._keys import Keys
from skeltraj.core import Graph, Position

from .checks import refuse_empty, refuse_mesh
from .positions import positions


def positions_on_tree(tree: Graph, adata: AnnData, key: str, taker: str) -> Position:
    """The positions of ordered cells on their skeleton, for a `taker` that reads one tree only.

    Raises
    ------
    KeyError
        If the positions are gone.
    ValueError
        If the skeleton has loops or several parts, or cells have no pseudotime.
    """
    keys = Keys(key)
    refuse_empty(adata)
    refuse_mesh(tree, key, taker)
    if not tree.is_tree:
        raise ValueError(
            f"adata.uns[{key!r}] has {tree.n_loops} loop(s) and {tree.n_parts} part(s), and {taker} "
            "reads one tree only; wanted no loops and one part. skeltraj.get.networkx and "
            "skeltraj.get.trajectory_tables hand on any skeleton."
        )
    lost = int(adata.obs[keys.pseudotime].isna().sum())
    if lost:
        raise ValueError(
            f"{lost} of {adata.n_obs} cells have no adata.obs[{keys.pseudotime!r}] (NaN); wanted ordered cells. Run "
            f"skeltraj.tl.order(adata, root=..., key={key!r}) again, or leave them out."
        )
    return positions(adata, tree, key)


def rank_from(tree: Graph, root: int) -> np.ndarray:
    """Rank of each node, breadth first from the root, (n_nodes,): on every edge the node nearer to it has the lower."""
    rank = np.empty(tree.n_nodes, dtype=np.int64)
    rank[tree.breadth_first(root)[0]] = np.arange(tree.n_nodes)
    return rank


def milestones(tree: Graph, root: int) -> dict[int, str]:
    """Names of the tips and forks by their nodes, and of a root that is neither ("root")."""
    label = tree.node_names
    return label if root in label else label | {root: "root"}
