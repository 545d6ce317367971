"""What branches are worth, by measurements that had no part in saying which points lie on them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from skeltraj.core._graph.position import on_edges, on_two_branches
from skeltraj.core._solvers.eigen import oriented

from .shrinking_tree import Branch, ShrinkingTree

_N_DIVISIONS = 2  # of the coordinates in halves, each used both ways, where there are enough; chosen by eye
_POINTS_AT_ONCE = 1 << 14  # whose differences are held; chosen by eye
_MIN_LENGTH = 1e-9  # principal axes shorter than this share of the longest count as rounding


class HeldOut:
    """Judges the branches of a shrinking tree; see `prune`.

    Parameters
    ----------
    tree
        The tree; call `shrunk` after it has shrunk.
    data
        Points as they were measured in the space of its nodes, (n, n_components).
    """

    def __init__(self, tree: ShrinkingTree, data: np.ndarray) -> None:
        self._tree = tree
        axes = principal_axes(tree.nodes)
        # With fewer than three axes nothing can be held out: points are placed and judged by the same coordinates. The
        # penalty of the Bayesian information criterion for the two ends of a branch stands in for that, halved, since
        # a distance grows by half of the share by which its square does.
        self._penalty = np.log(len(data)) / len(data) if axes.shape[1] < 3 else 0.0
        self._halves = [
            _Half(tree, data, axes @ placing, axes @ judging) for placing, judging in divisions(axes.shape[1])
        ]

    def gain(self, branches: Sequence[Branch]) -> np.ndarray:
        """By what share the distances in held-out coordinates are longer without each branch, (n_branches,)."""
        numbers = self._tree.branch[[branch.edges[0] for branch in branches]]
        return np.mean([half.gain(numbers) for half in self._halves], axis=0) - self._penalty

    def gain_of_order(self, between: Branch) -> float:
        """By what share held-out distances are longer where the forks at the ends of an internal branch are one."""
        merged = self._tree.copy()
        changed = merged.merge(between)
        before, after = [half.total for half in self._halves], [half.on(merged, changed).total for half in self._halves]
        return float(np.mean([b / a - 1 if a > 0 else np.inf for a, b in zip(before, after, strict=True)]))

    def shrunk(self, changed: np.ndarray) -> None:
        """A branch of the tree has gone, or two forks have become one; which edges are elsewhere now or gone."""
        self._halves = [half.on(self._tree, changed) for half in self._halves]


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
    tree, data
        As in `HeldOut`.
    placing, judging
        Directions, orthonormal columns, (n_components, d_placing) and (n_components, d_judging).
    """

    def __init__(self, tree: ShrinkingTree, data: np.ndarray, placing: np.ndarray, judging: np.ndarray) -> None:
        self._tree, self._placing, self._judging = tree, placing, judging
        self._points, self._held_out = data @ placing, data @ judging
        self._see_nodes()
        # of each point: the nearest edge and the nearest on any other branch, their squared distances in the directions
        # that place, and the held-out distances from there
        shape = len(data), 2
        self._edge, self._squared, self._distance = np.empty(shape, dtype=np.int64), np.empty(shape), np.empty(shape)
        self._put(np.arange(len(data)))

    def on(self, tree: ShrinkingTree, changed: np.ndarray) -> _Half:
        """The same for the tree, or a copy of it, of which some edges are elsewhere now or gone, (n_edges,)."""
        other = copy(self)
        other._tree = tree
        other._edge, other._squared, other._distance = self._edge.copy(), self._squared.copy(), self._distance.copy()
        other._see_nodes()
        branch = tree.branch[other._edge]
        moves = changed[other._edge].any(axis=1) | (branch[:, 0] == branch[:, 1])
        elsewhere, others = np.flatnonzero(changed & tree.live), np.flatnonzero(~moves)
        if len(elsewhere) and len(others):
            squared = on_edges(self._points[others], other._nodes, tree.edges[elsewhere])[2]
            moves[others] = squared <= other._squared[others, 1]
        other._put(np.flatnonzero(moves))
        return other

    @property
    def total(self) -> float:
        """The sum of all distances."""
        return float(self._distance[:, 0].sum())

    def _see_nodes(self) -> None:
        self._nodes, self._expected = self._tree.nodes @ self._placing, self._tree.nodes @ self._judging

    def _put(self, chosen: np.ndarray) -> None:
        """Put the chosen points on the tree as it is."""
        left = np.flatnonzero(self._tree.live)
        ends = self._tree.edges[left]
        edge, fraction, self._squared[chosen] = on_two_branches(
            self._points[chosen], self._nodes, ends, self._tree.branch[left]
        )
        self._edge[chosen] = left[edge]
        for first in range(0, len(chosen), _POINTS_AT_ONCE):
            part = slice(first, first + _POINTS_AT_ONCE)
            a, b = self._expected[ends[edge[part], 0]], self._expected[ends[edge[part], 1]]
            away = self._held_out[chosen[part], None] - a - fraction[part, :, None] * (b - a)
            self._distance[chosen[part]] = np.sqrt((away**2).sum(axis=2))

    def gain(self, branches: np.ndarray) -> np.ndarray:
        """``(S' - S) / S`` of branches, by their numbers: without one its points go to the others."""
        on = self._tree.branch[self._edge[:, 0]]
        rise = np.bincount(on, self._distance[:, 1] - self._distance[:, 0], self._tree.branch.max() + 1)[branches]
        total = self.total
        if total <= 0:  # no noise at all: whatever describes anything is worth it
            return np.where(rise > 0, np.inf, 0.0)
        return rise / total
