"""Pruning: branches and forks that the data do not call for are taken out of a tree."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from . import _check
from ._graph import Graph
from ._position import locate, on_edges


@dataclass(frozen=True)
class Removal:
    """One thing that was taken out of a tree.

    Parameters
    ----------
    what
        "branch", from a tip to a fork; or "forks", two forks made one.
    start, end
        Its ends, nodes of the tree as it was given.
    length
        Length of the branch, or of the way between the forks.
    n_points
        Points that lay on it.
    evidence
        Of a branch: how much better the data are described with it than without, in units of the price of one node; see
        `prune`. Of forks: NaN, since their distance decides.
    """

    what: str
    start: int
    end: int
    length: float
    n_points: int
    evidence: float


@dataclass(frozen=True, repr=False, eq=False)
class Pruned:
    """A tree after pruning.

    Parameters
    ----------
    graph
        The tree that is left.
    place
        For each node of the tree as it was given, its number in `graph`, (n_nodes,); -1 if it is gone. Nodes of forks
        that were made one share a number.
    removed
        What was taken out, in that order.
    penalty, resolution
        By which it was decided; see `prune`.
    """

    graph: Graph
    place: np.ndarray
    removed: tuple[Removal, ...]
    penalty: float = 0.0
    resolution: float = 0.0

    def assignment(self, assignment: sparse.csr_matrix, points: np.ndarray) -> sparse.csr_matrix:
        """Assignment to the nodes that are left, (n, graph.n_nodes); rows sum to 1.

        Parameters
        ----------
        assignment
            To the nodes of the tree as it was given, (n, n_nodes).
        points
            The same points in the space of the nodes, (n, n_components): one that was assigned to lost nodes alone
            goes to the nearer end of its edge.
        """
        kept = np.flatnonzero(self.place >= 0)
        ones = np.ones(len(kept))
        to = sparse.csr_matrix((ones, (kept, self.place[kept])), shape=(len(self.place), self.graph.n_nodes))
        here = sparse.csr_matrix(sparse.csr_matrix(assignment) @ to)
        total = np.asarray(here.sum(axis=1)).ravel()
        none = np.flatnonzero(total <= 0)
        here.data /= np.repeat(total, np.diff(here.indptr))
        if len(none):
            here.eliminate_zeros()
            nearest = locate(self.graph, points[none]).nearest_end(self.graph)
            here = sparse.csr_matrix(here + sparse.csr_matrix((np.ones(len(none)), (none, nearest)), shape=here.shape))
        here.sort_indices()
        return here


def prune(
    graph: Graph,
    points: np.ndarray,
    data: np.ndarray,
    *,
    penalty: float = 2.0,
    resolution: float = 0.0,
) -> Pruned:
    """Take out of a tree the branches that do not earn their place, and make forks one that cannot be told apart.

    Every point stands for its nearest point of the tree, as its `points` say, and the tree describes its `data`, where
    it was measured, with an error. Without a branch that ends in a tip, its points go to the nearest point of what is
    left, and the sum of the squared errors S rises to S'. With the same noise in each of the D dimensions, the
    description gets worse by ``n D log(S' / S)`` in units of -2 log likelihood, and a node costs ``D log n`` by the
    Bayesian information criterion (Schwarz 1978). The branch stays if its evidence::

        n log(S' / S) / log n

    (D cancels) is at least `penalty`: 2, since a straight branch has two ends. What has the least evidence goes first;
    then all are looked at again. It is measured against the noise of single observations, not by length or by numbers of
    points: where there is little noise small branches stay, in much noise they need more points.

    Two forks nearer to one another along the tree than `resolution` become one, at the mean of the nodes between them,
    the nearest first.

    Parameters
    ----------
    graph
        A tree, or several.
    points
        Places of n points in the space of the nodes, (n, n_components), by which they find their place on the tree.
    data
        Where the same points were measured in that space, before any smoothing, (n, n_components).
    penalty
        Least evidence of a branch, in units of the price of one node. 0: only branches go without which the data are
        described no worse.
    resolution
        Least distance of two forks, 0 to keep all. For nodes with soft assignment, ``3 sqrt(sigma)`` is natural: points at
        one of two nearer forks are still assigned to the other.

    Returns
    -------
    The tree that is left, and what was taken out. Ties go by the numbers of branches, which depend on the coordinates
    of the nodes alone.

    Raises
    ------
    ValueError
        If the graph has loops, or the points are not finite or do not match.

    References
    ----------
    Schwarz. Estimating the dimension of a model. Annals of Statistics 6 (1978).
    """
    penalty = _check.number(penalty, "penalty", at_least=0)
    resolution = _check.number(resolution, "resolution", at_least=0)
    if graph.n_loops:
        raise ValueError(f"the skeleton has {graph.n_loops} loop(s); wanted a tree, or several.")
    points = np.ascontiguousarray(_check.matrix(points, name="points"), dtype=np.float64)
    data = np.ascontiguousarray(_check.matrix(data, name="data"), dtype=np.float64)
    wanted = (len(points), graph.nodes.shape[1])
    if points.shape != wanted or data.shape != wanted:
        raise ValueError(f"points have shape {points.shape} and data {data.shape}; wanted {wanted} for both.")
    order = np.lexsort(np.hstack([data, points]).T)  # sums must not depend on the order in which points come
    tree = ShrinkingTree(graph, points[order], data[order])
    while True:
        branches, between = tree.branches()
        weakest = min(branches, key=lambda each: each.evidence, default=None)
        nearest = min(between, key=lambda each: each.length, default=None)
        if weakest is not None and weakest.evidence < penalty:
            tree.drop(weakest)
        elif nearest is not None and nearest.length < resolution:
            tree.merge(nearest)
        else:
            return replace(tree.finish(), penalty=penalty, resolution=resolution)


@dataclass(frozen=True)
class Piece:
    """A branch, from its tip, that might go; or the way between two forks."""

    path: np.ndarray
    edges: np.ndarray
    length: float
    n_points: int
    evidence: float = float("nan")


class ShrinkingTree:
    """A tree that shrinks, with the places of the points on it."""

    def __init__(self, graph: Graph, points: np.ndarray, data: np.ndarray) -> None:
        self._points, self._data = points, data
        self._nodes, self._edges = graph.nodes.copy(), graph.edges.copy()
        self._live = np.ones(len(self._edges), dtype=bool)
        self._into = np.arange(graph.n_nodes)  # the node into which each was merged; -1: gone
        self._removed: list[Removal] = []
        self._edge, self._error = self._put(np.arange(len(points)), self._live)

    def _put(self, chosen: np.ndarray, live: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The live edge nearest to each of the chosen points, and the squared error of describing it there."""
        left = np.flatnonzero(live)
        ends = self._edges[left]
        edge, fraction, _ = on_edges(self._points[chosen], self._nodes, ends)
        a, b = self._nodes[ends[edge, 0]], self._nodes[ends[edge, 1]]
        return left[edge], ((self._data[chosen] - a - fraction[:, None] * (b - a)) ** 2).sum(axis=1)

    def branches(self) -> tuple[list[Piece], list[Piece]]:
        """Branches that end in a tip, with their evidence, and ways between two forks."""
        left = np.flatnonzero(self._live)
        graph = Graph(self._nodes, self._edges[left])
        total, n = self._error.sum(), len(self._points)
        with_tip, between = [], []
        for path in graph.branches:
            if graph.degree[path[-1]] == 1:
                path = path[::-1]
            first, last = graph.degree[path[0]], graph.degree[path[-1]]
            along = graph.edges_along(path)
            edges, length = left[along], float(graph.edge_length[along].sum())
            on = np.flatnonzero(np.isin(self._edge, edges))
            if first > 2 and last > 2:
                between.append(Piece(path, edges, length, len(on)))
            elif first == 1 and last > 2:
                worse = 0.0
                if len(on):
                    worse = float(self._put(on, self._without(edges))[1].sum() - self._error[on].sum())
                with_tip.append(Piece(path, edges, length, len(on), _evidence(total, worse, n)))
        return with_tip, between

    @property
    def edge(self) -> np.ndarray:
        """The edge that each point lies on, by its number in the tree as it was given, (n,)."""
        return self._edge.copy()

    def _without(self, edges: np.ndarray) -> np.ndarray:
        live = self._live.copy()
        live[edges] = False
        return live

    def drop(self, out: Piece) -> None:
        self._note("branch", out)
        self._live = self._without(out.edges)
        self._into[np.isin(self._into, out.path[:-1])] = -1
        self._move(np.flatnonzero(np.isin(self._edge, out.edges)))

    def merge(self, out: Piece) -> None:
        self._note("forks", out)
        one = out.path.min()
        self._live = self._without(out.edges)
        self._nodes[one] = self._nodes[out.path].mean(axis=0)
        self._edges[np.isin(self._edges, out.path)] = one
        self._into[np.isin(self._into, out.path)] = one
        self._move(np.arange(len(self._points)))

    def _note(self, what: str, out: Piece) -> None:
        start, end = int(out.path[0]), int(out.path[-1])
        self._removed.append(Removal(what, start, end, out.length, out.n_points, out.evidence))

    def _move(self, chosen: np.ndarray) -> None:
        if len(chosen):
            self._edge[chosen], self._error[chosen] = self._put(chosen, self._live)

    def finish(self) -> Pruned:
        kept = np.unique(self._into[self._into >= 0])
        place = np.where(self._into >= 0, np.searchsorted(kept, self._into), -1)
        edges = np.searchsorted(kept, self._edges[self._live])
        return Pruned(Graph(self._nodes[kept], edges), place, tuple(self._removed))


def _evidence(total: float, worse: float, n: int) -> float:
    if total <= 0:  # no noise at all: whatever describes anything is worth it
        return float("inf") if worse > 0 else 0.0
    return float(n * np.log(max(1 + worse / total, np.finfo(float).tiny)) / np.log(n))
