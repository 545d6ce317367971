"""Pruning: branches and forks that the data do not call for are taken out of a tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from . import _check
from ._graph import Graph
from ._held_out import HeldOut
from ._position import locate
from ._shrinking_tree import Piece, ShrinkingTree


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
        Of a branch: how much better held-out coordinates are described with it than without, in units of the price of
        one node; see `prune`. Of forks: NaN, since their distance decides.
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

    A branch must describe measurements that had no part in saying which points lie on it: a tree fitted to noise
    describes that noise. So the coordinates are turned at random and divided in two halves. Every point is put on its
    nearest point of the tree by the one half of its `data`, and the error is that of the other half. Without a branch
    that ends in a tip, its points go to the nearest point of what is left, and the sum of the squared errors S rises to S'
    (or falls). With the same noise in each dimension the description gets worse by ``n log(S' / S)`` a dimension in
    units of -2 log likelihood, and a node costs ``log n`` by the Bayesian information criterion (Schwarz 1978). The branch
    stays if its evidence, the mean of::

        n log(S' / S) / log n

    over two divisions of the coordinates, each used both ways (bi-cross-validation, Owen and Perry 2009), is at least
    `penalty`: 2, since a straight branch has two ends. What has the least evidence goes first; then all are looked at
    again. It is measured against the noise of single observations, not by length or by numbers of points: where there is
    little noise small branches stay, in much noise they need more points.

    Two forks nearer to one another along the tree than `resolution` become one, at the mean of the nodes between them,
    the nearest first.

    Parameters
    ----------
    graph
        A tree, or several.
    points
        Places of n points in the space of the nodes, (n, n_components), by which they are counted, and belong to what is
        left.
    data
        Where the same points were measured in that space, before any smoothing, (n, n_components). What lies outside
        the dimensions that the nodes span is left out. Where these are one or two, nothing can be held out: all of them
        place the points, and all judge.
    penalty
        Least evidence of a branch, in units of the price of one node. 0: only branches go without which held-out
        coordinates are described no worse.
    resolution
        Least distance of two forks, 0 to keep all. For nodes with soft assignment, ``3 sqrt(sigma)`` is natural: points at
        one of two nearer forks are still assigned to the other.

    Returns
    -------
    The tree that is left, and what was taken out. Ties go by the numbers of branches, which depend on the coordinates
    of the nodes alone. The divisions are drawn along the principal axes of the nodes, always the same: rotating all
    changes nothing.

    Raises
    ------
    ValueError
        If the graph has loops, or the points are not finite or do not match.

    References
    ----------
    Schwarz. Estimating the dimension of a model. Annals of Statistics 6 (1978).
    Owen, Perry. Bi-cross-validation of the SVD and the nonnegative matrix factorization. Annals of Applied Statistics 3
    (2009).
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
    tree = ShrinkingTree(graph, points[order])
    judge = HeldOut(tree, data[order])
    removed = []

    def note(what: str, out: Piece, evidence: float) -> None:
        removed.append(Removal(what, int(out.path[0]), int(out.path[-1]), out.length, out.n_points, evidence))

    while True:
        branches, between = tree.pieces()
        evidence = judge.evidence(branches)
        weakest = int(np.argmin(evidence)) if branches else -1
        nearest = min(between, key=lambda each: each.length, default=None)
        if branches and evidence[weakest] < penalty:
            note("branch", branches[weakest], float(evidence[weakest]))
            tree.drop(branches[weakest])
            judge.dropped(branches[weakest])
        elif nearest is not None and nearest.length < resolution:
            note("forks", nearest, float("nan"))
            tree.merge(nearest)
            judge.merged()
        else:
            return Pruned(*tree.finish(), tuple(removed), penalty, resolution)
