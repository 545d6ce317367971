"""What branches are worth, by measurements that had no part in saying which points lie on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy

import numpy as np

from skeltraj.core._graph.position import nearest_on_branches
from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.threads import ordered_map
from skeltraj.core._solvers.eigen import oriented

from .shrinking_tree import Branch, ShrinkingTree

_N_DIVISIONS = 2  # of the coordinates in halves, each used both ways, where there are enough; chosen by eye
_POINTS_AT_ONCE = 1024  # that a thread places; chosen by eye
_MIN_LENGTH = 1e-9  # principal axes shorter than this share of the longest count as rounding


class HeldOut:
    """Judges the branches of a shrinking tree; see `prune`.

    Parameters
    ----------
    tree
        The tree; call `shrunk` after it has shrunk.
    data
        Points as they were measured in the space of its nodes, (n, n_components).
    counts
        How often each of them counts, (n,); None: once.
    """

    def __init__(self, tree: ShrinkingTree, data: np.ndarray, counts: np.ndarray | None = None) -> None:
        self.tree = tree
        n = len(data) if counts is None else counts.sum()
        axes = principal_axes(tree.nodes)
        # With fewer than three axes nothing can be held out: points are placed and judged by the same coordinates. The
        # penalty of the Bayesian information criterion for the two ends of a branch stands in for that, halved, since
        # a distance grows by half of the share by which its square does.
        self._penalty = np.log(n) / n if axes.shape[1] < 3 else 0.0
        self._halves = [
            _Half(tree, data, axes @ placing, axes @ judging, counts) for placing, judging in divisions(axes.shape[1])
        ]

    def gain(self, branches: Sequence[Branch]) -> np.ndarray:
        """By what share the distances in held-out coordinates are longer without each branch, (n_branches,)."""
        numbers = self.tree.branch[[branch.edges[0] for branch in branches]]
        return np.mean([half.gain(numbers) for half in self._halves], axis=0) - self._penalty

    def without_order(self, between: Branch) -> tuple[float, HeldOut]:
        """By what share held-out distances are longer where the forks at the ends of an internal branch are one.

        With the judge of a copy of the tree in which they are.
        """
        other = copy(self)
        other.tree, other._halves = self.tree.copy(), [half.copy() for half in self._halves]
        other.shrunk(other.tree.merge(between))
        before, after = [half.total for half in self._halves], [half.total for half in other._halves]
        return float(np.mean([b / a - 1 if a > 0 else np.inf for a, b in zip(before, after, strict=True)])), other

    def shrunk(self, changed: np.ndarray) -> None:
        """A branch of the tree has gone, or two forks have become one; which edges are elsewhere now or gone."""
        for half in self._halves:
            half.shrunk(self.tree, changed)


def principal_axes(nodes: np.ndarray) -> np.ndarray:
    """Axes of the dimensions that the nodes span, (n_components, rank), the longest first; at least one.

    They point to where the nodes reach farther; see `oriented`.
    """
    centered = nodes - nodes.mean(axis=0)
    _, length, axes = np.linalg.svd(centered, full_matrices=False)
    axes = axes[: max(1, int((length > _MIN_LENGTH * length[0]).sum()))].T
    return oriented(axes, centered @ axes)


def divisions(d: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Directions that place points and those that judge them, (d, d_placing) and (d, d_judging) in each pair.

    Together a rotation of the d dimensions, drawn at random, the same always; both halves take their turn at either. In
    one dimension the branches of a fork lie over one another, so at least two place the points: of three these alone,
    and of fewer all place and all judge.
    """
    if d < 3:
        return [(np.eye(d), np.eye(d))]
    rng = np.random.default_rng(0)
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    while len(pairs) < 2 * _N_DIVISIONS:
        rotation, r = np.linalg.qr(rng.standard_normal((d, d)))
        rotation *= np.sign(np.diag(r))
        first, second = rotation[:, : max(2, d // 2)], rotation[:, max(2, d // 2) :]
        pairs += [(first, second), (second, first)] if d > 3 else [(first, second)]
    return pairs


class _Half:
    """Points on the tree, placed by some directions, and their distances from it in the others.

    Parameters
    ----------
    tree, data, counts
        As in `HeldOut`.
    placing, judging
        Directions, orthonormal columns, (n_components, d_placing) and (n_components, d_judging).
    """

    def __init__(
        self,
        tree: ShrinkingTree,
        data: np.ndarray,
        placing: np.ndarray,
        judging: np.ndarray,
        counts: np.ndarray | None = None,
    ) -> None:
        self._tree, self._placing, self._judging, self._counts = tree, placing, judging, counts
        self._points, self._held_out = data @ placing, data @ judging
        # The place on each branch of the tree as it was given, (n, n_branches), is looked for only once, unless its
        # edges move: no branch is ever parted.
        self._near = np.full((len(data), tree.first_branch.max() + 1), -1, dtype=np.int32)
        self._squared = np.full(self._near.shape, np.inf)  # how far that is
        self._measure_edges(np.flatnonzero(tree.live))
        # of each point: the nearest edge and the nearest on any other branch, and the held-out distances from there
        self._edge, self._distance = np.empty((len(data), 2), dtype=np.int64), np.empty((len(data), 2))
        self._place(np.arange(len(data)))

    def copy(self) -> _Half:
        """The same, to follow another tree."""
        other = copy(self)
        other._edge, other._distance = self._edge.copy(), self._distance.copy()
        other._near, other._squared = self._near.copy(), self._squared.copy()
        return other

    def shrunk(self, tree: ShrinkingTree, changed: np.ndarray) -> None:
        """The tree, or a copy of it, has shrunk; which edges are elsewhere now or gone, (n_edges,)."""
        self._tree = tree
        elsewhere = changed & tree.live
        if elsewhere.any():
            self._measure_edges(np.flatnonzero(tree.live & np.isin(tree.first_branch, tree.first_branch[elsewhere])))
            self._place(np.arange(len(self._edge)))
        else:
            self._place(_without_place(self._edge, changed, tree.branch))

    @property
    def total(self) -> float:
        """The sum of all distances."""
        return float(self._counted(self._distance[:, 0]).sum())

    def _counted(self, values: np.ndarray) -> np.ndarray:
        """Values of the points, each as often as it counts."""
        return values if self._counts is None else self._counts * values

    def _measure_edges(self, edges: np.ndarray) -> None:
        """Take the nodes as they are, and look for the nearest of some edges, those of whole branches, on each."""
        tree = self._tree
        placing, judging = tree.nodes @ self._placing, tree.nodes @ self._judging
        nearest_on_branches(self._points, placing, tree.edges, edges, tree.first_branch, self._near, self._squared)
        starts, seen = placing[tree.edges[:, 0]], judging[tree.edges[:, 0]]
        vectors, seen_vectors = placing[tree.edges[:, 1]] - starts, judging[tree.edges[:, 1]] - seen
        self._edges = starts, vectors, (vectors**2).sum(axis=1), seen, seen_vectors

    def _place(self, chosen: np.ndarray) -> None:
        """Put the chosen points on the tree as it is."""
        at = self._tree.grown

        def fill(first: int) -> None:
            part = chosen[first : first + _POINTS_AT_ONCE]
            two = self._edge, self._distance
            _two_nearest(self._points, self._held_out, part, self._near, self._squared, *at, *self._edges, *two)

        ordered_map(fill, range(0, len(chosen), _POINTS_AT_ONCE))

    def gain(self, branches: np.ndarray) -> np.ndarray:
        """``(S' - S) / S`` of branches, by their numbers: without one its points go to the others."""
        on = self._tree.branch[self._edge[:, 0]]
        farther = self._counted(self._distance[:, 1] - self._distance[:, 0])
        rise = np.bincount(on, farther, self._tree.branch.max() + 1)[branches]
        total = self.total
        if total <= 0:  # no noise at all: whatever describes anything is worth it
            return np.where(rise > 0, np.inf, 0.0)
        return rise / total


@compiled
def _without_place(edge: np.ndarray, changed: np.ndarray, branch: np.ndarray) -> np.ndarray:
    """Numbers of the points one of whose two edges, (n, 2), has changed, or whose two are on one branch by now."""
    numbers, n = np.empty(len(edge), dtype=np.int64), 0
    for i in range(len(edge)):
        first, second = edge[i, 0], edge[i, 1]
        if changed[first] or changed[second] or branch[first] == branch[second]:
            numbers[n] = i
            n += 1
    return numbers[:n]


@compiled
def _two_nearest(
    points: np.ndarray,
    held_out: np.ndarray,
    chosen: np.ndarray,
    near: np.ndarray,
    squared: np.ndarray,
    first_branch: np.ndarray,
    branch: np.ndarray,
    starts: np.ndarray,
    vectors: np.ndarray,
    squared_lengths: np.ndarray,
    seen_starts: np.ndarray,
    seen_vectors: np.ndarray,
    edge: np.ndarray,
    distance: np.ndarray,
) -> None:
    """The nearest edge of the chosen points, and the nearest on another branch; if there is none, the same again.

    Parameters
    ----------
    points, held_out
        (n, d_placing) and (n, d_judging).
    near, squared
        The nearest edge on each branch, and how far it is, (n, n_branches).
    first_branch, branch
        Columns of these, and which of them are one branch by now.
    starts, vectors, squared_lengths, seen_starts, seen_vectors
        Of the edges, in the directions that place and those that judge, (n_edges, ...).
    edge, distance
        To be filled, (n, 2).
    """
    n_branches = len(branch)
    away, on = np.empty(n_branches), np.empty(n_branches, dtype=np.int64)
    for i in chosen:
        for b in range(n_branches):
            away[b], on[b] = squared[i, first_branch[b]], near[i, first_branch[b]]
        first, second = 0, -1
        for b in range(1, n_branches):
            if away[b] < away[first] or (away[b] == away[first] and on[b] < on[first]):
                first = b
        for b in range(n_branches):
            if branch[b] != branch[first] and (
                second < 0 or away[b] < away[second] or (away[b] == away[second] and on[b] < on[second])
            ):
                second = b
        second = first if second < 0 else second
        for m in range(2):
            e = on[second if m else first]
            along = rest = 0.0
            for j in range(points.shape[1]):
                along += (points[i, j] - starts[e, j]) * vectors[e, j]
            along = min(max(along / squared_lengths[e], 0.0), 1.0) if squared_lengths[e] > 0 else 0.0
            for j in range(held_out.shape[1]):
                difference = held_out[i, j] - seen_starts[e, j] - along * seen_vectors[e, j]
                rest += difference * difference
            edge[i, m], distance[i, m] = e, math.sqrt(rest)
