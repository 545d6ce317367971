from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core, get
from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, Keys, OrderEntry, names
from skeltraj.core._graph.join import ends_of_parts, nearest_pair, parts_with_points
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.get._reading.checks import refuse_mesh
from skeltraj.get._reading.coordinates import cells_in_embedding
from skeltraj.get._reading.order import order_of
from skeltraj.tl._inputs.copies import refuse_copy_on_disk
from skeltraj.tl._inputs.node_ids import node_of
from skeltraj.tl._results.added_edges import renumbered_table
from skeltraj.tl._results.graft import assign_again, branch_of
from skeltraj.tl._results.write_fit import replace_skeleton

End = int | str


@interruptible()
@as_declared
@shared_texts
def attach(
    adata: AnnData,
    a: End | None = None,
    b: End | None = None,
    *,
    branch: str | None = None,
    tips_only: bool = False,
    empty_parts: bool = False,
    key: str = "ddrtree",
    copy: bool = False,
) -> AnnData | None:
    """Join parts of the stored skeleton by new edges, or graft another skeleton onto it.

    With `a` and `b`, an edge between these two nodes is added. Without them, the shortest edges that connect the parts
    are added: the minimum spanning tree over the parts, between their nearest nodes. With `branch`, the nodes and edges
    of that skeleton are added and joined by one edge, from `a` (a node of the skeleton) to `b` (a node of the branch),
    or, if these are not given, between the nearest nodes.

    The order of the cells is removed, since it belongs to the old tree: order them again. All other results of the old
    tree are removed as well: tests and curves of genes, composition, survival, stability, direction, the record of
    pruning, and ``starts``, the support of the branches in the other trees of the fit.

    Parameters
    ----------
    <adata_fitted>
    a, b
        Nodes to join: tips or forks ("T1", "F1"), nodes (int), or "root" (once the cells are ordered). With `branch`,
        `b` is a node of the branch, by its name there.
    branch
        Key of another stored skeleton whose nodes are in the same space: one with the same input as this one, or with
        this one's coordinates as its input (as by ``tl.principal_tree(part, use_rep="X_ddrtree", key_added="arm")``; if
        it was learned on some of the cells, it is enough to copy its `uns` entry), or with the same loadings. It must
        be in one part, and is left as it is.
    tips_only
        If nodes are chosen automatically: only consider tips and nodes without edges (in parts that have neither, any
        node).
    empty_parts
        If nodes are chosen automatically: also join parts on which no cell lies. By default these are left as they are.
    <key>
    <copy>

    Returns
    -------
    None, or with ``copy=True`` the copy. Changes the following fields (for ``key="ddrtree"``):

    ``.uns["ddrtree"]``
        ``nodes``, ``edges`` and ``edge_length``: additions come last, so numbers stay. ``weights``, if there are any: a
        new edge has the median of the earlier ones (1 in a tree), a branch its own, or 1.
    ``.uns["ddrtree"]["attached"]`` : DataFrame
        One row for each edge that has joined parts, those of earlier calls first, then those that the branch had:
        ``edge`` (row of the stored edges), ``node_a``, ``node_b``, ``length``, and ``part_a``, ``part_b``: the parts
        that it joined, as they were called before ("C1", ..., as `tl.order` names them), or the key of the branch.
    ``.obsm["ddrtree_assignment"]``
        Only with `branch`: assignment to all nodes, old and new, with the fit's ``sigma``. For principal trees and
        graphs also the coordinates, which are the means of the nodes by assignment.

    Raises
    ------
    KeyError
        If there is no fit of that name, or no such branch.
    TypeError, ValueError
        If a node does not exist; if the edge would close a loop; if there is nothing to join; if the branch lives in
        another space; if the input of a principal tree or graph is not what it was fitted on. `adata` is then
        unchanged.

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.two_moons(200)
    >>> # no edge joins the two moons
    >>> st.tl.principal_graph(adata, n_nodes=30, groups="part")
    >>> st.get.graph(adata, "principal_graph").n_parts
    2
    >>> st.tl.attach(adata, key="principal_graph")  # now the shortest one does
    >>> st.get.graph(adata, "principal_graph").n_parts
    1
    """
    refuse_copy_on_disk(adata, copy)
    keys, stored, old = Keys(key), get.stored(adata, key), get.graph(adata, key)
    refuse_mesh(old, key, "skeltraj.tl.attach")
    root = _root_of(stored, old, key)
    parts = names("C", old.n_parts)[old.component]
    allowed = lambda: _nodes_to_join(adata, key, old, tips_only=tips_only, empty_parts=empty_parts)
    whole, weights_added = old, np.empty(0)
    if branch is not None:
        added = branch_of(adata, branch, key)
        whole = core.Graph(np.vstack([old.nodes, added.nodes]), np.vstack([old.edges, added.edges + old.n_nodes]))
        weights_added = _weights_of(get.stored(adata, branch), added)
        parts = np.r_[parts, np.full(added.n_nodes, branch, dtype=object)]
        ends = ends_of_parts(added) if tips_only else np.arange(added.n_nodes)
        some = allowed() if a is None else np.array([node_of(old, a, "a", root)])
        others = (ends if b is None else np.array([_node_of_branch(adata, branch, b)])) + old.n_nodes
        new = np.array([nearest_pair(whole, some, others)])
    elif a is None and b is None:
        new = _between_parts(old, allowed(), key)
    elif a is None or b is None:
        raise ValueError(f"a={a!r}, b={b!r}: wanted two nodes to join, or none to join all parts.")
    else:
        new = _between_nodes(old, a, b, root)

    joined = core.Graph(whole.nodes, np.vstack([whole.edges, new]).astype(np.int64))
    weights = _joined_weights(stored[Entry.WEIGHTS], weights_added, len(new)) if Entry.WEIGHTS in stored else None
    tables = [stored.get(Entry.ATTACHED)]
    if branch is not None:
        there = (len(old.edges) + np.arange(len(added.edges)), old.n_nodes + np.arange(added.n_nodes))
        tables.append(renumbered_table(get.stored(adata, branch), *there))
    table = _all_attached([*tables, _table(joined, len(whole.edges), parts)])
    assignment, coordinates = (None, None) if branch is None else assign_again(adata, key, joined.nodes)

    adata = adata.copy() if copy else adata
    replace_skeleton(
        adata,
        keys,
        joined,
        weights=weights,
        assignment=assignment,
        coordinates=coordinates,
        more={Entry.ATTACHED: table},
        of_others=copy,
    )
    return adata if copy else None


def _root_of(stored: Mapping[str, Any], graph: core.Graph, key: str) -> int | None:
    """The root of a skeleton along which cells were ordered."""
    order = order_of(stored, graph, key)
    return None if order is None else int(order[OrderEntry.ROOT])


def _node_of_branch(adata: AnnData, branch: str, b: End) -> int:
    """The node that `b` names on the branch as it is stored.

    In other columns, or taken from a larger skeleton, tips and forks have other names than as they are put here.
    """
    graph = get.graph(adata, branch)
    return node_of(graph, b, "b", _root_of(get.stored(adata, branch), graph, branch))


def _between_nodes(graph: core.Graph, a: End, b: End, root: int | None) -> np.ndarray:
    """The edge that joins two nodes, (1, 2)."""
    one, two = node_of(graph, a, "a", root), node_of(graph, b, "b", root)
    if graph.component[one] == graph.component[two]:
        raise ValueError(
            f"a={a!r} and b={b!r} (nodes {one} and {two}) both lie on component C{graph.component[one] + 1}: an edge "
            f"between them would close a loop; wanted nodes of two components, of {graph.n_parts}."
        )
    return np.array([sorted((one, two))])


def _between_parts(graph: core.Graph, allowed: np.ndarray, key: str) -> np.ndarray:
    """The edges that join the parts of the nodes that may be joined."""
    n_parts = len(np.unique(graph.component[allowed]))
    if n_parts < 2:
        n_empty = graph.n_parts - n_parts
        hint = f" with cells (empty_parts=True joins {n_empty} without, too)" if n_empty else ""
        raise ValueError(f"the skeleton {key!r} is in {n_parts} part{hint}; wanted at least two to join.")
    return core.joining_edges(graph, allowed)


def _nodes_to_join(adata: AnnData, key: str, graph: core.Graph, *, tips_only: bool, empty_parts: bool) -> np.ndarray:
    """Nodes at which parts may be joined."""
    allowed = ends_of_parts(graph) if tips_only else np.arange(graph.n_nodes)
    if empty_parts:
        return allowed
    held = parts_with_points(graph, cells_in_embedding(adata, key, graph.nodes))
    return allowed[np.isin(graph.component[allowed], held)]


def _weights_of(stored: Mapping[str, Any], graph: core.Graph) -> np.ndarray:
    """The weights of the edges of a stored skeleton, 1 where it has none."""
    return np.asarray(stored.get(Entry.WEIGHTS, np.ones(len(graph.edges))), dtype=np.float64)


def _joined_weights(stored: Any, added: np.ndarray, n_new: int) -> np.ndarray:
    """Weights of the stored edges, of those added, and of new ones: the median of the stored, or 1."""
    old = np.asarray(stored, dtype=np.float64)
    return np.r_[old, added, np.full(n_new, np.median(old) if len(old) else 1.0)]


def _all_attached(tables: Sequence[pd.DataFrame | None]) -> pd.DataFrame:
    """The edges of several tables, as far as there are some, numbered together."""
    table = pd.concat([one for one in tables if one is not None])
    table.index = names("A", len(table))
    return table


def _table(graph: core.Graph, n_before: int, parts: np.ndarray) -> pd.DataFrame:
    """The new edges, and the parts that they joined."""
    edge = np.arange(n_before, len(graph.edges))
    a, b = graph.edges[edge].T
    columns: dict[str, Any] = {"edge": edge, "node_a": a, "node_b": b, "length": graph.edge_length[edge]}
    columns |= {"part_a": parts[a].astype(str), "part_b": parts[b].astype(str)}
    return pd.DataFrame(columns, index=names("A", len(edge)))
