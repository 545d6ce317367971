from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core
from skeltraj._docs import shared_texts
from skeltraj._keys import OrderEntry
from skeltraj._printing import as_html, described
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.checks import refuse_mesh
from skeltraj.get._reading.coordinates import cells_in_embedding
from skeltraj.get._reading.order import order_of

from ._graph import graph
from ._stored import stored


class TrajectoryTables(NamedTuple):
    """A trajectory in dynverse's format: a network of milestones, and cells between them.

    Parameters
    ----------
    milestone_network
        One row for each stretch: ``from``, ``to`` (milestones), ``length``, ``directed``.
    progressions
        One row for each cell: ``cell_id``, ``from``, ``to``, ``percentage`` (share of the stretch behind it, 0 to 1).
    """

    milestone_network: pd.DataFrame
    progressions: pd.DataFrame

    def __repr__(self) -> str:
        return described(self)

    def _repr_html_(self) -> str | None:
        return as_html(self)


@as_declared
@shared_texts
def trajectory_tables(adata: AnnData, key: str = "ddrtree") -> TrajectoryTables:
    """The stored skeleton and the cells on it as dynverse's tables.

    Milestones are the tips and forks ("T1", "F1", ..., as elsewhere); stretches are the branches. Once the cells have
    been ordered, stretches lead away from the root and are ``directed`` (except those of loops that are reached from
    both ends, and those in parts without the root), and a root on a branch is a milestone ("root"). Two stretches never
    join the same two milestones: where branches do, and on rings, intermediate nodes are milestones as well ("N12", by
    number).

    Parameters
    ----------
    <adata_fitted>
    <key>

    Returns
    -------
    `milestone_network` and `progressions`, the latter with the cells in their order in `adata`; cells at a node without
    edges are on no stretch, and have None, None and NaN there.

    Raises
    ------
    KeyError
        If no skeleton is stored under `key`, or the cells' coordinates are gone.

    Examples
    --------
    <example_ordered>
    >>> tables = st.get.trajectory_tables(adata)
    >>> tables.milestone_network[["from", "to", "directed"]].head(3)
      from  to  directed
    0   F1  T1      True
    1   F2  T2      True
    2   F2  F1      True
    >>> tables.progressions.columns.tolist()
    ['cell_id', 'from', 'to', 'percentage']
    """
    skeleton = graph(adata, key)
    refuse_mesh(skeleton, key, "skeltraj.get.trajectory_tables")
    position = core.locate(skeleton, cells_in_embedding(adata, key, skeleton.nodes))
    order = order_of(stored(adata, key), skeleton, key)
    root = None if order is None else int(order[OrderEntry.ROOT])
    label = skeleton.node_names
    stretches = _stretches(skeleton, root)
    if order is not None:
        time = np.asarray(order[OrderEntry.NODE_PSEUDOTIME])
        stretches = [path[::-1] if time[path[-1]] < time[path[0]] else path for path in stretches]

    def name(node: int) -> str:
        return str(label.get(node, "root" if node == root else f"N{node}"))

    ends = [(name(int(path[0])), name(int(path[-1]))) for path in stretches]
    before = np.zeros(len(skeleton.edges))  # length of the stretch before each of its edges
    forward = np.zeros(len(skeleton.edges), dtype=bool)
    of = np.zeros(len(skeleton.edges), dtype=np.int64)
    lengths = np.zeros(len(stretches))
    for i, path in enumerate(stretches):
        along = skeleton.edges_along(path)
        reached = np.r_[0.0, np.cumsum(skeleton.edge_length[along])]
        before[along], forward[along], of[along] = reached[:-1], skeleton.edges[along, 0] == path[:-1], i
        lengths[i] = reached[-1]
    edge = position.edge
    fraction = np.where(forward[edge], position.fraction, 1 - position.fraction)
    behind, whole = before[edge] + fraction * skeleton.edge_length[edge], lengths[of[edge]]
    starts, stops = (np.array(side, dtype=object) for side in zip(*ends, strict=True))
    percentage = np.clip(np.divide(behind, whole, out=np.zeros_like(behind), where=whole > 0), 0.0, 1.0)
    alone = np.zeros(len(edge), dtype=bool) if position.alone is None else position.alone >= 0
    from_, to = (np.where(alone, None, side[of[edge]]) for side in (starts, stops))
    directed = np.zeros(len(stretches), dtype=bool)
    if order is not None:  # a shortest path away from the root, which it is joined to
        gain = np.array([time[path[-1]] - time[path[0]] for path in stretches])
        directed = np.abs(gain - lengths) <= 1e-9 * lengths.max()
    return TrajectoryTables(
        pd.DataFrame({"from": starts, "to": stops, "length": lengths, "directed": directed}),
        pd.DataFrame(
            {
                "cell_id": adata.obs_names.to_numpy(),
                "from": from_,
                "to": to,
                "percentage": np.where(alone, np.nan, percentage),
            }
        ),
    )


def _stretches(skeleton: core.Graph, root: int | None) -> list[np.ndarray]:
    """Paths of nodes between milestones, no two of which join the same two."""
    pieces = []
    for path in skeleton.branches:
        cuts = set((np.flatnonzero(path[1:-1] == root) + 1).tolist())
        if path[0] == path[-1]:
            cuts |= {len(path) // 3, 2 * len(path) // 3}
        pieces += _cut(path, cuts)
    ends = lambda path: frozenset((int(path[0]), int(path[-1])))
    joined = {ends(path) for path in pieces if len(path) == 2}
    stretches = []
    for path in pieces:
        double = len(path) > 2 and ends(path) in joined
        joined.add(ends(path))
        stretches += _cut(path, {len(path) // 2} if double else set())
    return stretches


def _cut(path: np.ndarray, cuts: set[int]) -> list[np.ndarray]:
    bounds = sorted({0, *cuts, len(path) - 1})
    return [path[a : b + 1] for a, b in itertools.pairwise(bounds)]
