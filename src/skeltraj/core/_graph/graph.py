"""A skeleton as a graph in space: nodes joined by straight edges."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components, depth_first_order, dijkstra

from skeltraj._keys import names as numbered
from skeltraj._printing import several
from skeltraj.core._geometry.neighbors import PointTree
from skeltraj.core._runtime import check

from .names import Names
from .walks import walks


@dataclass(frozen=True, repr=False, eq=False)
class Graph:
    """Nodes joined by straight edges; every length is Euclidean.

    Parameters
    ----------
    nodes
        Coordinates, (n_nodes, n_components); the graph has a copy of its own.
    edges
        Pairs of nodes, (n_edges, 2); likewise.
    names
        Names of its tips, forks and branches. None: T1, T2, ..., F1, ..., and B1, ...

    Raises
    ------
    TypeError, ValueError
        If coordinates are not finite numbers, if an edge does not join two existing nodes or joins two that are already
        joined, or if there is not one name for each tip, fork and branch.

    Notes
    -----
    Tips, forks, branches and components are numbered by the coordinates of their nodes, so their ids depend neither on
    the root nor on the order in which nodes or edges are stored. A part of a skeleton keeps the names of the whole.

    Examples
    --------
    >>> import numpy as np
    >>> from skeltraj import core
    >>> nodes = np.array([[0, 0], [2, 0], [3, 1], [3, -1]])
    >>> graph = core.Graph(nodes, np.array([[0, 1], [1, 2], [1, 3]]))
    >>> graph
    Graph: 4 nodes in 2 dimensions, 3 edges, 1 part, 3 tips, 1 fork
    >>> dict(zip(graph.tip_names.tolist(), graph.tips.tolist()))
    {'T1': 0, 'T2': 3, 'T3': 2}
    >>> graph.path(0, 2).tolist()
    [0, 1, 2]
    >>> graph.distances_from(0).round(2).tolist()
    [0.0, 2.0, 3.41, 3.41]
    """

    nodes: np.ndarray
    edges: np.ndarray
    names: Names | None = None

    def __post_init__(self) -> None:
        nodes = check.squares(check.finite(check.coordinates(self.nodes, "nodes"), "nodes"), "nodes", least=True)
        edges = check.numbers(self.edges, "edges", len(nodes), "nodes", width=2)
        loops = edges[edges[:, 0] == edges[:, 1]]
        if len(loops):
            raise ValueError(f"edges: node {loops[0, 0]} is joined to itself; wanted edges between two nodes.")
        pair = edges.min(axis=1) * len(nodes) + edges.max(axis=1)
        twice = np.flatnonzero(np.diff(np.sort(pair)) == 0)
        if len(twice):
            again = np.sort(pair)[twice[0]]
            a, b = divmod(int(again), len(nodes))
            raise ValueError(f"edges: nodes {a} and {b} are joined more than once; wanted each edge once.")
        # copies: lengths and branches are kept once they are known, and must stay those of the nodes and edges
        object.__setattr__(self, "nodes", np.array(nodes))
        object.__setattr__(self, "edges", np.array(edges))
        if self.names is not None:
            check.instance(self.names, "names", Names).check(len(self.tips), len(self.forks), len(self.branches))

    def __repr__(self) -> str:
        nodes = f"{several(self.n_nodes, 'node')} in {several(self.nodes.shape[1], 'dimension')}"
        counts = {"edge": len(self.edges), "part": self.n_parts, "tip": len(self.tips), "fork": len(self.forks)}
        return f"{type(self).__name__}: {', '.join([nodes, *(several(n, one) for one, n in counts.items())])}"

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @cached_property
    def edge_length(self) -> np.ndarray:
        """Length of each edge, (n_edges,)."""
        return edge_lengths(self.nodes, self.edges)

    @cached_property
    def degree(self) -> np.ndarray:
        """Number of edges at each node, (n_nodes,)."""
        return np.bincount(self.edges.ravel(), minlength=self.n_nodes)

    @cached_property
    def _rank(self) -> np.ndarray:
        """Place of each node when the nodes are sorted by their coordinates."""
        order = np.argsort(self.nodes[:, 0], kind="stable")
        if not (np.diff(self.nodes[order, 0]) > 0).all():  # else the others have no say
            order = np.lexsort(self.nodes.T[::-1])
        rank = np.empty(self.n_nodes, dtype=np.int64)
        rank[order] = np.arange(self.n_nodes)
        return rank

    @cached_property
    def edge_order(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the edges, (n_edges,), by the coordinates of their ends; and which run from the later end."""
        ends = self._rank[self.edges]
        first, last = ends.min(axis=1), ends.max(axis=1)
        return np.lexsort((last, first)), ends[:, 0] > ends[:, 1]

    def _ordered(self, chosen: np.ndarray) -> np.ndarray:
        """The chosen nodes, in the order of their coordinates."""
        nodes = np.flatnonzero(chosen)
        return nodes[np.argsort(self._rank[nodes])]

    @cached_property
    def tips(self) -> np.ndarray:
        """Nodes of degree 1, in the order of their coordinates."""
        return self._ordered(self.degree == 1)

    @cached_property
    def forks(self) -> np.ndarray:
        """Nodes of degree 3 or more, in the order of their coordinates."""
        return self._ordered(self.degree > 2)

    @property
    def tip_names(self) -> np.ndarray:
        """Name of each tip, (n_tips,): T1, T2, ... unless it was given others."""
        return numbered("T", len(self.tips)) if self.names is None else _array(self.names.tips)

    @property
    def fork_names(self) -> np.ndarray:
        """Name of each fork, (n_forks,): F1, F2, ... unless it was given others."""
        return numbered("F", len(self.forks)) if self.names is None else _array(self.names.forks)

    @property
    def branch_names(self) -> np.ndarray:
        """Name of each branch, (n_branches,): B1, B2, ... unless it was given others."""
        return numbered("B", len(self.branches)) if self.names is None else _array(self.names.branches)

    @property
    def node_names(self) -> dict[int, str]:
        """The names of tips and forks by their nodes, tips first."""
        nodes = [*self.tips.tolist(), *self.forks.tolist()]
        return dict(zip(nodes, [*self.tip_names.tolist(), *self.fork_names.tolist()], strict=True))

    @cached_property
    def _links(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the neighbours of each node begin, (n_nodes + 1,); these, ascending; and the numbers of their edges."""
        here, there = self.edges.T.ravel(), self.edges[:, ::-1].T.ravel()
        order = np.lexsort((there, here))
        return np.append(0, np.cumsum(self.degree)), there[order], order % max(1, len(self.edges))

    @cached_property
    def _matrix(self) -> sparse.csr_matrix:
        """For each two nodes that are joined, 1 + the number of their edge: 0 would read as no edge."""
        starts, neighbors, edges = self._links
        return sparse.csr_matrix((1 + edges, neighbors, starts), shape=(self.n_nodes, self.n_nodes))

    @cached_property
    def component(self) -> np.ndarray:
        """Connected component of each node, (n_nodes,), numbered in the order of their first nodes' coordinates."""
        n_parts, part = connected_components(self._matrix, directed=False)
        first = np.full(n_parts, self.n_nodes)
        np.minimum.at(first, part, self._rank)
        return np.argsort(np.argsort(first))[part]

    @property
    def n_parts(self) -> int:
        """Number of connected components."""
        return int(self.component.max()) + 1 if self.n_nodes else 0

    @property
    def n_loops(self) -> int:
        """Number of independent loops; 0 in a tree or a forest."""
        return len(self.edges) - self.n_nodes + self.n_parts

    @property
    def is_tree(self) -> bool:
        """Whether the graph is one tree."""
        return self.n_loops == 0 and self.n_parts == 1

    def neighbors(self, node: int) -> np.ndarray:
        """Nodes joined to `node`."""
        node = check.node(node, "node", self.n_nodes)
        return self._joined(node)

    def _joined(self, node: int) -> np.ndarray:
        starts, neighbors, _ = self._links
        return neighbors[starts[node] : starts[node + 1]]

    def nearest_node(self, points: np.ndarray, among: np.ndarray | None = None) -> np.ndarray:
        """The node nearest to each point, of some nodes or of all, (n,).

        Parameters
        ----------
        points
            (n, n_components), in the space of the nodes.
        among
            Numbers of the nodes to choose from; None: all.
        """
        among = np.arange(self.n_nodes) if among is None else check.numbers(among, "among", self.n_nodes, "nodes")
        if not len(among):
            raise ValueError("among holds no nodes; wanted at least one.")
        points = check.finite(check.coordinates(points, "points", self.nodes.shape[1]), "points")
        return among[PointTree(self.nodes[among]).nearest(points)[0]]

    @cached_property
    def branches(self) -> list[np.ndarray]:
        """Paths of nodes between tips or forks, ends included.

        Each runs from the end with the smaller first coordinate. A circle without tips or forks is one branch that
        starts and ends at its node with the smallest first coordinate.
        """
        return [path for path, _ in self._branches]

    @cached_property
    def branch_edges(self) -> list[np.ndarray]:
        """Numbers of the edges of each branch, as its path passes them."""
        return [edges for _, edges in self._branches]

    @cached_property
    def _branches(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The path of each branch, and the edges that it passes."""
        found = self._walks(np.concatenate([self.tips, self.forks]))
        walked = self.degree != 2
        for path, _ in found:
            walked[path] = True
        if not walked.all():  # circles
            left = self._ordered(~walked)
            found += self._walks(left[np.sort(np.unique(self.component[left], return_index=True)[1])])
        branches = []
        for path, edges in found:
            along = self._rank[path].tolist()
            if along > along[::-1]:
                path, edges, along = path[::-1], edges[::-1], along[::-1]
            branches.append((along[0], along[-1], along, path, edges))
        return [(path, edges) for *_, path, edges in sorted(branches, key=lambda branch: branch[:3])]

    def _walks(self, ends: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The paths from these nodes to the next tip or fork, or back to where they begin, and their edges."""
        starts, neighbors, edge = self._links
        nodes, steps, begins = walks(ends, starts, neighbors)
        edges = edge[steps]
        return [(nodes[a:b], edges[a : b - 1]) for a, b in itertools.pairwise(begins.tolist())]

    @cached_property
    def branch_of_edge(self) -> np.ndarray:
        """Position in `branches` of the branch that each edge lies on, (n_edges,)."""
        branch = np.full(len(self.edges), -1)
        if self.branch_edges:
            n_edges = [len(edges) for edges in self.branch_edges]
            branch[np.concatenate(self.branch_edges)] = np.repeat(np.arange(len(n_edges)), n_edges)
        return branch

    def edges_along(self, path: np.ndarray) -> np.ndarray:
        """Numbers of the edges that a path of nodes passes, (len(path) - 1,); an error if two are not joined."""
        path = check.numbers(path, "path", self.n_nodes, "nodes")
        if len(path) < 2:
            return np.empty(0, dtype=np.int64)
        edges = self._edges_between(path[:-1], path[1:])
        if (edges < 0).any():
            at = int((edges < 0).argmax())
            raise ValueError(f"path: nodes {path[at]} and {path[at + 1]} are not joined; wanted neighbours all along.")
        return edges

    def _edges_between(self, here: np.ndarray, there: np.ndarray) -> np.ndarray:
        """Number of the edge between each two nodes; -1 where they are not joined."""
        return np.asarray(self._matrix[here, there]).ravel().astype(np.int64) - 1

    def breadth_first(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes in breadth-first order from `node`, and the node from which each was reached (negative: none)."""
        node = check.node(node, "node", self.n_nodes)
        order, parent = breadth_first_order(self._matrix, node, directed=False)
        return order, parent

    def depth_first(self, node: int) -> np.ndarray:
        """Nodes in depth-first order from `node`; those that it does not reach come last."""
        node = check.node(node, "node", self.n_nodes)
        reached = depth_first_order(self._matrix, node, directed=False, return_predecessors=False)
        return np.r_[reached, np.setdiff1d(np.arange(self.n_nodes), reached)]

    def distances_from(self, node: int) -> np.ndarray:
        """Path length from `node` to every node, (n_nodes,); NaN where no path leads."""
        node = check.node(node, "node", self.n_nodes)
        if not self.is_tree:
            distance = self._lengths_from(node)[0]
            return np.where(np.isfinite(distance), distance, np.nan)
        order, parent = self.breadth_first(node)
        reached, reached_from = order[1:], parent[order[1:]]
        length = self.edge_length[self._edges_between(reached, reached_from)]
        distance = np.zeros(self.n_nodes)
        for here, before, step in zip(reached, reached_from, length, strict=True):
            distance[here] = distance[before] + step
        return distance

    @cached_property
    def _lengths(self) -> sparse.csr_matrix:
        """For each two nodes that are joined, the length of their edge."""
        starts, neighbors, edges = self._links
        shape = (self.n_nodes, self.n_nodes)
        return sparse.csr_matrix((self.edge_length[edges], neighbors, starts), shape=shape)

    def _lengths_from(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        """Lengths of the shortest paths from `node`, and on them the node before each."""
        return dijkstra(self._lengths, indices=node, return_predecessors=True)  # links go both ways

    def path(self, start: int, end: int) -> np.ndarray:
        """Nodes from `start` to `end`, both included; the shortest path where there are several."""
        start, end = check.node(start, "start", self.n_nodes), check.node(end, "end", self.n_nodes)
        parent = self._lengths_from(start)[1] if self.n_loops else self.breadth_first(start)[1]
        path = [end]
        while path[-1] != start:
            if parent[path[-1]] < 0:
                raise ValueError(f"no path leads from node {start} to node {end}.")
            path.append(int(parent[path[-1]]))
        return np.array(path[::-1])


def edge_lengths(nodes: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Length of each edge, (n_edges,)."""
    ends = nodes[edges]
    return np.sqrt(((ends[:, 0] - ends[:, 1]) ** 2).sum(axis=1))


def _array(names: tuple[str, ...]) -> np.ndarray:
    return np.array(names, dtype=object)
