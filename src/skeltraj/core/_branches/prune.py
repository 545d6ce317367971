"""Pruning: branches and forks that the data do not call for are taken out of a tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.position import locate
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing, interruptible

from .held_out import HeldOut
from .shrinking_tree import Branch, ShrinkingTree

MIN_GAIN = 0.008  # best or nearly so from 250 to 20,000 simulated cells; benchmarks/defaults.py


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
    gain
        Of a branch: by what share the squared error of held-out coordinates is larger without it; see `prune`. Of
        forks: NaN, since their distance decides.
    """

    what: str
    start: int
    end: int
    length: float
    n_points: int
    gain: float


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
    min_gain, resolution
        By which it was decided; see `prune`.
    """

    graph: Graph
    place: np.ndarray
    removed: tuple[Removal, ...]
    min_gain: float = 0.0
    resolution: float = 0.0

    @interruptible()
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


@computing()
def prune(
    graph: Graph,
    points: np.ndarray,
    data: np.ndarray,
    *,
    min_gain: float = MIN_GAIN,
    resolution: float = 0.0,
) -> Pruned:
    """Take out of a tree the branches that do not earn their place, and make forks one that cannot be told apart.

    A branch must describe measurements that had no part in saying which points lie on it: a tree fitted to noise
    describes that noise. So the coordinates are turned at random and divided in two halves. Every point is put on its
    nearest point of the tree by the one half of its `data`, and the error is that of the other half. Without a branch
    that ends in a tip, its points go to the nearest point of what is left, and the sum of the squared errors S rises to S'
    (or falls). The branch stays if its gain, the mean of::

        (S' - S) / S

    over two divisions of the coordinates, each used both ways (bi-cross-validation, Owen and Perry 2009), is at least
    `min_gain`. What gains least goes first; then all are looked at again. It is measured against the noise of single
    observations, not by length or by numbers of points: where there is little noise small branches stay, in much noise
    they have to reach farther, or hold more of the points.

    A branch that is not there has no gain on average, however many points there are. So the number of points does not
    enter: `min_gain` is how small a part of the data is worth a branch. Of many points hardly any line is quite
    straight and quite thin, and smaller gains can be told from none; but they are seldom what is looked for.

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
        place the points, and all judge, and the two ends of a branch are paid for by the Bayesian information criterion
        (Schwarz 1978): ``2 log(n) / n`` is taken from its gain.
    min_gain
        Least gain of a branch, as a share of the error that is left. 0: only branches go without which held-out
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
    min_gain = check.number(min_gain, "min_gain", at_least=0)
    resolution = check.number(resolution, "resolution", at_least=0)
    if graph.n_loops:
        raise ValueError(f"the skeleton has {graph.n_loops} loop(s); wanted a tree, or several.")
    points = np.ascontiguousarray(check.matrix(points, name="points"), dtype=np.float64)
    data = np.ascontiguousarray(check.matrix(data, name="data"), dtype=np.float64)
    wanted = (len(points), graph.nodes.shape[1])
    if points.shape != wanted or data.shape != wanted:
        raise ValueError(f"points have shape {points.shape} and data {data.shape}; wanted {wanted} for both.")
    order = np.lexsort(np.hstack([data, points]).T)  # sums must not depend on the order in which points come
    tree = ShrinkingTree(graph, points[order])
    judge = HeldOut(tree, data[order])
    removed: list[Removal] = []
    while True:
        terminal, internal = tree.branches()
        gain = judge.gain(terminal)
        weakest = int(np.argmin(gain)) if terminal else -1
        shortest = min(internal, key=lambda branch: branch.length, default=None)
        if terminal and gain[weakest] < min_gain:
            removed.append(_removal("branch", terminal[weakest], float(gain[weakest])))
            tree.drop(terminal[weakest])
            judge.dropped(terminal[weakest])
        elif shortest is not None and shortest.length < resolution:
            removed.append(_removal("forks", shortest, float("nan")))
            tree.merge(shortest)
            judge.merged()
        else:
            return Pruned(*tree.finish(), tuple(removed), min_gain, resolution)


def _removal(what: str, branch: Branch, gain: float) -> Removal:
    return Removal(what, int(branch.path[0]), int(branch.path[-1]), branch.length, branch.n_points, gain)
