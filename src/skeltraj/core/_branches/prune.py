"""Pruning: branches and forks that the data do not call for are taken out of a tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skeltraj._printing import Printed
from skeltraj.core._data.canonical_order import canonical_order
from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.position import locate
from skeltraj.core._graph.reassign import reassigned
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing, interruptible

from .held_out import HeldOut
from .shrinking_tree import Branch, ShrinkingTree

NEAR = 1.25  # a gain within this factor of the limit might as well be on its other side; chosen by eye
MIN_GAIN = 0.008  # best or nearly so of one limit for all simulated data; benchmarks/defaults.py
# Forks that are at most this many times as far apart as the resolution are one, too, unless this gain tells their
# order; chosen by measurement (benchmarks/preparations.py).
_FAR_FORKS = 3.0
_GAIN_OF_ORDER = 0.001
_LEAST_OF_LINE = 1.5  # of the gains that went, by which the limit that leaves a line exceeds the largest; by eye
_MOST = np.finfo(np.float64).max / 2  # instead of infinite gains, so that a limit is a number


@dataclass(frozen=True, repr=False)
class Removal(Printed):
    """A branch or a pair of forks that was removed from a tree.

    Parameters
    ----------
    what
        "branch", from a tip to a fork; or "forks", two forks that were merged.
    start, end
        Its ends, nodes of the tree as it was given.
    length
        Length of the branch, or of that between the forks.
    n_points
        Points that lay on it.
    gain
        For a branch: the share by which the distances in held-out coordinates are longer without it; see `prune`. For
        merged forks, the same for merging them; NaN if they were closer than the resolution.
    """

    what: str
    start: int
    end: int
    length: float
    n_points: int
    gain: float


@dataclass(frozen=True, repr=False)
class Kept(Printed):
    """A branch from a tip to a fork that was judged and kept.

    Parameters
    ----------
    start, end
        Its tip and its fork, as nodes of the remaining tree.
    length
        Its length.
    n_points
        Points that lie on it.
    gain
        As for a :class:`Removal`, relative to everything else that remains.
    """

    start: int
    end: int
    length: float
    n_points: int
    gain: float


@dataclass(frozen=True, repr=False, eq=False)
class Pruned(Printed):
    """A tree after pruning.

    Parameters
    ----------
    graph
        The tree that is left.
    place
        For each node of the tree as it was given, its number in `graph`, (n_nodes,); -1 if it was removed. Nodes of
        merged forks share a number.
    removed
        What was removed, in order.
    min_gain, resolution
        The limits that were used; see `prune`.
    kept
        The remaining branches from a tip to a fork, smallest gain first.
    """

    graph: Graph
    place: np.ndarray
    removed: tuple[Removal, ...]
    min_gain: float = 0.0
    resolution: float = 0.0
    kept: tuple[Kept, ...] = ()

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
        new_node = sparse.csr_matrix(
            (np.ones(len(kept)), (kept, self.place[kept])), shape=(len(self.place), self.graph.n_nodes)
        )
        points = check.finite(check.coordinates(points, "points", self.graph.nodes.shape[1]), "points")
        weights = check.assignment(assignment, (len(points), len(self.place))) @ new_node
        return reassigned(weights, lambda lost: locate(self.graph, points[lost]).nearest_end(self.graph))


@computing()
def prune(
    graph: Graph,
    points: np.ndarray,
    data: np.ndarray,
    *,
    min_gain: float = MIN_GAIN,
    n_tips: int | None = None,
    resolution: float = 0.0,
    counts: np.ndarray | None = None,
) -> Pruned:
    """Remove the branches of a tree that the data do not support, and merge forks that cannot be distinguished.

    A tree that was fitted to noise describes that noise. Therefore a branch is judged by held-out coordinates of the
    points, which were not used to place them on the tree. The coordinates are rotated at random and divided into two
    halves. Every point is put on the nearest place of the tree by one half of its `data`, and its distance from there
    is measured in the other half. Without a branch that ends in a tip, its points go to the nearest place of the rest,
    and the sum of these distances changes from S to S'. (With squared distances, the few points that lie far from
    everything would dominate.) The branch stays if its gain, the mean of::

        (S' - S) / S

    over two divisions of the coordinates, each used both ways (bi-cross-validation, Owen and Perry 2009), is at least
    `min_gain`; or, with `n_tips`, as long as there are more tips than that. The branch with the smallest gain is
    removed first; then the others are judged again.

    A gain is measured against the noise of single observations, not by length or by numbers of points. With little
    noise, small branches stay; with much noise they have to be longer, or hold more of the points. A branch that does
    not exist has no gain on average, however many points there are, so their number does not enter: `min_gain` says how
    small a part of the data is worth a branch. With many points, smaller gains can be distinguished from none, because
    hardly any line is quite straight and thin; but such branches are seldom of interest. What counts as noise depends
    on how the data were prepared, so no limit is right for all: `core.learn_tree` and `tl.ddrtree` choose the number of
    tips that samples of the rows agree on.

    Two forks whose distance along the tree is less than `resolution` are merged, at the mean of the nodes between them;
    the nearest two first. Two forks less than three times as far apart are also merged if the data do not determine
    their order: if this makes held-out distances longer by less than a thousandth.

    Parameters
    ----------
    graph
        A tree, or several.
    points
        Places of n points in the space of the nodes, (n, n_components). They say how many points lie on a branch.
    data
        Where the same points were measured in that space, before any smoothing, (n, n_components). Components outside
        the dimensions that the nodes span are ignored. If these are one or two, nothing can be held out: the same
        coordinates place the points and judge, and ``log(n) / n`` is subtracted from the gain of a branch: half the
        price of its two ends by the Bayesian information criterion (Schwarz 1978), which refers to squares.
    min_gain
        Smallest gain with which a branch stays. 0: only branches without which the distances are shorter are removed.
    n_tips
        How many tips to leave, at least 2, instead of `min_gain`.
    resolution
        Smallest distance between two forks; 0 keeps all. For nodes with soft assignment, ``3 sqrt(sigma)`` is natural:
        points at one of two closer forks are still assigned to the other.
    counts
        How often each point counts, (n,), whole numbers from 1 up, as in a bootstrap sample; None: once. This takes
        less time than to give it as often.

    Returns
    -------
    The remaining tree, what was removed, and the gains of the branches that stayed. Among equal gains, the branch with
    the smallest number is removed first; numbers depend only on the coordinates of the nodes. The divisions are
    rotations of the principal axes of the nodes, always the same, so the result does not change when all coordinates
    are rotated.

    Raises
    ------
    TypeError, ValueError
        If the graph has loops or no edges, the points are not finite or do not match, or counts are not whole.

    References
    ----------
    Schwarz. Estimating the dimension of a model. Annals of Statistics 6 (1978).
    Owen, Perry. Bi-cross-validation of the SVD and the nonnegative matrix factorization. Annals of Applied Statistics 3
    (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from skeltraj import core
    >>> # the last is the end of a twig
    >>> nodes = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [1, 0.1, 0]])
    >>> graph = core.Graph(nodes, np.array([[0, 1], [1, 2], [1, 3]]))
    >>> data = np.random.default_rng(0).normal(0, 0.1, (300, 3))
    >>> data[:, 0] += np.linspace(0, 2, 300)
    >>> pruned = core.prune(graph, data, data)
    >>> len(pruned.graph.tips), [removal.what for removal in pruned.removed]
    (2, ['branch'])
    """
    min_gain = check.number(min_gain, "min_gain", at_least=0)
    resolution = check.number(resolution, "resolution", at_least=0)
    if n_tips is not None:
        n_tips = check.count(n_tips, "n_tips", at_least=2)
    points, data, order = in_one_order(graph, points, data, counts)
    counts = None if counts is None else np.asarray(counts, dtype=np.float64)[order]
    tree = ShrinkingTree(graph, points, counts)
    judge = HeldOut(tree, data, counts)
    removed: list[Removal] = []
    while True:
        terminal, _ = tree.branches
        gain = judge.gain(terminal)
        weakest = int(np.argmin(gain)) if terminal else -1
        if terminal and (gain[weakest] < min_gain if n_tips is None else len(terminal) > n_tips):
            removed.append(_removal("branch", terminal[weakest], float(gain[weakest])))
            judge.shrunk(tree.drop(terminal[weakest]))
        elif (between := tree.between_near_forks(resolution)) is not None:
            removed.append(_removal("forks", between, float("nan")))
            judge.shrunk(tree.merge(between))
        elif (undecided := _undecided_fork(judge, resolution)) is not None:
            between, gain_of_order, judge = undecided
            tree = judge.tree
            removed.append(_removal("forks", between, gain_of_order))
        else:
            left, place = tree.finish()
            limit = min_gain if n_tips is None else _limit(removed, gain)
            return Pruned(left, place, tuple(removed), limit, resolution, _kept_branches(terminal, gain, place))


def _undecided_fork(judge: HeldOut, resolution: float) -> tuple[Branch, float, HeldOut] | None:
    """The shortest branch between two forks whose order the data do not determine, its gain, and the tree without."""
    near = [branch for branch in judge.tree.branches[1] if branch.length < _FAR_FORKS * resolution]
    for branch in sorted(near, key=lambda branch: branch.length):
        gain, merged = judge.without_order(branch)
        if gain < _GAIN_OF_ORDER:
            return branch, gain, merged
    return None


def in_one_order(
    graph: Graph, points: np.ndarray, data: np.ndarray, counts: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points and data as `prune` takes them, checked, in an order that does not depend on how they come; and that."""
    check.instance(graph, "graph", Graph)
    if not len(graph.edges):
        raise ValueError(f"the skeleton has {graph.n_nodes} nodes but no edges; wanted a tree, or several.")
    if graph.n_loops:
        raise ValueError(f"the skeleton has {graph.n_loops} loop(s); wanted a tree, or several.")
    points, data = check.dense(points, "points", min_obs=3), check.dense(data, "data", min_obs=3)
    wanted = (len(points), graph.nodes.shape[1])
    if points.shape != wanted or data.shape != wanted:
        raise ValueError(f"points have shape {points.shape} and data {data.shape}; wanted {wanted} for both.")
    columns = [data, points]
    if counts is not None:
        counts = check.column(counts, "counts", len(points), low=1)
        wrong = counts[counts % 1 > 0]
        if len(wrong):
            raise ValueError(
                f"counts: {len(wrong)} of {len(points)} are not whole, such as {wrong[0]}; wanted whole numbers "
                "from 1 up."
            )
        columns.append(counts[:, None])
    order = canonical_order(np.hstack(columns))  # sums must not depend on how they come
    return points[order], data[order], order


def _limit(removed: list[Removal], kept: np.ndarray) -> float:
    """The `min_gain` between the branches that went and those that are left; the least kept, if it is smaller."""
    lost = max((removal.gain for removal in removed if removal.what == "branch"), default=0.0)
    lost = min(lost, _MOST)
    if not len(kept):
        return max(MIN_GAIN, _LEAST_OF_LINE * lost)
    least = min(float(kept.min()), _MOST)
    return max(0.0, (max(lost, 0.0) + least) / 2 if lost < least else least)


def _kept_branches(terminal: list[Branch], gain: np.ndarray, place: np.ndarray) -> tuple[Kept, ...]:
    return tuple(
        Kept(
            int(place[terminal[i].path[0]]),
            int(place[terminal[i].path[-1]]),
            terminal[i].length,
            terminal[i].n_points,
            float(gain[i]),
        )
        for i in np.argsort(gain, kind="stable")
    )


def _removal(what: str, branch: Branch, gain: float) -> Removal:
    return Removal(what, int(branch.path[0]), int(branch.path[-1]), branch.length, branch.n_points, gain)
