"""Long stretches of a skeleton on which no point lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import interruptible

from .along_branches import along_branches
from .graph import Graph
from .mesh import Mesh
from .position import Position, positions_on

# How long an empty stretch is that is told: as a share of the skeleton, and in median edges. By measurement
# (benchmarks/empty_stretches.py).
_LEAST_SHARE, _LEAST_EDGES = 0.06, 6.0
# n points that lie evenly leave a stretch of (log n + 7) / n of the skeleton empty once in a thousand times.
_BY_CHANCE = 7.0


@dataclass(frozen=True, repr=False)
class EmptyStretch(Printed):
    """A long stretch of a skeleton on which no point lies.

    Parameters
    ----------
    branch
        Name of the branch on which it lies.
    start, end
        Its ends: path lengths from the first node of the branch.
    share
        Its length, as a share of that of the whole skeleton.
    n_beyond
        Number of points on the smaller of the two sides into which it divides the skeleton.
    tips
        Names of the tips on that side.
    """

    branch: str
    start: float
    end: float
    share: float
    n_beyond: int
    tips: tuple[str, ...]


@interruptible()
@shared_texts
def empty_stretches(graph: Graph, position: Position) -> tuple[EmptyStretch, ...]:
    """Long stretches of a skeleton on which no point lies, the longest first.

    A tree joins all points that it is fitted to, even those that have nothing to do with the others: cells of another
    type, or samples of a time at which nothing else was sampled. They are recognised by the way to them, on which no
    point lies. A stretch of a branch is reported if it has points on both sides but none on it, and if it is at least 6
    % of the length of the skeleton, six times as long as its median edge, and longer than n evenly spread points would
    leave by chance, ``(log n + 7) / n`` of the length. (A loop has no sides. The end of a branch that no point reaches,
    for example because some points were left out, is not reported.)

    Parameters
    ----------
    <graph>
    <position>

    Returns
    -------
    The stretches; none in a mesh, whose edges join the points themselves.

    Raises
    ------
    TypeError, ValueError
        If the positions cannot be on this graph.

    Examples
    --------
    >>> import numpy as np
    >>> from skeltraj import core
    >>> nodes = np.column_stack([np.r_[np.arange(20), 29], np.zeros(21)])
    >>> graph = core.Graph(nodes, np.column_stack([np.arange(20), np.arange(1, 21)]))
    >>> x = np.r_[np.linspace(0, 19, 300), [29, 29, 29]]
    >>> [stretch] = core.empty_stretches(graph, core.locate(graph, np.column_stack([x, 0 * x])))
    >>> stretch.branch, stretch.start, stretch.end, stretch.n_beyond, stretch.tips
    ('B1', 19.0, 29.0, 3, ('T2',))
    """
    check.instance(graph, "graph", Graph)
    position = positions_on(graph, position)
    n, total = len(position.edge), float(graph.edge_length.sum())
    if isinstance(graph, Mesh) or not n or total <= 0:
        return ()
    least = max(
        total * max(_LEAST_SHARE, (np.log(n) + _BY_CHANCE) / n), _LEAST_EDGES * float(np.median(graph.edge_length))
    )
    branch, along = along_branches(graph, position)
    order = np.lexsort((along, branch))
    ends = np.searchsorted(branch[order], np.arange(len(graph.branches) + 1))
    found = []
    for b, edges in enumerate(graph.branch_edges):
        steps = np.cumsum(graph.edge_length[edges])
        places = np.r_[0.0, along[order[ends[b] : ends[b + 1]]], steps[-1]]
        for i in np.flatnonzero(np.diff(places) >= least):
            start, end = float(places[i]), float(places[i + 1])
            # an edge that is cut inside the stretch divides the points as the stretch does
            cut = min(int(np.searchsorted(steps, (start + end) / 2)), len(edges) - 1)
            before = along < (start + end) / 2
            n_beyond, tips = _smaller_side(graph, position, int(edges[cut]), graph.branches[b][cut : cut + 2], before)
            if n_beyond:
                name, share = str(graph.branch_names[b]), (end - start) / total
                found.append(EmptyStretch(name, start, end, share, n_beyond, tips))
    return tuple(sorted(found, key=lambda stretch: -stretch.share))


def _smaller_side(
    graph: Graph, position: Position, edge: int, ends: np.ndarray, before: np.ndarray
) -> tuple[int, tuple[str, ...]]:
    """Points and tips on the smaller side of an edge that is cut; `before`: which of its points come before the cut."""
    component = Graph(graph.nodes, np.delete(graph.edges, edge, axis=0)).component
    sides = component[ends]
    if sides[0] == sides[1]:
        return 0, ()
    of_point = component[graph.edges[position.edge, 0]]
    of_point = np.where(position.edge == edge, np.where(before, *sides), of_point)
    if position.alone is not None:
        of_point = np.where(position.alone < 0, of_point, component[position.alone])
    counts = [int((of_point == side).sum()) for side in sides]
    tips = graph.tip_names[component[graph.tips] == sides[int(np.argmin(counts))]]
    return min(counts), tuple(str(tip) for tip in tips)
