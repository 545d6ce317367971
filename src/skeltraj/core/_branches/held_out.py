"""What branches are worth, by measurements that had no part in saying which points lie on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skeltraj.core._graph.position import on_edges
from skeltraj.core._solvers.eigen import oriented

from .shrinking_tree import Branch, ShrinkingTree

_N_DIVISIONS = 2  # of the coordinates in halves, each used both ways, where there are enough; chosen by eye
_MIN_LENGTH = 1e-9  # principal axes shorter than this share of the longest count as rounding


class HeldOut:
    """Judges the branches of a shrinking tree; see `prune`.

    Parameters
    ----------
    tree
        The tree; call `dropped` and `merged` after it has shrunk.
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
        self._data = data
        self._directions = [(axes @ placing, axes @ judging) for placing, judging in divisions(axes.shape[1])]
        self._halves = [_Half(tree, data, placing, judging) for placing, judging in self._directions]

    def gain(self, branches: Sequence[Branch]) -> np.ndarray:
        """By what share the distances in held-out coordinates are longer without each branch, (n_branches,)."""
        gains = [[half.gain(branch) for half in self._halves] for branch in branches]
        return np.mean(gains, axis=1) - self._penalty if branches else np.empty(0)

    def gain_of_order(self, between: Branch) -> float:
        """By what share held-out distances are longer where the forks at the ends of an internal branch are one."""
        merged = self._tree.copy()
        merged.merge(between)
        after = [_Half(merged, self._data, placing, judging).total for placing, judging in self._directions]
        before = [half.total for half in self._halves]
        return float(np.mean([b / a - 1 if a > 0 else np.inf for a, b in zip(before, after, strict=True)]))

    def dropped(self, branch: Branch) -> None:
        """A branch of the tree has gone."""
        for half in self._halves:
            half.dropped(branch)

    def merged(self) -> None:
        """Nodes of the tree have become one, elsewhere."""
        for half in self._halves:
            half.place()


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
        self.place()

    @property
    def total(self) -> float:
        """The sum of all distances."""
        return float(self._distance.sum())

    def place(self) -> None:
        """Put all points on the tree as it is."""
        self._nodes, self._expected = self._tree.nodes @ self._placing, self._tree.nodes @ self._judging
        # of each branch that was judged: the rise of the distances without it, its edges, the edges to which its
        # points move
        self._judged: dict[bytes, tuple[float, np.ndarray, np.ndarray]] = {}
        self._edge, self._distance = self._nearest_edge(np.arange(len(self._points)), self._tree.live)

    def _nearest_edge(self, chosen: np.ndarray, live: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The live edge nearest to each of the chosen points, and the held-out distance from there."""
        left = np.flatnonzero(live)
        ends = self._tree.edges[left]
        edge, fraction, _ = on_edges(self._points[chosen], self._nodes, ends)
        a, b = self._expected[ends[edge, 0]], self._expected[ends[edge, 1]]
        away = self._held_out[chosen] - a - fraction[:, None] * (b - a)
        return left[edge], np.sqrt((away**2).sum(axis=1))

    def _on(self, branch: Branch) -> np.ndarray:
        """Points that lie on a branch."""
        there = np.zeros(len(self._tree.edges), dtype=bool)
        there[branch.edges] = True
        return np.flatnonzero(there[self._edge])

    def gain(self, branch: Branch) -> float:
        """``(S' - S) / S`` of a branch."""
        key = branch.path.tobytes()
        if key not in self._judged:
            points = self._on(branch)
            rise, new_edge = 0.0, np.empty(0, dtype=np.int64)
            if len(points):
                new_edge, distance = self._nearest_edge(points, self._tree.without(branch.edges))
                rise = float(distance.sum() - self._distance[points].sum())
            self._judged[key] = rise, branch.edges, np.unique(new_edge)
        rise, total = self._judged[key][0], self.total
        if total <= 0:  # no noise at all: whatever describes anything is worth it
            return float("inf") if rise > 0 else 0.0
        return float(rise / total)

    def dropped(self, branch: Branch) -> None:
        """Move the points of a branch that has gone; what is known of branches that this does not touch still holds."""
        points = self._on(branch)
        new_edge = np.empty(0, dtype=np.int64)
        if len(points):
            self._edge[points], self._distance[points] = self._nearest_edge(points, self._tree.live)
            new_edge = self._edge[points]
        self._judged = {
            key: (rise, edges, others)
            for key, (rise, edges, others) in self._judged.items()
            if not np.isin(edges, new_edge).any() and not np.isin(others, branch.edges).any()
        }
