from __future__ import annotations

from typing import Any

import numpy as np
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, PathEntry
from skeltraj.core import Graph, Mesh, Names
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.checks import method_of

from ._stored import stored


@as_declared
@shared_texts
def graph(adata: AnnData, key: str = "ddrtree") -> Graph:
    """The stored skeleton as an object.

    Parameters
    ----------
    <adata_fitted>
    <key>

    Returns
    -------
    Its nodes, edges, lengths, tips, forks and branches, with their names. For learned similarities (`tl.mpme`,
    `tl.spl`), a :class:`skeltraj.core.Mesh`: the cells, joined where they are similar, without tips and forks.

    Raises
    ------
    KeyError
        If no skeleton is stored under `key`.
    ValueError
        If the stored skeleton is invalid: edges between nodes that do not exist, coordinates that are not finite, or
        names of a path that do not match its tips, forks and branches.

    Examples
    --------
    <example_fitted>
    >>> graph = st.get.graph(adata)
    >>> graph.tip_names.tolist(), graph.fork_names.tolist()
    (['T1', 'T2', 'T3', 'T4', 'T5'], ['F1', 'F2', 'F3'])
    >>> len(graph.branches), graph.n_parts
    (7, 1)
    """
    fit = stored(adata, key)
    method = method_of(fit)
    graph_type = Mesh if method is not None and method.joins_rows else Graph
    nodes, edges = np.asarray(fit[Entry.NODES], dtype=np.float64), np.asarray(fit[Entry.EDGES], dtype=np.int64)
    try:
        skeleton = graph_type(nodes, edges, _names(fit))
    except (TypeError, ValueError) as error:
        raise ValueError(f"adata.uns[{key!r}] holds no skeleton: {error}") from error
    if method is not None and method.learns_forest and skeleton.n_loops:
        raise ValueError(
            f"adata.uns[{key!r}] is of method {method.name!r}, which learns trees, and its edges close "
            f"{skeleton.n_loops} loop(s): they were changed since they were stored. Fit again."
        )
    return skeleton


def _names(fit: dict[str, Any]) -> Names | None:
    """The names that a path has from the whole skeleton; None: those of any skeleton."""
    path = fit.get(Entry.PATH, {})
    slots = (PathEntry.TIPS, PathEntry.FORKS, PathEntry.BRANCHES)
    if not all(slot in path for slot in slots):
        return None
    return Names(*(tuple(map(str, path[slot])) for slot in slots))
