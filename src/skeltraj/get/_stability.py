from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, StabilityEntry
from skeltraj._printing import Printed
from skeltraj.core import Graph
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.entries import made

from ._ordered import ordered
from ._stored import stored


@dataclass(frozen=True, eq=False, repr=False)
class StabilityTables(Printed):
    """How stable a tree is, as :func:`skeltraj.tl.stability` found it.

    Parameters
    ----------
    branches
        One row for each branch: ``support``, ``found_again``, ``overlap``, ``n_cells``.
    forks
        One row for each fork: ``node``, ``n_sides``, ``support``, ``triplets``.
    edges
        One row for each edge, as stored: ``source``, ``target``, ``branch``, ``support``.
    consensus
        The tree without the parts that fewer than half of the replicates have.
    place
        For each node of the tree, its number in `consensus`, (n_nodes,); -1 if it is gone.
    n_replicates
        Number of times the tree was learned again.
    vary
        What differed between the replicates.
    """

    branches: pd.DataFrame
    forks: pd.DataFrame
    edges: pd.DataFrame
    consensus: Graph
    place: np.ndarray
    n_replicates: int
    vary: tuple[str, ...]


@as_declared
@shared_texts
def stability(adata: AnnData, key: str = "ddrtree") -> StabilityTables:
    """The stored support of branches, forks and edges of a tree, and the consensus of its replicates.

    Parameters
    ----------
    adata
        Annotated data for which :func:`skeltraj.tl.stability` was run.
    <key>

    Returns
    -------
    A :class:`StabilityTables`, of copies.

    Raises
    ------
    KeyError
        If nothing is stored.

    Examples
    --------
    <example_ordered>
    >>> # more for results: the default is 50
    >>> st.tl.stability(adata, n_replicates=5)
    >>> tables = st.get.stability(adata)
    >>> tables.branches.columns.tolist()
    ['support', 'found_again', 'overlap', 'n_cells']
    >>> len(tables.consensus.tips)
    5
    """
    ordered(adata, key)
    record = made(stored(adata, key), Entry.STABILITY, key)
    if record is None:
        raise KeyError(
            f"no stability is stored in adata.uns[{key!r}]. Run skeltraj.tl.stability(adata, key={key!r}) first."
        )
    consensus = record[StabilityEntry.CONSENSUS]
    nodes, edges = consensus[StabilityEntry.NODES], consensus[StabilityEntry.EDGES]
    return StabilityTables(
        branches=record[StabilityEntry.BRANCHES].copy(),
        forks=record[StabilityEntry.FORKS].copy(),
        edges=record[StabilityEntry.EDGES].copy(),
        consensus=Graph(np.array(nodes, dtype=np.float64), np.array(edges, dtype=np.int64)),
        place=np.array(consensus[StabilityEntry.PLACE], dtype=np.int64),
        n_replicates=int(record[StabilityEntry.N_REPLICATES]),
        vary=tuple(str(name) for name in record[StabilityEntry.VARY]),
    )
