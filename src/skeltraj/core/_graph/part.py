"""A part of a skeleton, chosen by paths, as a skeleton of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._runtime import check

from .graph import Graph
from .names import part_names
from .position import Position, positions_on
from .reassign import reassigned


@dataclass(frozen=True, repr=False, eq=False)
class Part(Printed):
    """Some edges of a skeleton, with their ends, as a skeleton of its own.

    Parameters
    ----------
    whole
        The skeleton.
    nodes
        Nodes of the whole that the part has, ascending, (n_nodes,): node i of the part is ``nodes[i]`` of the whole.
    edges
        Edges of the whole that the part has, ascending, (n_edges,).
    """

    whole: Graph
    nodes: np.ndarray
    edges: np.ndarray

    @property
    def graph(self) -> Graph:
        """The part by itself, with the names that the whole has for its tips, forks and branches.

        A tip where the whole has neither tip nor fork is called "cut1", "cut2", .... A branch that runs along several
        of the whole, at whose forks nothing leads away any more, has all their names ("B2+B4").
        """
        bare = Graph(self.whole.nodes[self.nodes], np.searchsorted(self.nodes, self.whole.edges[self.edges]))
        known, branch_names = self.whole.node_names, self.whole.branch_names
        names = part_names(
            [known.get(node) for node in self.nodes[bare.tips].tolist()],
            [known.get(node) for node in self.nodes[bare.forks].tolist()],
            [branch_names[self._branches_along(path)].tolist() for path in bare.branches],
            known.values(),
        )
        return replace(bare, names=names)

    def _branches_along(self, path: np.ndarray) -> np.ndarray:
        """Positions in the branches of the whole of those along which a path of nodes of the part runs, in order."""
        branch = self.whole.branch_of_edge[self.whole.edges_along(self.nodes[path])]
        return branch[np.sort(np.unique(branch, return_index=True)[1])]

    def holds(self, position: Position) -> np.ndarray:
        """Which points, by their positions on the whole, lie on the part: on its edges or at its nodes, (n,)."""
        position = positions_on(self.whole, position)
        held = np.isin(position.edge, self.edges) | position.at_one_of(self.whole, self.nodes)
        return held if position.alone is None else held & (position.alone < 0)

    def assignment(self, assignment: sparse.csr_matrix, position: Position) -> sparse.csr_matrix:
        """Assignment to the nodes of the part alone, (n, n_nodes); rows sum to 1.

        Parameters
        ----------
        assignment
            To the nodes of the whole.
        position
            Of the same points, on the part: a point that is not assigned to any of its nodes goes to the nearer end of
            its edge.
        """
        position = positions_on(self.graph, position)
        whole = check.assignment(assignment, (len(position.edge), self.whole.n_nodes))
        return reassigned(whole[:, self.nodes], lambda lost: position.nearest_end(self.graph)[lost])


@shared_texts
def paths(graph: Graph, start: int, ends: Iterable[int]) -> Part:
    """The paths from a node to others, together.

    Parameters
    ----------
    <graph>
    start
        Node at which all paths begin.
    ends
        Nodes at which they end.

    Returns
    -------
    The part of the skeleton that they pass; the shortest paths where there are several.

    Raises
    ------
    TypeError, ValueError
        If one is not a node, or no path leads there.

    Examples
    --------
    <example_tree>
    >>> part = core.paths(graph, 0, [2])
    >>> part.nodes.tolist(), part.edges.tolist()
    ([0, 1, 2], [0, 1])
    """
    check.instance(graph, "graph", Graph)
    start = check.node(start, "start", graph.n_nodes)
    if isinstance(ends, str) or not isinstance(ends, Iterable):
        raise TypeError(f"ends={check.in_message(ends)} is a {type(ends).__name__}; wanted nodes.")
    walked = [graph.path(start, check.node(end, "ends", graph.n_nodes)) for end in check.array(ends, "ends").ravel()]
    if not walked:
        raise ValueError("ends holds no nodes; wanted at least one.")
    nodes = np.unique(np.concatenate(walked))
    edges = np.unique(np.concatenate([graph.edges_along(path) for path in walked]))
    return Part(graph, nodes, edges)
