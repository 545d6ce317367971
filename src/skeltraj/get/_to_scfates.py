from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Keys, OrderEntry
from skeltraj._palette import palette
from skeltraj.core import Graph, Position
from skeltraj.core._geometry.neighbors import PointTree
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.warn import warn
from skeltraj.get._reading.coordinates import cells_in_embedding
from skeltraj.get._reading.one_tree import milestones, positions_on_tree, rank_from
from skeltraj.get._reading.positions import path_lengths

from ._assignment import assignment
from ._graph import graph
from ._ordered import ordered

_EMPTY_NODE_WEIGHT = 1e-12  # of the nearest cell at a node that holds none: too little to move it


@as_declared
@shared_texts
def to_scfates(adata: AnnData, key: str = "ddrtree") -> AnnData:
    """Return a copy in which scFates finds the stored tree and the order of the cells.

    scFates' own functions then run on it (``scFates.pl.graph``, ``trajectory``, ``milestones``, ``tl.dendrogram`` and
    so on) with the pseudotime, the branches and the root that are stored here. Do not run ``scFates.tl.root`` or
    ``tl.pseudotime``: they would order the cells again. scFates itself is not needed.

    Segment "3" is the third branch, "B3" (on a path, whatever its name). If the root lies on a branch and not at a tip
    or fork, scFates needs a segment on either side: the half towards the branch's ``end`` then gets the next number
    after the last, and the root is listed among the tips. Milestones have the names of the tips and forks ("T1", "F1",
    ..., and "root" for such a root). scFates' pictures show the numbers of nodes; ``uns["graph"]["milestones"]`` says
    which is which.

    scFates draws a node at the mean of the cells it holds, whatever the coordinates: any `obsm` key ``"X_<basis>"``
    will do as ``basis=`` (``"ddrtree"``, ``"umap"``, ...), of which it takes the first two columns (others by
    ``dimensions=(0, 2)``). The tree is thus drawn a little shorter than by `pl.graph`. Give `basis`; by default scFates
    only looks for UMAP and the like.

    Parameters
    ----------
    <adata_ordered>
    <key>

    Returns
    -------
    A copy of `adata`, in which what was stored under these names is replaced:

    ``.uns["graph"]`` : dict
        ``B`` (n_nodes, n_nodes), 1 where an edge is; ``F`` (n_components, n_nodes), coordinates; ``tips``, ``forks``,
        ``root`` (nodes); ``milestones`` (name to node); ``pp_info``, a row for each node: ``PP`` (the node), ``time``,
        ``seg`` (of the edge that leads to it); ``pp_seg``, a row for each segment: ``n`` (its name), ``from``, ``to``
        (nodes, away from the root), ``d`` (length); ``use_rep``, ``ndims_rep``, ``metrics``, ``method``.
    ``.obs["t"]``, ``.obs["seg"]``, ``.obs["edge"]``, ``.obs["milestones"]``
        Pseudotime as path length, whatever its units are; segment; nodes of the edge as "12|7", the nearer one first;
        nearer milestone along the segment.
    ``.obsm["X_R"]``
        Assignment to the nodes, dense, (n_obs, n_nodes): mind the memory. A node that holds no cell gets its nearest
        one with a weight of 1e-12, so that it can be drawn.
    ``.uns["pseudotime_list"]``, ``.uns["milestones_colors"]``, ``.uns["seg_colors"]``
        The order as scFates' single mapping; colours (a segment has that of the milestone it leads to).

    Raises
    ------
    KeyError
        If no skeleton is stored under `key`, its cells have not been ordered, or what belongs to them is gone.
    ValueError
        If the skeleton is not one tree (scFates reads neither loops nor several parts), or cells have no pseudotime.

    Warns
    -----
    UserWarning
        If segments hold no cell: ``scFates.pl.dendrogram`` then draws cells beside the segments they are on.

    Examples
    --------
    <example_ordered>
    >>> for_scfates = st.get.to_scfates(adata)
    >>> sorted(for_scfates.uns["graph"]["milestones"])
    ['F1', 'F2', 'F3', 'T1', 'T2', 'T3', 'T4', 'T5']
    >>> for_scfates.obs["seg"].cat.categories.tolist()
    ['1', '2', '3', '4', '5', '6', '7']
    """
    # 1. what is stored of the tree and of its cells
    root, tree = int(ordered(adata, key)[OrderEntry.ROOT]), graph(adata, key)
    position = positions_on_tree(tree, adata, key, "scFates")
    R = _assignment_drawable(adata, key, tree)

    # 2. the tree as scFates divides it: nodes, segments and milestones
    rank, name = rank_from(tree, root), milestones(tree, root)
    time = tree.distances_from(root)
    segment_of_edge, ends = _segments(tree, root, rank)
    seg_names = np.arange(1, len(ends) + 1).astype(str).astype(object)
    scfates_graph = _graph_of_skeleton(tree, root, name) | {
        "pp_info": _table_of_nodes(tree, root, rank, time, seg_names[segment_of_edge]),
        "pp_seg": _table_of_segments(time, ends, seg_names),
        "use_rep": Keys(key).coordinates,
        "ndims_rep": tree.nodes.shape[1],
        "metrics": "euclidean",
        "method": "ppt",  # scFates then reads the assignment as a soft one
    }

    # 3. the cells on it
    segment = segment_of_edge[position.edge]
    t = path_lengths(adata, tree, root, key)
    cells = _table_of_cells(adata, t, tree, position, pd.Categorical.from_codes(segment, categories=seg_names))
    nearer = _nearer_ends(cells["t"].to_numpy(), time, ends[segment])

    # 4. the copy. scFates names milestones by the order of their nodes' numbers as text; its tl.pseudotime counts on
    # that
    marks = sorted(name, key=str)
    mark_names, colors = [name[node] for node in marks], dict(zip(marks, palette(len(marks)), strict=True))
    result = adata.to_memory() if adata.isbacked else adata.copy()
    for column in cells:
        result.obs[column] = cells[column]
    result.obs["milestones"] = pd.Categorical([name[node] for node in nearer.tolist()], categories=mark_names)
    result.obsm["X_R"] = R
    result.uns["graph"] = scfates_graph
    result.uns["pseudotime_list"] = {"0": cells}
    result.uns["milestones_colors"] = list(colors.values())
    result.uns["seg_colors"] = [colors[node] for node in ends[:, 1].tolist()]

    # 5. what scFates will draw wrongly
    bare = seg_names[np.bincount(segment, minlength=len(ends)) == 0].tolist()
    if bare:
        warn(
            f"No cell lies on segment(s) {bare} of {len(ends)}: scFates.pl.dendrogram will draw cells beside the "
            "segments they are on."
        )
    return result


def _assignment_drawable(adata: AnnData, key: str, tree: Graph) -> np.ndarray:
    """Assignment, dense, (n_obs, n_nodes), in which every node has a cell."""
    points = cells_in_embedding(adata, key, tree.nodes)
    R = assignment(adata, key).toarray()
    empty = np.flatnonzero(R.sum(axis=0) == 0)
    R[PointTree(points).nearest(tree.nodes[empty])[0], empty] = _EMPTY_NODE_WEIGHT
    return R


def _segments(tree: Graph, root: int, rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Segment of each edge, counted from 0, and the ends of each segment, the one nearer to the root first."""
    of_edge, paths = tree.branch_of_edge.copy(), list(tree.branches)
    for i, path in enumerate(tree.branches):
        if root in path[1:-1]:
            cut = int(np.flatnonzero(path == root)[0])
            of_edge[tree.edges_along(path[cut:])] = len(paths)
            paths[i] = path[: cut + 1]
            paths.append(path[cut:])
    ends = np.array([[path[0], path[-1]] for path in paths])
    return of_edge, np.where((rank[ends[:, 0]] < rank[ends[:, 1]])[:, None], ends, ends[:, ::-1])


def _graph_of_skeleton(tree: Graph, root: int, name: dict[int, str]) -> dict[str, Any]:
    """Nodes and edges, and which nodes are tips, forks, root and milestones."""
    B = np.zeros((tree.n_nodes, tree.n_nodes), dtype=np.int64)
    B[tree.edges[:, 0], tree.edges[:, 1]] = B[tree.edges[:, 1], tree.edges[:, 0]] = 1
    # a root on a branch divides it into two segments, so that it is an end of both
    tips = np.sort(tree.tips if name[root] != "root" else np.r_[tree.tips, root])
    forks = np.sort(tree.forks)
    return {
        "B": B,
        "F": np.ascontiguousarray(tree.nodes.T),
        "tips": tips,
        "forks": forks,
        "root": root,
        "milestones": {name[node]: int(node) for node in [*tips, *forks]},
    }


def _table_of_nodes(tree: Graph, root: int, rank: np.ndarray, time: np.ndarray, segment: np.ndarray) -> pd.DataFrame:
    """A row for each node; `segment` is the name of that of each edge."""
    leads_to = np.where(rank[tree.edges[:, 0]] > rank[tree.edges[:, 1]], tree.edges[:, 0], tree.edges[:, 1])
    of_node = np.empty(tree.n_nodes, dtype=object)
    of_node[leads_to] = segment
    of_node[root] = min(segment[(tree.edges == root).any(axis=1)], key=int)  # no edge leads to the root
    return pd.DataFrame({"PP": np.arange(tree.n_nodes), "time": time, "seg": of_node})


def _table_of_segments(time: np.ndarray, ends: np.ndarray, seg_names: np.ndarray) -> pd.DataFrame:
    """A row for each segment, with its length."""
    length = time[ends[:, 1]] - time[ends[:, 0]]
    return pd.DataFrame(
        {"n": seg_names, "from": ends[:, 0], "to": ends[:, 1], "d": length}, index=np.arange(1, len(ends) + 1)
    )


def _table_of_cells(
    adata: AnnData, t: np.ndarray, tree: Graph, position: Position, segment: pd.Categorical
) -> pd.DataFrame:
    """Pseudotime, segment, and the nodes of the edge, the nearer one first, of each cell."""
    first = position.nearest_end(tree)
    second = tree.edges[position.edge].sum(axis=1) - first
    edge = pd.Categorical([f"{a}|{b}" for a, b in zip(first.tolist(), second.tolist(), strict=True)])
    return pd.DataFrame({"t": t, "seg": segment, "edge": edge}, index=adata.obs_names)


def _nearer_ends(t: np.ndarray, time: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The milestone that is nearer to each cell along its segment, of which `ends`, (n_obs, 2), are the two."""
    begin, length = time[ends[:, 0]], time[ends[:, 1]] - time[ends[:, 0]]
    return np.where(t - begin > length / 2, ends[:, 1], ends[:, 0])
