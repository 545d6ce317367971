from __future__ import annotations

import numpy as np
from anndata import AnnData

from skeltraj._keys import Keys, OrderEntry, names
from skeltraj.core import Graph, Mesh, Position

from ._graph import graph
from ._stored import available, ordered, refuse_empty


def one_tree(adata: AnnData, key: str, taker: str) -> tuple[Graph, Position, int]:
    """The tree, the positions of the cells on it and the root, for a `taker` that reads one ordered tree only.

    Raises
    ------
    KeyError
        If no skeleton is stored under `key`, its cells have not been ordered, or their positions are gone.
    ValueError
        If the skeleton has loops or several parts, or cells have no pseudotime.
    """
    order, keys, tree = ordered(adata, key), Keys(key), graph(adata, key)
    refuse_empty(adata)
    refuse_mesh(tree, key, taker)
    if not tree.is_tree:
        raise ValueError(
            f"adata.uns[{key!r}] has {tree.n_loops} loop(s) and {int(tree.component.max()) + 1} part(s), and {taker} reads "
            "one tree only; wanted no loops and one part. skeltraj.get.networkx and skeltraj.get.trajectory_tables hand "
            "on any skeleton."
        )
    if keys.position not in adata.obsm:
        raise KeyError(
            f"adata.obsm has no {keys.position!r}, which skeltraj.tl.order stored. Available: {available(adata.obsm)}."
        )
    lost = int(adata.obs[keys.pseudotime].isna().sum())
    if lost:
        raise ValueError(
            f"{lost} of {adata.n_obs} cells have no adata.obs[{keys.pseudotime!r}] (NaN); wanted ordered cells. Run "
            f"skeltraj.tl.order(adata, root=..., key={key!r}) again, or leave them out."
        )
    table = adata.obsm[keys.position]
    edge = table["edge"].to_numpy(dtype=np.int64)
    return tree, Position(edge, table["fraction"].to_numpy(), table["distance"].to_numpy()), int(order[OrderEntry.ROOT])


def refuse_mesh(graph: Graph, key: str, taker: str) -> None:
    """Raise if the skeleton joins the cells themselves."""
    if isinstance(graph, Mesh):
        raise ValueError(
            f"adata.uns[{key!r}] joins the cells themselves by their similarities, without tips and forks, and {taker} reads "
            "the branches of a skeleton; wanted one that has some, for example "
            f"skeltraj.tl.principal_tree(adata, use_rep={Keys(key).coordinates!r})."
        )


def rank_from(tree: Graph, root: int) -> np.ndarray:
    """Rank of each node, breadth first from the root, (n_nodes,): on every edge the node nearer to the root has the lower."""
    rank = np.empty(tree.n_nodes, dtype=np.int64)
    rank[tree.breadth_first(root)[0]] = np.arange(tree.n_nodes)
    return rank


def milestones(tree: Graph, root: int) -> dict[int, str]:
    """Names of the tips and forks by their nodes, and of a root that is neither ("root")."""
    tips = zip(tree.tips.tolist(), names("T", len(tree.tips)).tolist(), strict=True)
    forks = zip(tree.forks.tolist(), names("F", len(tree.forks)).tolist(), strict=True)
    found = dict(tips) | dict(forks)
    return found if root in found else found | {root: "root"}
