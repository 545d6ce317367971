from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from anndata import AnnData

from skeltraj import core, get
from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, Keys, OrderEntry, PathEntry
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.get._reading.checks import refuse_mesh
from skeltraj.get._reading.coordinates import cells_in_embedding
from skeltraj.get._reading.positions import positions
from skeltraj.tl._inputs.node_ids import node_of
from skeltraj.tl._results.added_edges import numbers_of, renumbered_table
from skeltraj.tl._results.write_fit import replace_skeleton

from ._order import order

End = int | str


_AS_ON_WHOLE = "as on the whole: "


@interruptible()
@as_declared
@shared_texts
def select_path(adata: AnnData, start: End, end: End | Sequence[End], *, key: str = "ddrtree") -> AnnData:
    """Select the cells along a path of the stored tree, as a new AnnData whose tree is the path.

    It contains the cells whose position on the tree (see :func:`skeltraj.tl.order`) lies on an edge of the path or
    exactly at one of its nodes. They are ordered again from the same root, so they keep their pseudotime (on graphs
    with loops, as long as no shorter way leads outside the path). If the root does not lie on the path, `start` becomes
    the root and pseudotime is the path length from there; ``root_rule`` says so.

    Tips, forks and branches keep their names: T2 of the whole tree is T2 of the path, in pictures, tables, `obs`
    columns and arguments. A fork that no longer divides loses its name; the branch that runs through it combines the
    names of its parts ("B2+B4"), and an end of the path within a branch is a tip "cut1". The names stay when the cells
    are ordered again or a path is taken from the path. A new fit under `key`, or :func:`skeltraj.tl.attach`, makes
    another tree with names of its own.

    Parameters
    ----------
    adata
        Annotated data with ordered cells; not changed.
    start
        Where the path begins: a tip or fork ("T1", "F1"), a node (int), or "root".
    end
        Where it ends, given likewise; several ends select all paths from `start` to them. On graphs with loops, a path
        is the shortest one.
    <key>

    Returns
    -------
    A new AnnData (in memory) of these cells, with everything that `adata` holds for them. Under `key` it differs:

    ``.uns["ddrtree"]``
        ``nodes``, ``edges``, ``edge_length`` and ``weights`` of the path alone, nodes renumbered in the same order;
        ``path``: ``start`` and ``end`` (node numbers), ``nodes`` and ``edges`` (those of the path) as they are numbered
        in `adata`, and the names of its ``tips``, ``forks`` and ``branches``. The record of the fit stays (``params``,
        with ``n_nodes`` of the path; ``objective``, ``mean``, ``loadings``, ...), and so does ``attached`` for edges of
        the path that :func:`skeltraj.tl.attach` added; other entries belong to the whole tree and are left out.
    ``.obsm["ddrtree_assignment"]``
        The columns of the path's nodes, divided by their sum in each row; a cell that is assigned to none of them is
        assigned to the nearer end of its edge.
    What `tl.order` stores
        As above.

    Raises
    ------
    KeyError
        If there is no fit of that name, or its cells have not been ordered.
    TypeError, ValueError
        If an end is not on the tree, no path leads there, or no cell lies along it; if the skeleton joins the cells
        themselves (`tl.mpme`, `tl.spl`).

    Examples
    --------
    <example_ordered>
    >>> path = st.tl.select_path(adata, "root", "T1")
    >>> path.n_obs < adata.n_obs
    True
    >>> graph = st.get.graph(path)
    >>> graph.tip_names.tolist(), graph.fork_names.tolist()
    (['T1', 'T3'], [])
    """
    record = get.ordered(adata, key)
    keys, graph, root = Keys(key), get.graph(adata, key), int(record[OrderEntry.ROOT])
    refuse_mesh(graph, key, "skeltraj.tl.select_path")
    points = cells_in_embedding(adata, key, graph.nodes)
    first = node_of(graph, start, "start", root)
    wanted: list[End] = list(end) if check.is_list(end) else [end]  # type: ignore[list-item,arg-type]
    if not wanted:
        raise ValueError("end is an empty list; wanted at least one tip, fork or node.")
    last = [node_of(graph, which, "end", root) for which in wanted]
    for which, node in zip(wanted, last, strict=True):
        if node == first:
            raise ValueError(f"start={start!r} and end={which!r} are the same node, {node}; wanted a path between two.")
        if graph.component[node] != graph.component[first]:
            raise ValueError(
                f"no path leads from start={start!r} to end={which!r}: they lie on components "
                f"C{graph.component[first] + 1} and C{graph.component[node] + 1}. Join these first, with "
                "skeltraj.tl.attach."
            )
    part = core.paths(graph, first, last)
    has_branch = adata.obs[keys.branch].notna().to_numpy()  # cells at a node without edges have none
    cells = part.holds(positions(adata, graph, key)) & has_branch
    if not cells.any():
        raise ValueError(
            f"none of {adata.n_obs} cells lies along the path from start={start!r} to end={end!r}, of "
            f"{len(part.edges)} edges; wanted at least one."
        )

    stored, chosen = get.stored(adata, key), adata[cells]
    here = part.graph
    assignment = None
    if keys.assignment in adata.obsm:
        assignment = part.assignment(get.assignment(chosen, key), core.locate(here, points[cells]))
    weights = np.asarray(stored[Entry.WEIGHTS])[part.edges] if Entry.WEIGHTS in stored else None
    path = {
        PathEntry.START: first,
        PathEntry.END: np.array(last),
        PathEntry.NODES: part.nodes,
        PathEntry.EDGES: part.edges,
        PathEntry.TIPS: here.tip_names,
        PathEntry.FORKS: here.fork_names,
        PathEntry.BRANCHES: here.branch_names,
    }
    added = renumbered_table(stored, numbers_of(part.edges, len(graph.edges)), numbers_of(part.nodes, graph.n_nodes))
    more = {Entry.PATH: path} | ({} if added is None else {Entry.ATTACHED: added})
    on_path = root in part.nodes
    begin = root if on_path else first
    on_whole = record[OrderEntry.RULE].removeprefix(_AS_ON_WHOLE)  # of a path, that of the whole
    rule = f"{_AS_ON_WHOLE}{on_whole}" if on_path else "the start of the path; the root is not on it"
    selected = chosen.to_memory() if adata.isbacked else chosen.copy()
    replace_skeleton(selected, keys, here, weights=weights, assignment=assignment, more=more)
    order(selected, int(np.searchsorted(part.nodes, begin)), key=key)
    selected.uns[keys.uns][Entry.ORDER][OrderEntry.RULE] = rule
    _keep_colors(adata, selected, keys)
    return selected


def _keep_colors(adata: AnnData, selected: AnnData, keys: Keys) -> None:
    """Give branches the colours they have on the whole; one made of several has the first one's."""
    colors, whole = adata.uns.get(keys.branch_colors), list(adata.obs[keys.branch].cat.categories)
    here = list(selected.obs[keys.branch].cat.categories)
    color = {} if colors is None else dict(zip(whole, colors, strict=False))
    known = [color.get(name, color.get(name.partition("+")[0])) for name in here]
    if None not in known:
        selected.uns[keys.branch_colors] = np.array(known, dtype=object)
